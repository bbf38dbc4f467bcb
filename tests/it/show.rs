//! `ncugate show` on the real captures, through the real binary.

use std::path::Path;
use std::process::{Command, Stdio};

use ncu_rep::{MetricValue, Report};
use serde_json::Value;

use crate::captures;
use crate::command::{Finished, Place};
use crate::crafted::{Message, file, message, metric};

fn ncugate(name: &str, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ncugate"));
    command.arg(name).args(arguments).stdin(Stdio::null());
    command
}

fn show(arguments: &[&str]) -> Command {
    ncugate("show", arguments)
}

/// Standard output of a command that succeeds.
fn output(name: &str, arguments: &[&str]) -> Vec<u8> {
    let out = ncugate(name, arguments).output().unwrap();
    assert!(out.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&out.stderr));
    out.stdout
}

fn text(arguments: &[&str]) -> String {
    String::from_utf8(output("show", arguments)).unwrap()
}

fn path(name: &str) -> String {
    captures::data(name).to_string_lossy().into_owned()
}

/// Standard error of a `show` that fails.
fn failure(arguments: &[&str]) -> String {
    let out = show(arguments).output().unwrap();
    assert!(!out.status.success(), "{arguments:?} succeeded");
    assert_ne!(out.status.code(), Some(101), "a panic");
    String::from_utf8(out.stderr).unwrap()
}

#[test]
fn the_list_has_a_line_a_launch() {
    let list = text(&[&path("g12.ncu-rep.zst")]);
    let lines: Vec<&str> = list.lines().collect();
    assert_eq!(lines.len(), 15, "{list}");
    assert_eq!(lines[13], "times under ncu: clocks not locked");
    let head: Vec<&str> = lines[0].split_whitespace().collect();
    assert_eq!(head[..7], ["launch", "kernel", "grid", "block", "time", "registers", "occupancy"]);
    let report = Report::open(captures::data("g12.ncu-rep.zst")).unwrap();
    for (line, launch) in lines[1..].iter().zip(report.launches()) {
        let cells: Vec<&str> = line.split_whitespace().collect();
        assert_eq!(cells[..2], [launch.id().to_string().as_str(), "attn"]);
        let registers = launch.metric("launch__registers_per_thread").unwrap().unwrap();
        assert_eq!(cells[6], registers.to_string(), "{line}");
    }
    // what was not collected is named
    assert!(lines[14].starts_with("note: not collected: ") && lines[14].contains("ncu --set full"), "{}", lines[14]);
    let full = text(&[&path("full1.ncu-rep.zst")]);
    assert!(full.contains("compute") && full.contains("L2 hits") && full.contains("539 µs"), "{full}");
    assert!(!full.contains("note:"), "{full}");
}

#[test]
fn columns_that_do_not_fit_a_terminal_are_left_out_and_names_are_whole() {
    let narrow = |name: &str, columns: &str| {
        let out = show(&[&path(name)]).env("COLUMNS", columns).output().unwrap();
        String::from_utf8(out.stdout).unwrap()
    };
    let list = narrow("full1.ncu-rep.zst", "70");
    assert!(list.lines().all(|line| line.chars().count() <= 70), "{list}");
    assert!(list.contains("time") && !list.contains("IPC"), "{list}");
    let list = narrow("torch_nvtx.ncu-rep.zst", "80");
    assert!(list.contains("cudnn_generated_fort_native_sdpa_sm90_flash_fprop_wgmma_f16_knob_7"), "{list}");
    assert!(!list.contains("...") && !list.contains('…'), "{list}");
}

/// The names of gates and of `explain METRIC` work for reports too.
#[test]
fn metrics_have_the_names_of_the_catalogue() {
    let (full1, g12) = (path("full1.ncu-rep.zst"), path("g12.ncu-rep.zst"));
    let logical = "achieved_occupancy";
    let ncu = "sm__warps_active.avg.pct_of_peak_sustained_active";
    let list = text(&[&full1, "--metric", logical, "--metric", ncu]);
    let lines: Vec<Vec<&str>> = list.lines().map(|line| line.split_whitespace().collect()).collect();
    assert_eq!(lines[0][4..], ["achieved_occupancy", "[%]", ncu, "[%]"]);
    assert_eq!(lines[1][4], lines[1][5]);
    let value = |metric: &str| {
        let csv = output("export", &[&full1, "--to", "csv", "--wide", "--metric", metric]);
        String::from_utf8(csv).unwrap().lines().nth(1).unwrap().to_owned()
    };
    assert_eq!(value(logical), value(ncu));
    let long = String::from_utf8(output("export", &[&full1, "--metric", "shared_mem"])).unwrap();
    assert!(long.contains(",shared_mem,byte/block,"), "{long}");
    let stalls = text(&[&full1, "--metric", "stall_*"]);
    assert!(stalls.contains("stall_long_scoreboard [cycle]"), "{stalls}");
    let missing = failure(&[&g12, "--metric", "stall_wait"]);
    assert!(
        missing.contains("`stall_wait` was not collected: it needs smsp__average_warps_issue_stalled_wait"),
        "{missing}"
    );
    assert!(missing.contains("ncu --metrics "), "{missing}");
    let missing = failure(&[&g12, "--metric", "sm__inst_executed.avg.per_cycle_active"]);
    assert!(missing.contains("was not collected; profile again"), "{missing}");
    assert!(failure(&[&g12, "--metric", "latency_p50"]).contains("no ncu report has it"));
    assert!(failure(&[&g12, "--metric", "achieved_ocupancy"]).contains("did you mean `achieved_occupancy`?"));
    let lines = failure(&[&full1, "--view", "metrics", "--metric", logical]);
    assert!(lines.contains("computed for a whole launch"), "{lines}");
    let compared = ["compare", &g12, &full1, "--metric", "duration", "--metric", logical];
    let compared = String::from_utf8(output(compared[0], &compared[1..])).unwrap();
    assert!(compared.contains("achieved_occupancy [%]") && compared.contains("duration"), "{compared}");
    let unknown = ncugate("compare", &[&g12, &full1, "--metric", "achieved_ocupancy"]).output().unwrap();
    assert!(String::from_utf8_lossy(&unknown.stderr).contains("did you mean `achieved_occupancy`?"));
}

/// The samples of a series are rows behind the launch's, and their sum is the value of the whole launch.
#[test]
fn a_series_that_is_named_is_exported_over_time() {
    let (full1, active) = (path("full1.ncu-rep.zst"), "TPC.TriageCompute.sm__cycles_active.avg");
    let csv = String::from_utf8(output("export", &[&full1, "--metric", "*sm__cycles_active.avg"])).unwrap();
    let mut lines = csv.lines();
    assert_eq!(lines.next().unwrap(), "report,launch,kernel,metric,unit,value,time_ns");
    let rows: Vec<Vec<&str>> = lines.filter(|line| line.contains(active)).map(|l| l.split(',').collect()).collect();
    let value = |row: &[&str]| row[5].parse::<f64>().unwrap();
    assert_eq!((rows[0][6], rows[1][6], rows.len()), ("", "-161952", 543));
    let sum: f64 = rows[1..].iter().map(|row| value(row)).sum();
    assert!((sum / value(&rows[0]) - 1.0).abs() < 1e-9, "{sum} {}", rows[0][5]);
    let json = output("export", &[&full1, "--metric", active, "--to", "json"]);
    let json: Value = serde_json::from_slice(&json).unwrap();
    assert_eq!((&json[0]["time_ns"], &json[1]["time_ns"]), (&Value::Null, &Value::from(-161_952)));
    let other = String::from_utf8(output("export", &[&full1, "--metric", "duration"])).unwrap();
    assert!(other.starts_with("report,launch,kernel,metric,unit,value\n"), "{other}");
}

#[test]
fn conditions_choose_launches_and_metrics() {
    let g12 = path("g12.ncu-rep.zst");
    let list = text(&[&g12, "--launch", "3", "--metric", "launch__occupancy_limit_*"]);
    assert_eq!(list.lines().count(), 2);
    assert_eq!(list.lines().next().unwrap().matches("launch__occupancy_limit_").count(), 5);
    assert_eq!(text(&[&g12, "--kernel", "^att"]).lines().count(), 15);
    assert!(failure(&[&g12, "--kernel", "gemm"]).contains("no launch matches; the reports have 12 launches"));
    assert!(failure(&[&g12, "--nvtx=attention"]).contains("no launch matches"));
    let unknown = failure(&[&g12, "--metric", "gpu__time_duration.sun"]);
    assert!(unknown.contains("did you mean `gpu__time_duration.sum`?"), "{unknown}");
}

#[test]
fn one_launch_in_full_rules_and_session() {
    let full1 = path("full1.ncu-rep.zst");
    let full = text(&[&full1, "--launch", "0"]);
    assert!(full.contains("NVIDIA H200"));
    assert!(!full.contains("derived_tempMetric") && !full.contains("breakdown:"));
    assert!(full.lines().count() > 2000);
    let rules = text(&[&full1, "--view", "rules"]);
    assert!(rules.contains("SchedulerStats: Issue Slot Utilization  at most 85.0 % (local)"), "{rules}");
    assert!(!rules.contains("@section"));
    let session = text(&[&full1, "--view", "session"]);
    assert!(session.contains("2025.3.1.0 (build 36398880) (public-release)"));
    assert!(session.contains("clock control"));
    assert!(session.contains("not on the command line; ncu's default is kernel"), "{session}");
}

#[test]
fn csv_and_json_hold_every_value_exactly() {
    let name = "full1.ncu-rep.zst";
    let report = Report::open(captures::data(name)).unwrap();
    let csv = output("export", &[&path(name), "--to", "csv"]);
    let mut reader = csv::Reader::from_reader(csv.as_slice());
    let header = reader.headers().unwrap().clone();
    assert_eq!(header.iter().collect::<Vec<_>>(), ["report", "launch", "kernel", "metric", "unit", "value"]);
    let rows: Vec<csv::StringRecord> = reader.records().map(Result::unwrap).collect();
    let json_text = String::from_utf8(output("export", &[&path(name), "--to", "json"])).unwrap();
    let json: Vec<Value> = serde_json::from_str(&json_text).unwrap();
    // serde_json's own reader may be off by one bit, so compare the digits of the text.
    let digits: Vec<&str> =
        json_text.lines().filter_map(|line| line.split_once(r#""value":"#)).map(|(_, v)| v).collect();
    assert_eq!(digits.len(), json.len());
    let launch = report.launch(0).unwrap();
    let metrics: Vec<_> = launch.metrics().map(Result::unwrap).collect();
    assert_eq!((metrics.len(), rows.len(), json.len()), (2243, 2243, 2243));
    for (((metric, row), object), digits) in metrics.iter().zip(&rows).zip(&json).zip(digits) {
        assert_eq!((&row[1], &row[2], &row[3], &row[4]), ("0", "attn", metric.name, metric.unit()));
        assert_eq!(object["metric"], metric.name);
        match &metric.value {
            MetricValue::Missing => assert!(row[5].is_empty() && object["value"].is_null()),
            MetricValue::String(text) => assert!(row[5] == **text && object["value"] == **text),
            MetricValue::U64(number) => assert!(row[5] == number.to_string() && object["value"] == *number),
            MetricValue::Double(number) if number.is_nan() => assert!(&row[5] == "NaN" && object["value"] == "NaN"),
            MetricValue::Double(number) => {
                assert_eq!(row[5].parse::<f64>().unwrap().to_bits(), number.to_bits());
                let digits = digits.trim_end_matches(',').trim_end_matches('}');
                assert_eq!(digits.parse::<f64>().unwrap().to_bits(), number.to_bits());
            }
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn parquet_reads_back_and_files_appear_whole() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("out.parquet");
    let printed =
        output("export", &[&path("g12.ncu-rep.zst"), "--to", "parquet", "-o", file.to_str().unwrap(), "--launch", "2"]);
    assert!(printed.is_empty());
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1, "nothing else is left");
    let frame = {
        use polars_io::prelude::{ParquetReader, SerReader};
        ParquetReader::new(std::fs::File::open(&file).unwrap()).finish().unwrap()
    };
    let names: Vec<String> = frame.columns().iter().map(|column| column.name().to_string()).collect();
    assert_eq!(names, ["report", "launch", "kernel", "metric", "unit", "value", "text"]);
    assert_eq!(frame.height(), 290);
    assert_eq!(frame.column("launch").unwrap().u32().unwrap().get(7), Some(2));
}

#[test]
fn the_wide_form_has_a_column_a_metric() {
    let wide = String::from_utf8(output(
        "export",
        &[&path("g12.ncu-rep.zst"), "--to", "csv", "--wide", "--metric", "gpu__time_duration.*"],
    ))
    .unwrap();
    let mut lines = wide.lines();
    assert_eq!(
        lines.next(),
        Some(
            "report,launch,kernel,grid_x,grid_y,grid_z,block_x,block_y,block_z,nvtx,gpu__time_duration.avg,gpu__time_duration.max,gpu__time_duration.min,gpu__time_duration.sum"
        )
    );
    assert_eq!(lines.count(), 12);
}

#[test]
fn the_wide_form_without_chosen_metrics_has_those_of_the_catalogue_too() {
    let wide = |more: &[&str]| {
        let json = output("export", &[&[path("full1.ncu-rep.zst").as_str(), "--to", "json", "--wide"], more].concat());
        serde_json::from_slice::<serde_json::Value>(&json).unwrap()[0].take()
    };
    let whole = wide(&[]);
    for metric in ["achieved_occupancy", "duration", "registers"] {
        assert_eq!(whole[metric], wide(&["--metric", metric])[metric], "{metric}");
        assert!(whole[metric].is_number(), "{metric}");
    }
    let extents = ["grid_x", "grid_y", "grid_z", "block_x", "block_y", "block_z"].map(|name| whole[name].as_u64());
    assert!(extents.iter().all(|extent| *extent >= Some(1)), "{extents:?}");
    assert_eq!(whole["nvtx"], serde_json::Value::Null);
    assert!(whole.as_object().unwrap().contains_key("gpu__time_duration.sum"), "and those of the report");
}

#[test]
fn several_reports_globs_and_csv_at_once() {
    let list =
        text(&[&path("*12.ncu-rep.zst"), &path("full1.ncu-rep.zst"), &path("direct.csv"), &path("g12.ncu-rep.zst")]);
    let lines: Vec<&str> = list.lines().collect();
    assert!(lines[0].starts_with("report"));
    let launches = lines.iter().filter(|line| line.contains(".ncu-rep.zst  ") || line.contains("direct.csv  "));
    assert_eq!(launches.count(), 12 + 1 + 1, "a report that is named twice is shown once: {list}");
    assert!(lines[14].contains("direct.csv") && lines[14].contains("539 µs"), "{}", lines[14]);
    assert!(failure(&[&path("nothing*.ncu-rep")]).contains("no report matches"));
    assert!(failure(&[&path("README.md")]).contains("not an Nsight Compute report"));
}

#[test]
fn a_reader_that_leaves_early_is_no_error() {
    use std::io::Read;
    let mut child = ncugate("export", &[&path("g1200.ncu-rep.zst"), "--to", "csv"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut first = [0; 64];
    child.stdout.take().unwrap().read_exact(&mut first).unwrap();
    let out = child.wait_with_output().unwrap();
    assert!(out.status.success(), "{:?}", out.status);
    assert!(out.stderr.is_empty(), "{}", String::from_utf8_lossy(&out.stderr));
}

#[test]
fn csv_of_ncu_gives_the_values_of_the_report() {
    let folder = tempfile::tempdir().unwrap();
    let csv = folder.path().join("g1200.csv");
    std::fs::write(&csv, captures::plain("g1200.raw.csv.zst")).unwrap();
    let columns = ["dram__bytes.sum", "gpu__time_duration.sum", "launch__shared_mem_per_block"];
    let rows = |input: &str| {
        let arguments = [input, "--to", "json", "--metric", &columns.join(",")];
        let mut rows = serde_json::from_slice::<Vec<Value>>(&output("export", &arguments)).unwrap();
        rows.sort_by_key(|row| (row["launch"].as_u64(), row["metric"].as_str().map(str::to_owned)));
        rows
    };
    let (native, printed) = (rows(&path("g1200.ncu-rep.zst")), rows(csv.to_str().unwrap()));
    assert_eq!((native.len(), printed.len()), (3600, 3600));
    for (a, b) in native.iter().zip(&printed) {
        assert_eq!((&a["launch"], &a["metric"], &a["unit"]), (&b["launch"], &b["metric"], &b["unit"]));
        let (a, b) = (a["value"].as_f64().unwrap(), b["value"].as_f64().unwrap());
        assert!((a - b).abs() <= 1e-6 * a.abs(), "{a} {b}");
    }
}

/// The page of these reports, and the output of the program.
fn page(reports: &[&str]) -> String {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("page.html");
    let paths: Vec<String> = reports.iter().map(|name| path(name)).collect();
    let mut arguments: Vec<&str> = paths.iter().map(String::as_str).collect();
    arguments.extend(["--output", file.to_str().unwrap()]);
    assert!(output("page", &arguments).starts_with(b"page: "));
    std::fs::read_to_string(file).unwrap()
}

#[test]
fn a_page_shows_the_kernels_of_any_report_and_asks_the_network_for_nothing() {
    let full = page(&["full1.ncu-rep.zst"]);
    for part in [
        "chart-timeline-1",
        "PM sampling of launch 0",
        "clocks ",
        "attn",
        "539 µs",
        "Speed of light",
        "14.4 %",
        "Short scoreboard",
        "Low Utilization",
        "attn.cu:20",
    ] {
        assert!(full.contains(part), "{part}");
    }
    assert!(
        full.contains("Content-Security-Policy")
            && full.contains("default-src")
            && !full.contains("src=\"http")
            && !full.contains("url(http")
    );
    let ranges = page(&["torch_nvtx.ncu-rep.zst"]);
    assert!(ranges.contains("outer &gt; inner") && ranges.contains("softmax_warp_forward"), "kernels by range");
    assert!(ranges.contains("holds no throughputs"), "uncollected metrics are reported");
    let deep = page(&["deep.ncu-rep.zst"]);
    assert!(deep.contains("Source and instructions: sdpa_scalar.cu"), "the file that the report holds");
    assert!(deep.contains("+0x") && deep.contains("could save"), "instructions and bounds");
    assert!(full.contains("id=\"chart-roofline\"") && full.contains("16.7"), "roofline and memory chart");
    assert!(ranges.contains("No roofline: ") && !ranges.contains("not collected</span>"), "no chart of nothing");
    for report in ["range", "graph_whole", "graph_nodes", "processes", "cluster", "g12"] {
        assert!(page(&[&format!("{report}.ncu-rep.zst")]).contains("<h2><bdi>Kernels</bdi></h2>"), "{report}");
    }
}

/// Launches of several shapes have no common median, and rules are asked about single launches only.
#[test]
fn launches_of_unlike_shapes_are_groups_of_their_own() {
    for report in ["g12.ncu-rep.zst", "g1200.ncu-rep.zst"] {
        let page = page(&[report]);
        for part in ["attn, grid 16×8, block 128", "attn, grid 8×8, block 256", "64 blocks on 132 SMs"] {
            assert!(page.contains(part), "{report}: {part}");
        }
        assert!(!page.contains("96 blocks"), "{report}: no launch has 96 blocks");
        assert!(
            page.contains(" rules lack counters: ") && page.contains("ncu --set full"),
            "{report}: uncollected metrics"
        );
    }
    let page = page(&["g1200.ncu-rep.zst"]);
    assert_eq!(
        page.matches("<p class=\"quiet\"><bdi>200 launches, grid ").count(),
        6,
        "six shapes, launched 200 times each"
    );
    assert!(page.contains("findings are about launch "), "{page}");
    // the longest kernel, its cause, the next step and what the rules lack are above the table
    let (first, _) = page.split_once("<section id=\"kernels\">").unwrap();
    for part in [
        "34.3 % of it in attn, grid 8×8, block 128, 40 registers",
        "Fewer blocks than SMs in attn, grid 8×8, block 128, 40 registers: ",
        "68 SMs (51.5 %) are idle",
        "at most 52 % of its time",
        "<b>Next</b> <bdi>Use smaller tiles",
        "32 of 64 rules lack counters, so another cause may be larger. Collect them: <code>ncu --set full",
        "under ncu in 1,200 launches",
    ] {
        assert!(first.contains(part), "{part}: {first}");
    }
    assert!(!page.contains("`ncu"), "code is marked as code");
}

/// Fusing six launches of 2 µs saves more of all than filling the SMs saves of the longest kernel, which has half the time.
#[test]
fn the_first_screen_begins_with_what_costs_most_of_all_launches() {
    let page = page(&["graph_nodes.ncu-rep.zst"]);
    let (first, _) = page.split_once("<section id=\"kernels\">").unwrap();
    let at = |part: &str| first.find(part).unwrap_or_else(|| panic!("{part}: {first}"));
    let fused =
        "Many short launches: 6 launches of 2.07 µs on average, of which up to 2 µs is start and end: fusing all";
    assert!(at(fused) < at("Fewer blocks than SMs in scale: "), "{first}");
    assert!(first.contains("<b>Next</b> <bdi>Fuse neighbouring kernels."), "{first}");
}

/// Only common launches of both reports are compared; the others are listed.
#[test]
fn a_comparison_of_reports_covers_common_kernels() {
    let page = page(&["g12.ncu-rep.zst", "full1.ncu-rep.zst"]);
    assert!(page.contains("1 launch is in both reports: "), "the twin of the one launch");
    assert!(page.contains("only in A: 11 launches, "), "what A has alone");
    assert_eq!(page.matches("<bdi>only in A</bdi>").count(), 5, "five launch shapes");
    assert!(!page.contains("num better\"> ") && !page.contains("faster"), "one launch each has no known noise");
}

#[test]
fn two_reports_make_a_comparison_in_one_page() {
    let both = page(&["g12.ncu-rep.zst", "g1200.ncu-rep.zst"]);
    for part in ["g1200.ncu-rep.zst against ", "Median A", "Median B", "Launches B"] {
        assert!(both.contains(part), "{part}");
    }
}

#[test]
fn a_page_is_refused_where_it_would_show_less_than_it_seems_to() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("page.html");
    let refused = |reports: &[String]| {
        let out = ncugate("page", &["--output", file.to_str().unwrap()]).args(reports).output().unwrap();
        assert!(!file.exists(), "nothing is written");
        (out.status.code(), String::from_utf8(out.stderr).unwrap())
    };
    let g12 = path("g12.ncu-rep.zst");
    let (status, message) = refused(&[g12.clone(), path("full1.ncu-rep.zst"), path("deep.ncu-rep.zst")]);
    assert!(status == Some(2) && message.contains("no more were expected"), "{message}");
    let (status, message) = refused(&[g12, "--kernel=nothing".to_owned()]);
    assert!(status == Some(2) && message.contains("no launch of"), "{message}");
    std::fs::write(folder.path().join("cut.ncu-rep"), b"NVR\0\x02\0\0\0").unwrap();
    let (status, _) = refused(&[folder.path().join("cut.ncu-rep").to_str().unwrap().to_owned()]);
    assert_eq!(status, Some(3), "a damaged report is not a usage error");
}

/// Rows of a sheet, as JSON.
fn sheets(arguments: &[&str]) -> Vec<Value> {
    serde_json::from_str(&text(&[arguments, &["--format", "json"]].concat())).unwrap()
}

#[test]
fn sources_of_a_report_are_listed() {
    let source = text(&[&path("source.ncu-rep.zst"), "--view", "sources"]);
    assert!(source.contains("cubin") && source.contains("sm_90") && source.contains(".cu "), "{source}");
    let none = text(&[&path("g12.ncu-rep.zst"), "--view", "sources"]);
    assert!(none.contains("sm_90") || none.contains("note: the report holds no code"), "{none}");
    assert!(failure(&[&path("direct.csv"), "--view", "sources"]).contains("is CSV"));
}

#[test]
fn counters_by_source_line_add_up_to_those_of_the_launch() {
    let full1 = path("full1.ncu-rep.zst");
    let sheets = sheets(&[&full1, "--view", "metrics"]);
    let rows = sheets[0]["rows"].as_array().unwrap();
    let sum = |metric: &str| rows.iter().filter_map(|row| row[metric].as_f64()).sum::<f64>();
    assert_eq!(sum("smsp__pcsamp_sample_count"), 66_305.0);
    assert!(rows.iter().all(|row| row["file"] == "attn.cu" && row["line"].as_u64().is_some_and(|line| line > 0)));
    let chosen = text(&[&full1, "--view", "metrics", "--metric", "inst_executed"]);
    assert!(chosen.lines().nth(1).unwrap().contains("inst_executed") && !chosen.contains("pcsamp"), "{chosen}");
    let csv = output("show", &[&full1, "--view", "metrics", "--format", "csv"]);
    let mut reader = csv::Reader::from_reader(csv.as_slice());
    assert_eq!(
        reader.headers().unwrap().iter().take(5).collect::<Vec<_>>(),
        ["report", "launch", "kernel", "file", "line"]
    );
    assert_eq!(reader.records().map(Result::unwrap).count(), rows.len());
    let g12 = text(&[&path("g12.ncu-rep.zst"), "--view", "metrics", "--launch", "0"]);
    assert!(g12.contains("note: no counter per instruction"), "{g12}");
}

#[test]
fn warp_states_come_whole_and_by_line() {
    let full1 = path("full1.ncu-rep.zst");
    let shown = text(&[&full1, "--view", "stalls"]);
    let rows: Vec<Vec<&str>> = shown.lines().map(|line| line.split_whitespace().collect()).collect();
    assert_eq!(rows[2][..4], ["-", "-", "short_scoreboard", "27719"], "{shown}");
    assert_eq!(rows.iter().filter(|row| row.starts_with(&["attn.cu", "20"])).count(), 3, "{shown}");
    let sheets = sheets(&[&full1, "--view", "stalls"]);
    let rows = sheets[0]["rows"].as_array().unwrap();
    let samples = |whole: bool| {
        let of = rows.iter().filter(|row| row["file"].is_null() == whole);
        of.filter_map(|row| row["samples"].as_f64()).sum::<f64>()
    };
    assert_eq!((samples(true), samples(false)), (66_305.0, 66_305.0));
    let share: f64 = rows.iter().filter(|row| row["file"].is_null()).filter_map(|row| row["share_pct"].as_f64()).sum();
    assert!((share - 100.0).abs() < 1e-6, "{share}");
}

/// A double of nvdisasm: an instruction for each word of a kernel's section.
const NVDISASM: &str = r#"#!/bin/sh
name=$(readelf -SW "$4" | sed -n 's/.* \.text\.\([^ ]*\) .*/\1/p' | head -n 1)
echo ".section .text.$name,\"ax\""
seq 0 16 60000 | awk '{ printf "/*%04x*/ NOP ;\n", $1 }'
"#;

#[test]
fn machine_code_has_addresses_and_lines() {
    let place = Place::new();
    place.write_program("bin/nvdisasm", NVDISASM);
    let path_of = |folder: &str| format!("{}:/usr/bin:/bin", place.path().join(folder).display());
    let full1 = path("full1.ncu-rep.zst");
    let disasm = |folder: &str| {
        Finished::of(
            place.ncugate(&["show", &full1, "--view", "disasm", "--format", "json"]).env("PATH", path_of(folder)),
        )
    };
    let shown = disasm("bin");
    assert_eq!(shown.status, Some(0), "{}", shown.stderr);
    let sheets: Vec<Value> = serde_json::from_str(&shown.stdout).unwrap();
    let rows = sheets[0]["rows"].as_array().unwrap();
    assert!(rows.len() > 1_000, "{}", rows.len());
    assert_eq!((rows[0]["offset"].as_str(), rows[1]["offset"].as_str()), (Some("0000"), Some("0010")));
    assert!(rows.iter().filter(|row| row["line"].as_u64().is_some()).count() > 1_000);
    assert!(rows.iter().all(|row| row["instruction"] == "NOP"));

    place.write_program("broken/nvdisasm", "#!/bin/sh\necho 'no such architecture' >&2\nexit 1\n");
    let failed = disasm("broken");
    assert_eq!((failed.status, failed.stdout.as_str()), (Some(3), ""), "{failed:?}");
    assert!(failed.stderr.contains("no such architecture") && failed.stderr.contains("launch 0"), "{}", failed.stderr);

    // Tools in the working directory are files like any other.
    place.write_program("nvdisasm", "#!/bin/sh\ntouch EXECUTED\n");
    place.write("nvcc", "");
    if !Path::new("/usr/local/cuda/bin/nvdisasm").exists() && !Path::new("/usr/bin/nvdisasm").exists() {
        let absent = disasm("none");
        assert_eq!((absent.status, absent.stdout.as_str()), (Some(3), ""), "{absent:?}");
        assert!(
            absent.stderr.contains("nvdisasm was not found") && absent.stderr.contains("cuda-nvdisasm"),
            "{absent:?}"
        );
    }
    assert!(!place.path().join("EXECUTED").exists());
}

#[test]
fn one_thing_is_shown_at_a_time() {
    let full1 = path("full1.ncu-rep.zst");
    assert!(failure(&[&full1, "--view", "disasm", "--view", "rules"]).contains("cannot be used multiple times"));
}

/// A report of one launch with a kernel, a text metric, NVTX ranges, and session comments.
fn crafted(kernel: &str, metric_text: &str, ranges: usize, comments: &[u8]) -> Vec<u8> {
    let process = message().int(1, 10).text(2, "127.0.0.1").text(3, kernel);
    let range = |domain: Message, at: usize| domain.inside(3, message().text(1, &format!("range {at}")));
    let domain = (0..ranges).fold(message().int(1, 0), range);
    let nvtx = message()
        .inside(1, message().int(1, 0).text(2, "<default domain>"))
        .inside(2, message().int(1, 655).inside(2, domain))
        .int(4, 0);
    let kernel = message()
        .int(1, 655)
        .text(5, kernel)
        .text(6, kernel)
        .text(7, kernel)
        .inside(10, message().int(1, 1).int(2, 1).int(3, 1))
        .inside(11, message().int(1, 32).int(2, 1).int(3, 1))
        .inside(13, metric(0, Some(message().text(1, metric_text))))
        .inside(21, nvtx);
    let session = message().int(2, 1_800_000_000).bytes(7, comments).text(11, metric_text);
    let blocks = [
        (message().int(1, 0).int(2, 0).inside(3, session).inside(6, process.clone()), vec![]),
        (message().int(2, 1).inside(4, message().text(1, "a__text")).inside(6, process), vec![kernel]),
    ];
    file(7, &blocks)
}

#[test]
fn cells_and_ranges_of_any_length_are_shown() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("long.ncu-rep");
    let nested = (0..6_742).fold(message(), |inside, _| message().inside(7, inside));
    let long = |length: usize| "k".repeat(length);
    let reports =
        [65_535, 65_536, 200_000].map(|length| crafted(&long(length), &long(length), 1, long(length).as_bytes()));
    let others = [crafted("f", "text", 10_924, b"none"), crafted("f", "text", 1, &nested.0)];
    for (at, report) in reports.iter().chain(&others).enumerate() {
        std::fs::write(&path, report).unwrap();
        let report = path.to_str().unwrap();
        let page = folder.path().join(format!("{at}.html"));
        let asked: [(&str, &[&str]); 7] = [
            ("show", &[report]),
            ("show", &[report, "--nvtx"]),
            ("show", &[report, "--launch", "0"]),
            ("show", &[report, "--view", "session"]),
            ("show", &[report, "--view", "rules"]),
            ("show", &[report, "--metric", "a__text"]),
            ("page", &[report, "--output", page.to_str().unwrap()]),
        ];
        for (name, arguments) in asked {
            let out = ncugate(name, arguments).env("COLUMNS", "200000").output().unwrap();
            let said = String::from_utf8_lossy(&out.stderr);
            assert!(out.status.success(), "{at} {arguments:?}: {} {}", out.status, said.get(..200).unwrap_or(&said));
        }
    }
}

#[test]
fn a_report_is_shown_as_json_and_csv() {
    let report = path("g12.ncu-rep.zst");
    let rows: Vec<Value> = serde_json::from_slice(&output("show", &[report.as_str(), "--format", "json"])).unwrap();
    assert_eq!(rows.len(), 12, "a row for each launch");
    assert!(rows.iter().all(|row| row["kernel"].is_string()), "{}", rows[0]);
    let one = output("show", &[report.as_str(), "--format", "json", "--metric", "duration", "--launch", "3"]);
    let one: Vec<Value> = serde_json::from_slice(&one).unwrap();
    assert!(one.len() == 1 && one[0]["duration"].is_number(), "{one:?}");
    assert_eq!(String::from_utf8(output("show", &[report.as_str(), "--format", "csv"])).unwrap().lines().count(), 13);
    let text = Place::new().run(&["show", report.as_str(), "--view", "rules", "--format", "json"]);
    assert!(text.status == Some(2) && text.stderr.contains("are text"), "{text:?}");
}

/// A report with a launch on a chip of this compute capability, if it names one.
fn report_of_chip(place: &Place, capability: Option<(u64, u64)>) -> String {
    let counters = [
        ("gpu__time_duration.sum", 6_133_792.0),
        ("launch__registers_per_thread", 41.0),
        ("sm__warps_active.avg.pct_of_peak_sustained_active", 61.2),
        ("sm__throughput.avg.pct_of_peak_sustained_elapsed", 12.5),
    ];
    let attributes = ["device__attribute_compute_capability_major", "device__attribute_compute_capability_minor"];
    let names = counters.iter().map(|(name, _)| *name).chain(attributes);
    let names = names.fold(message(), |names, name| names.text(1, name));
    let launch = message()
        .int(1, 655)
        .int(2, 15)
        .int(3, 1)
        .int(4, 1)
        .text(5, "scale")
        .text(6, "scale")
        .text(7, "scale")
        .inside(10, message().int(1, 4).int(2, 1).int(3, 1))
        .inside(11, message().int(1, 128).int(2, 1).int(3, 1));
    let values = counters.iter().map(|(_, value)| message().double(3, *value));
    let values =
        values.chain(capability.into_iter().flat_map(|(major, minor)| [major, minor]).map(|n| message().int(5, n)));
    let launch = (0..).zip(values).fold(launch, |launch, (at, value)| launch.inside(13, metric(at, Some(value))));
    let path = place.path().join("chip.ncu-rep");
    std::fs::write(&path, file(7, &[(message().int(2, 1).inside(4, names), vec![launch])])).unwrap();
    path.display().to_string()
}

#[test]
fn a_chip_outside_of_the_catalogue_has_the_metrics_that_all_chips_have() {
    let place = Place::new();
    for (capability, outside) in
        [(Some((9, 0)), None), (Some((7, 0)), Some("7.0")), (Some((6, 1)), Some("6.1")), (None, None)]
    {
        let report = report_of_chip(&place, capability);
        let shown = text(&[&report]);
        assert!(["6.13 ms", "41", "61.2"].iter().all(|value| shown.contains(value)), "{capability:?}: {shown}");
        let explained = ncugate("explain", &[&report]).output().unwrap();
        let said = String::from_utf8_lossy(&explained.stdout).split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(!said.contains("time is not known") && said.contains("6,134 µs"), "{capability:?}: {said}");
        assert!(outside.is_none_or(|chip| said.contains(chip)), "{capability:?}: {said}");
        let page = place.path().join("page.html");
        let written = ncugate("page", &[&report, "-o", page.to_str().unwrap()]).output().unwrap();
        assert!(written.status.success(), "{written:?}");
        let page = std::fs::read_to_string(page).unwrap();
        assert!(page.contains("6.13") && !page.contains("holds no durations"), "{capability:?}");
    }
}

/// A raw page of ncu with launches of two kernels at two sizes.
fn raw_page(launches: usize, scale: f64) -> String {
    let head = "ID|Process ID|Process Name|Host Name|Kernel Name|Context|Stream|Block Size|Grid Size|Device|CC|\
                gpu__time_duration.sum|dram__bytes.sum|sm__warps_active.avg.pct_of_peak_sustained_active|\
                launch__registers_per_thread|device__attribute_display_name|device__attribute_multiprocessor_count";
    let units = format!("{}ns|Mbyte|%|register/thread||", "|".repeat(11));
    let quoted = |line: &str| format!("\"{}\"\n", line.replace('|', "\",\""));
    let mut text = quoted(head) + &quoted(&units);
    for at in 0..launches {
        let (kernel, grid) = ([("scale<float>", 64), ("scale<float>", 128), ("sum", 1)])[at % 3];
        let time = (1_000.0 + at as f64 % 7.0) * f64::from(grid) * scale;
        text.push_str(&format!(
            "\"{at}\",\"9\",\"app\",\"h\",\"void {kernel}(float *)\",\"1\",\"7\",\"(256, 1, 1)\",\"({grid}, 1, 1)\",\"0\",\"9.0\",\
             \"{time}\",\"1.50\",\"61.20\",\"32\",\"NVIDIA H200\",\"132\"\n"
        ));
    }
    text
}

#[test]
fn many_launches_are_grouped_and_have_a_total() {
    let place = Place::new();
    place.write("many.csv", &raw_page(1200, 1.0));
    let run = place.run(&["show", "many.csv"]);
    let lines: Vec<&str> = run.stdout.lines().collect();
    assert!(run.status == Some(0) && lines.len() == 6, "{}", run.stdout);
    let cells = |line: &str| line.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    assert_eq!(cells(lines[0])[..6], ["kernel", "grid", "block", "launches", "total", "share"]);
    assert_eq!(cells(lines[1])[..4], ["scale", "128x1x1", "256x1x1", "400"], "the longest is first: {}", run.stdout);
    assert!(lines[3].starts_with("sum "), "{}", run.stdout);
    assert!(lines[5].starts_with("1,200 launches in 3 groups, 77.4 ms in total; "), "{}", lines[5]);
    let all = place.run(&["show", "many.csv", "--all"]);
    assert_eq!(all.stdout.lines().count(), 1201 + 1, "{}", all.stdout);
    let absent = place.run(&["show", "many.csv", "--kernel", "sum"]);
    assert!(absent.stdout.contains("400 launches in 1 group, 401 µs in total"), "{}", absent.stdout);
    place.write("lacking.csv", &raw_page(30, 1.0).replacen("\"64000\"", "\"n/a\"", 1));
    let lacking = place.run(&["show", "lacking.csv"]);
    assert!(lacking.stdout.contains("no total: 1 launch without a time"), "{}", lacking.stdout);
}

#[test]
fn csv_is_explained_compared_judged_and_a_page_like_a_report() {
    let place = Place::new();
    place.write("a.csv", &raw_page(24, 1.0));
    place.write("b.csv", &raw_page(24, 0.5));
    let explained = place.run(&["explain", "a.csv"]);
    assert!(explained.status == Some(4) && explained.stdout.contains("scale"), "{explained:?}");
    let page = place.run(&["page", "a.csv", "-o", "a.html"]);
    assert!(
        page.status == Some(0) && std::fs::read_to_string(place.path().join("a.html")).unwrap().contains("scale"),
        "{page:?}"
    );
    let compared = place.run(&["compare", "a.csv", "b.csv"]);
    assert!(compared.status == Some(0) && compared.stdout.contains("-50.0 %"), "{compared:?}");
    place.write("c.csv", &raw_page(24, 0.5).replace("scale<float>", "scale<half>"));
    let renamed = place.run(&["compare", "a.csv", "c.csv", "--kernel", "scale"]);
    let pairs =
        renamed.stdout.contains("2 pairs compared") && renamed.stdout.contains("another kernel: `void scale<float>");
    assert!(renamed.status == Some(0) && pairs && !renamed.stdout.contains("sum"), "{}", renamed.stdout);
    place.write("one.csv", &raw_page(3, 1.0));
    let one = place.run(&["compare", "one.csv", "one.csv"]);
    assert!(one.stdout.contains("one launch each (3 kernels): no verdict"), "{}", one.stdout);
    let phase = "[phase]\nname = \"p\"\n[[variant]]\nname = \"s\"\nmatch = { kernel = \"scale*\" }\n[[gate]]\nrequire = \"registers <= 64\"\n";
    place.write("phase.toml", phase);
    let judged = place.run(&["gate", "phase.toml", "a.csv"]);
    let rounded = "alues of a.csv are rounded";
    assert!(judged.status == Some(0) && (judged.stdout.clone() + &judged.stderr).contains(rounded), "{judged:?}");
    place.write("phase.toml", &phase.replace("64", "16"));
    assert_eq!(place.run(&["gate", "phase.toml", "a.csv"]).status, Some(1));
    place.write("phase.toml", &phase.replace("registers <= 64", "l2_hit_pct >= 1"));
    assert_eq!(place.run(&["gate", "phase.toml", "a.csv"]).status, Some(4), "the CSV has no such counter");
    // A count is exact at its limit; a number of two digits after the point may lie on either side of it.
    for (require, status) in [
        ("registers == 32", 0),
        ("achieved_occupancy >= 61.2", 4),
        ("achieved_occupancy >= 61.194", 0),
        ("achieved_occupancy > 61.206", 1),
        ("dram_bytes <= 1500000", 4),
        ("dram_bytes <= 1506000", 0),
        ("dram_bytes <= 1494000", 1),
    ] {
        place.write("phase.toml", &phase.replace("registers <= 64", require));
        let judged = place.run(&["gate", "phase.toml", "a.csv"]);
        assert_eq!(judged.status, Some(status), "{require}: {judged:?}");
        let why = "values of CSV are rounded: ";
        assert_eq!((judged.stdout.clone() + &judged.stderr).contains(why), status == 4, "{require}: {judged:?}");
    }
    place
        .write("summary.csv", "\"Process ID\",\"Kernel Name\",\"Invocations\",\"Average\"\n\"9\",\"f\",\"12\",\"1\"\n");
    for command in ["show", "explain", "page"] {
        let refused = place.run(&[command, "summary.csv"]);
        let why = "a summary over 12 launches: it has no single launch; run with `--page raw --csv`";
        assert!(refused.status == Some(3) && refused.stderr.contains(why), "{command}: {refused:?}");
    }
}

/// ncu could not profile the second launch: it has neither a grid nor metrics.
#[test]
fn a_launch_without_a_duration_hides_no_other_time() {
    let place = Place::new();
    let kernel = |name: &str| message().int(1, 655).int(2, 15).int(3, 1).int(4, 1).text(5, name).text(6, name);
    let timed = kernel("scale")
        .text(7, "scale")
        .inside(10, message().int(1, 4).int(2, 1).int(3, 1))
        .inside(11, message().int(1, 128).int(2, 1).int(3, 1))
        .inside(13, metric(0, Some(message().double(3, 6_000_000.0))));
    let failed = kernel("trace").text(7, "trace").inside(10, message().int(1, 0)).inside(11, message().int(1, 0));
    let names = message().text(1, "gpu__time_duration.sum");
    let path = place.path().join("failed.ncu-rep");
    std::fs::write(&path, file(7, &[(message().int(2, 2).inside(4, names), vec![timed, failed])])).unwrap();
    let report = path.to_str().unwrap();
    let list = text(&[report]);
    assert!(list.contains("4x1x1") && !list.contains("0x0x0"), "{list}");
    let explained = ncugate("explain", &[report]).output().unwrap();
    let said = String::from_utf8_lossy(&explained.stdout);
    assert!(said.contains("2 launches of 2 kernels, 6,000 µs under ncu in the 1 with a duration"), "{said}");
    let page = place.path().join("page.html");
    assert!(ncugate("page", &[report, "-o", page.to_str().unwrap()]).output().unwrap().status.success());
    let page = std::fs::read_to_string(page).unwrap();
    assert!(page.contains("under ncu in 1 of 2 launches; profile trace again: no duration"));
}
