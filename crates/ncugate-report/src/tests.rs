//! All renderers, on the synthetic run of [`super::fixture`].

use super::ablation_row::AblationRow;
use super::fixture::{Fixture, hostile};
use super::model::Conclusion;
use super::terminal::{Colours, Screen};
use super::{github, html, json, junit, markdown, number, terminal, write};
use ncugate_judge::FallbackResult;
use ncugate_model::{Ablation, AblationOutcome, AblationRecord, Gain, ShapeName, VariantId, Verdict};
use serde_json::{Value, json};
use std::collections::BTreeSet;

fn small() -> super::RunReport {
    Fixture::new(6).report()
}

#[test]
fn markdown_reads_as_text() {
    insta::assert_snapshot!(markdown::markdown(&small()).unwrap());
}

#[test]
fn junit_counts_gates() {
    insta::assert_snapshot!(junit::junit(&small()).unwrap());
}

#[test]
fn json_holds_every_value_that_the_report_has() {
    let report = Fixture::new(90).report();
    let results: Value = serde_json::from_str(&json::json(&report).unwrap()).unwrap();
    let number = |value: &Value| value.as_f64();
    assert_eq!((&results["schema"], &results["verdict"]), (&json!(1), &json!("fail")));
    for (row, written) in report.gates.iter().zip(results["gates"].as_array().unwrap()) {
        assert_eq!(written["verdict"], row.verdict.word());
        let (read, value) = (number(&written["measured"]), row.summary.measured.as_ref().map(|n| n.value));
        // A JSON reader may be off by the last bit.
        let off = read.zip(value).map_or(0.0, |(read, value)| (read - value).abs() / value.abs().max(1.0));
        assert!(read.is_some() == value.is_some() && off < 1e-14, "{read:?}, {value:?}");
        assert_eq!(written["shape"].as_str(), row.summary.shape.as_ref().map(|shape| &*shape.0));
        assert_eq!(written["passing"], row.summary.counts.pass);
        assert_eq!(written["waived"].as_str(), row.waived.as_ref().map(|w| w.reason.as_str()));
    }
    let mut values = 0;
    for (row, written) in report.variants.iter().zip(results["variants"].as_array().unwrap()) {
        assert_eq!((written["id"].as_str(), &written["rank"]), (Some(row.id.as_str()), &json!(row.rank)));
        for (name, shape) in report.shapes.iter().zip(&row.shapes) {
            let written = &written["shapes"][name.as_str()];
            assert_eq!(written["samples"].as_array().unwrap().len(), shape.samples.len());
            for (metric, measure) in report.metrics.iter().zip(&shape.values) {
                let name = metric.name.as_str();
                let (read, value) = (number(&written["values"][name]), measure.number().map(|n| n.value));
                // A JSON reader may be off by the last bit.
                let off = read.zip(value).map_or(0.0, |(read, value)| (read - value).abs() / value.abs().max(1.0));
                assert!(read.is_some() == value.is_some() && off < 1e-14, "{name}: {read:?}, {value:?}");
                assert_eq!(written["missing"].get(name).is_some(), measure.number().is_none(), "{name}");
                values += 1;
            }
        }
    }
    assert!(values > 5_000, "{values}");
    let delta = &results["deltas"][0]["metrics"]["latency_p50"];
    let row = &report.deltas[0].rows[0];
    assert_eq!((number(&delta["selected"]), number(&delta["other"])), (Some(row.after.value), Some(row.before.value)));
    assert_eq!((&delta["judged"], &delta["change"]), (&json!(row.judged.word()), &json!(row.change)));
    assert_eq!(results["deep_profiles"][0]["values"]["stall_wait"], 1.9);
}

#[test]
fn json_keeps_the_keys_that_programs_read() {
    let report = Fixture::new(6).report();
    let results: Value = serde_json::from_str(&json::json(&report).unwrap()).unwrap();
    let keys = |value: &Value| value.as_object().unwrap().keys().cloned().collect::<BTreeSet<_>>();
    for key in [
        "name",
        "require",
        "on",
        "level",
        "line",
        "metric",
        "unit",
        "verdict",
        "reason",
        "measured",
        "limit",
        "margin",
        "interval",
        "samples",
        "variant",
        "shape",
        "passing",
        "failing",
        "inconclusive",
        "waived",
    ] {
        assert!(results["gates"].as_array().unwrap().iter().all(|gate| gate.get(key).is_some()), "{key}");
    }
    assert_eq!(results["gates"][0]["on"], "selected");
    for key in ["selected", "other", "change", "ratio", "judged"] {
        assert!(results["deltas"][0]["metrics"]["latency_p50"].get(key).is_some(), "{key}");
    }
    for key in ["title", "unit", "better"] {
        assert!(results["metrics"]["latency_p50"].get(key).is_some(), "{key}");
    }
    let profile = ["missing", "passes", "seconds", "shape", "values", "variant"].map(str::to_owned);
    assert_eq!(keys(&results["deep_profiles"][0]), BTreeSet::from(profile));
    let schema: Value = serde_json::from_str(&json::schema().unwrap()).unwrap();
    let mut always = keys(&schema["properties"]);
    assert!(always.remove("not_measured"), "it is there only where a recording is shown without `--source recorded`");
    assert!(always.remove("toolchains"), "they are there only for a phase that declares several");
    assert_eq!(always, keys(&results), "the schema has the same keys");
}

#[test]
fn the_schema_has_the_words_that_a_verdict_can_be() {
    let schema: Value = serde_json::from_str(&json::schema().unwrap()).unwrap();
    let words = |name: &str| -> Vec<String> {
        let ways = schema["$defs"][name]["oneOf"].as_array().unwrap();
        ways.iter().map(|way| way["const"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(words("Verdict"), ["pass", "inconclusive", "fail"]);
    assert_eq!(words("Level"), ["required", "advisory"]);
    assert_eq!(words("Better"), ["higher", "lower", "context"]);
    assert_eq!(words("ChangeDirection"), ["better", "worse", "within noise", ""]);
}

/// Whether a line holds a word or a command that stays whole at any width; the rank of a variant may precede its name.
fn is_whole(line: &str) -> bool {
    let words = line.trim_start_matches(|c: char| c.is_ascii_digit() || c == ' ' || c == '-');
    !words.trim().contains(' ') || words.starts_with('`')
}

#[test]
fn terminal_ends_with_the_verdict() {
    let screen = Screen { columns: 80, colours: Colours::Plain };
    let text = terminal::terminal(&small(), screen).unwrap();
    assert!(text.lines().all(|line| line.chars().count() <= 80 || is_whole(line)), "{text}");
    insta::assert_snapshot!(text);
}

#[test]
fn the_terminal_uses_the_columns_there_are() {
    for columns in [80, 120, 200] {
        let screen = Screen { columns, colours: Colours::Plain };
        let text = terminal::terminal(&Fixture::new(90).report(), screen).unwrap();
        let longest = text.lines().filter(|line| !is_whole(line)).map(|line| line.chars().count()).max().unwrap();
        assert!(longest <= columns && longest > columns * 3 / 4, "{longest} of {columns}:\n{text}");
        insta::assert_snapshot!(format!("terminal_at_{columns}_columns"), text);
    }
}

#[test]
fn annotations_point_at_the_gate() {
    insta::assert_snapshot!(github::annotations(&small()).unwrap());
}

#[test]
fn colours_only_when_asked() {
    let with = |colours| terminal::terminal(&small(), Screen { columns: 100, colours }).unwrap();
    assert!(!with(Colours::Plain).contains('\u{1b}'));
    assert!(with(Colours::Ansi).contains("\u{1b}[1;31mFAIL\u{1b}[0m"));
}

#[test]
fn the_same_run_renders_to_the_same_bytes() {
    let (one, other) = (small(), small());
    assert_eq!(html::html(&one).unwrap(), html::html(&other).unwrap());
    assert_eq!(json::json(&one).unwrap(), json::json(&other).unwrap());
}

#[test]
fn the_schema_is_current() {
    let committed = concat!(env!("CARGO_MANIFEST_DIR"), "/../../schema/results.schema.json");
    let schema = json::schema().unwrap();
    if std::env::var_os("NCUGATE_BLESS").is_some() {
        write::replace(committed.as_ref(), &schema).unwrap();
    }
    assert_eq!(std::fs::read_to_string(committed).unwrap(), schema, "run this test with NCUGATE_BLESS=1");
}

#[test]
fn hostile_text_stays_text_everywhere() {
    let report = hostile().report();
    let page = html::html(&report).unwrap();
    assert!(!page.contains("<img"), "markup in the page");
    assert_eq!(page.matches("</script>").count(), 2);
    assert!(!page.contains("<!--") && !page.contains('\0') && !page.contains('\u{202E}'));
    assert!(page.contains("{{ 7 * 7 }}") || page.contains("&#x7b;"), "a template in the data is not evaluated");
    let text = markdown::markdown(&report).unwrap();
    assert!(!text.contains("<img") && !text.contains("@everyone") && !text.contains('\0'));
    let xml = junit::junit(&report).unwrap();
    assert!(!xml.contains("<img") && !xml.contains('\0'));
    let lines = github::annotations(&report).unwrap();
    assert!(lines.lines().all(|l| l.starts_with("::") && l.contains("file=configs/<b>x</b>%2Cline=1.toml,line=")));
    assert!(!lines.contains("\n::error::smuggled"));
    let screen = Screen { columns: 80, colours: Colours::Plain };
    let shown = terminal::terminal(&report, screen).unwrap();
    assert!(!shown.contains('\u{1b}') && !shown.contains('\0'));
    assert!(shown.lines().all(|line| line.chars().count() <= 80 || is_whole(line)), "{shown}");
    for chart in &report.charts {
        let svg = crate::chart::svg::draw(chart, crate::chart::svg::Setting::File).unwrap();
        assert!(!svg.contains("<img") && !svg.contains("<script"), "{}", chart.id);
    }
}

#[test]
fn rules_and_hot_lines_are_on_the_page_and_in_the_results() {
    let report = Fixture::new(90).report();
    let page = html::html(&report).unwrap();
    assert!(
        page.contains(
            "\"rules\":[[\"Uncoalesced accesses\",\"Half of the sectors are not used.\",\"at most 12.5 %\"]]"
        )
    );
    assert!(page.contains("[\"+0x1a0\",\"1,234\",\"40\",\"long scoreboard\",\"LDS.128 R4, [R2+0x10]\",[\"kernels/sdpa_scalar/sdpa_scalar.cu:57\","));
    let results: serde_json::Value = serde_json::from_str(&json::json(&report).unwrap()).unwrap();
    let said: Vec<&serde_json::Value> = results["variants"]
        .as_array()
        .unwrap()
        .iter()
        .flat_map(|v| v["shapes"].as_object().unwrap().values())
        .filter(|shape| shape.get("rules").is_some())
        .collect();
    assert_eq!((said.len(), &said[0]["hot"][0]["samples"]), (1, &serde_json::json!(1234.0)));
}

#[test]
fn a_comment_always_fits() {
    let report = Fixture::new(1_000).report();
    let mut hostile = hostile().report();
    hostile.gates = (0..2_000).flat_map(|_| hostile.gates.first().cloned()).collect();
    for report in [&report, &hostile] {
        let comment = crate::comment::comment(report, None);
        assert!(comment.len() < 65_536, "{}", comment.len());
        assert!(github::summary(report).unwrap().len() < 1_048_576);
    }
}

#[test]
fn a_thousand_variants_stay_under_six_megabytes() {
    let page = html::html(&Fixture::new(1_000).report()).unwrap();
    assert!(page.len() < 6_000_000, "{} bytes", page.len());
}

#[test]
fn every_chart_is_drawn_with_title_axes_and_words() {
    let report = Fixture::new(90).report();
    let ids: Vec<&str> = report.charts.iter().map(|chart| chart.id.as_str()).collect();
    for expected in [
        "latency-occupancy",
        "latency-distribution",
        "gate-metrics",
        "parameter-effects",
        "scaling",
        "roofline",
        "stalls",
    ] {
        assert!(ids.contains(&expected), "{expected} is not in {ids:?}");
    }
    for chart in &report.charts {
        let svg = crate::chart::svg::draw(chart, crate::chart::svg::Setting::File).unwrap();
        assert!(svg.contains("role=\"img\"") && svg.contains("<title>"), "{}", chart.id);
        let document = roxmltree::Document::parse(&svg).unwrap();
        let label = document.root_element().attribute("aria-label").unwrap();
        assert!(label.len() > chart.title.len() + 4 && !chart.table.rows.is_empty(), "{}", chart.id);
    }
}

#[test]
fn the_map_of_gates_says_what_the_judge_says() {
    // Two gates whose texts share a prefix, and two with the same text.
    const GATES: &str = r#"
        [[gate]]
        require = "registers <= 7"
        on = "any"
        [[gate]]
        require = "registers <= 72"
        [[gate]]
        require = "spills <= 0"
        on = "each"
        [[gate]]
        require = "shared_mem <= 20000"
        level = "advisory"
        [[gate]]
        name = "again"
        require = "registers <= 7"
        on = "*THREADS=128*"
    "#;
    let report = Fixture::with_gates(90, GATES).report();
    let mut judged = 0;
    for variant in report.variants.iter().filter(|v| v.rank.is_some()) {
        for (at, metric, limit) in [(0, "registers", 7.0), (1, "registers", 72.0), (2, "spills", 0.0)] {
            let holds = report.value(variant, report.objective_shape, metric).unwrap() <= limit;
            let cell = variant.gates[at].as_ref().unwrap();
            let expected = if holds { Verdict::Pass } else { Verdict::Fail };
            assert_eq!(cell.verdict, expected, "{}: {} ({})", variant.id, cell.text, report.gates[at].name);
            judged += 1;
        }
        assert_eq!(variant.gates[3].is_some(), variant.selected, "{}", variant.id);
        assert_eq!(variant.gates[4].is_some(), variant.id.contains("THREADS=128"), "{}", variant.id);
    }
    assert!(judged > 200);
    html::html(&report).unwrap();
}

#[test]
fn a_fallback_warns_and_is_a_failure_of_junit_alone() {
    let mut fixture = Fixture::new(6);
    let mut gate = fixture.judgement.gates[6].clone();
    gate.name = "fallback is lean".into();
    fixture.judgement.fallback = Some(FallbackResult {
        variant: Some(fixture.plan.variants[1].id.clone()),
        verdict: Verdict::Pass,
        reason: "the fallback holds its gates".into(),
        cost: None,
        gates: vec![gate],
    });
    fixture.judgement.verdict = Verdict::Pass;
    let report = fixture.report();
    assert_eq!(report.headline.conclusion, Conclusion::Fallback);
    let xml = junit::junit(&report).unwrap();
    assert!(xml.contains("failures=\"1\" errors=\"0\"") && xml.contains("the fallback is taken"), "{xml}");
    assert!(!github::annotations(&report).unwrap().contains("::error"));
    let screen = Screen { columns: 80, colours: Colours::Ansi };
    assert!(terminal::terminal(&report, screen).unwrap().contains("\u{1b}[1;33mFALLBACK"));
    assert!(html::html(&report).unwrap().contains("banner inconclusive"));
}

#[test]
fn a_run_without_measurements_renders() {
    let mut fixture = Fixture::new(6);
    fixture.quantities = ncugate_model::Quantities::default();
    fixture.judgement.selected = None;
    fixture.judgement.gates.clear();
    fixture.judgement.variants.clear();
    fixture.judgement.stages.clear();
    let run = &mut fixture.run;
    (run.builds, run.checks, run.latencies) = (Vec::new(), Vec::new(), Vec::new());
    let report = fixture.report();
    assert!(report.missing.iter().any(|line| line.contains("8 variants of the plan have no record")));
    html::html(&report).unwrap();
    markdown::markdown(&report).unwrap();
    junit::junit(&report).unwrap();
    json::json(&report).unwrap();
    terminal::terminal(&report, Screen { columns: 80, colours: Colours::Plain }).unwrap();
}

#[test]
fn every_page_has_what_its_template_names() {
    for fixture in [Fixture::new(6), Fixture::new(90), hostile()] {
        html::html(&fixture.report()).unwrap();
        compared(&fixture);
        indexed(&fixture);
    }
    kernels("deep");
}

#[test]
fn a_written_report_has_its_files_and_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    let written = write::write(&small(), folder.path()).unwrap();
    let mut names: Vec<String> = std::fs::read_dir(folder.path())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    assert_eq!(names, ["charts", "junit.xml", "report.html", "report.md", "results.json", "results.sarif"]);
    assert!(written.page.ends_with("report.html"));
    let text = std::fs::read_to_string(folder.path().join("report.md")).unwrap();
    for link in text.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
        assert!(folder.path().join(link).is_file(), "{link}");
    }
}

/// Pages for the browser test, in the folder given by `NCUGATE_PAGES`.
#[test]
#[ignore = "writes pages for tests/browser/run.sh"]
fn pages() {
    let folder = std::path::PathBuf::from(std::env::var("NCUGATE_PAGES").unwrap());
    let mut pages = vec![("hostile", hostile())];
    pages.extend([("p6", 6), ("p90", 90), ("p1000", 1_000), ("p10000", 10_000)].map(|(n, v)| (n, Fixture::new(v))));
    for (name, fixture) in pages {
        let folder = folder.join(name);
        std::fs::create_dir_all(&folder).unwrap();
        let started = std::time::Instant::now();
        let report = fixture.report();
        write::write(&report, &folder).unwrap();
        let took = started.elapsed().as_secs_f64();
        let bytes = std::fs::metadata(folder.join("report.html")).unwrap().len();
        std::fs::write(folder.join("texts.json"), serde_json::to_string(&texts(&report)).unwrap()).unwrap();
        std::fs::write(folder.join("took.txt"), format!("{took:.3} s, {bytes} bytes\n")).unwrap();
    }
    std::fs::write(folder.join("changes.json"), changes().to_string()).unwrap();
    let kernels =
        ["deep", "torch_nvtx", "full1", "defects", "g1200"].map(|name| (format!("kernels-{name}"), kernels(name)));
    let compared_captures = ("kernels-compared".to_owned(), compared_captures("g12", "g1200"));
    for (name, page) in kernels.into_iter().chain([compared_captures]) {
        let folder = folder.join(name);
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join("report.html"), page).unwrap();
    }
    for (name, fixture) in [("", Fixture::new(90)), ("-hostile", hostile())] {
        for (kind, page) in [("compare", compared(&fixture)), ("index", indexed(&fixture))] {
            let folder = folder.join(format!("{kind}{name}"));
            std::fs::create_dir_all(&folder).unwrap();
            std::fs::write(folder.join("report.html"), page).unwrap();
        }
    }
}

/// Ratios and differences of percentages with their texts, which the script must format equally: every step, values
/// halfway between two texts, and both sides of each change of form.
fn changes() -> serde_json::Value {
    let around = |value: f64| [value.next_down(), value, value.next_up()];
    let steps = (0..=3_000).map(|n| f64::from(n) / 1_000.0);
    let halves = (0..=1_000).map(|n| f64::from(n) / 64.0);
    let edges = [0.9995, 1.0005, 1.9995, 2.0, 2.005, 10.0, 10.005, 99.995, 100.0, 100.25, 999.5, 999.95, 1_000.0]
        .into_iter()
        .flat_map(around);
    let large = (1..=40).map(|n| 1.2345 * 3.0_f64.powi(n));
    let ratios = steps.chain(halves).chain(edges).chain(large).map(|ratio| (ratio, number::change(ratio)));
    let points = (1..=6_400).map(|n| f64::from(n) / 64.0).chain((1..=2_000).map(|n| f64::from(n) / 100.0));
    let points = points.flat_map(|points| [points, -points]).map(|points| (points, number::signed(points, "%")));
    json!({ "ratios": ratios.collect::<Vec<_>>(), "points": points.collect::<Vec<_>>() })
}

/// Every number of the table of variants as the report writes it, by variant and metric title.
fn texts(report: &super::RunReport) -> serde_json::Value {
    let of = |variant: &crate::variant_row::VariantRow| {
        let values = report.metrics.iter().zip(&variant.shapes[report.objective_shape].values);
        let text = |(metric, value): (&ncu_explain::MetricColumn, &super::Measure)| {
            Some((metric.title.clone(), serde_json::Value::from(value.number()?.text.as_str())))
        };
        (variant.id.to_string(), serde_json::Value::Object(values.filter_map(text).collect()))
    };
    serde_json::Value::Object(report.variants.iter().take(100).map(of).collect())
}

/// A capture by its name.
fn capture(name: &str) -> ncu_rep::Report {
    let path = format!("{}/../../tests/data/{name}.ncu-rep.zst", env!("CARGO_MANIFEST_DIR"));
    ncu_rep::Report::open(&path).unwrap()
}

/// The page over the kernels of a capture.
fn kernels(name: &str) -> String {
    use crate::kernels::document;
    use ncu_explain::{KernelFilter, ProfiledReport};
    let report = ProfiledReport::read(name, &capture(name), &KernelFilter::default()).unwrap();
    crate::document::html(&document(&report, &|_| Vec::new())).unwrap()
}

/// Two captures compared.
fn compared_captures(a: &str, b: &str) -> String {
    use crate::compare::{ComparedSide, RunComparison};
    use crate::document::html;
    let side = |name| ComparedSide::of_report(name, &capture(name), &ncu_explain::KernelFilter::default()).unwrap();
    html(&RunComparison::new(&side(a), &side(b), &ncugate_model::stats::Resampler::default()).document()).unwrap()
}

/// A run compared with itself.
fn compared(fixture: &Fixture) -> String {
    let side = crate::compare::ComparedSide::of_run(&fixture.phase.title, &fixture.report());
    let resampler = ncugate_model::stats::Resampler::default();
    crate::document::html(&crate::compare::RunComparison::new(&side, &side, &resampler).document()).unwrap()
}

/// Three runs of one phase with different values, the second without a page.
fn indexed(fixture: &Fixture) -> String {
    use crate::history::{History, HistoryEntry, RunSummary};
    let entry = |at: i64| {
        let mut report = fixture.report();
        let scale = 1.0 + at as f64 / 10.0;
        let rescaled = |number: &mut crate::number::Number| *number = crate::number::Number::new(number.value * scale);
        report.objective.iter_mut().filter_map(|row| row.value.as_mut()).for_each(rescaled);
        report.gates.iter_mut().filter_map(|gate| gate.summary.measured.as_mut()).for_each(rescaled);
        let mut manifest = fixture.run.manifest.clone();
        manifest.run = format!("{} {at}", report.run);
        manifest.started += jiff::SignedDuration::from_hours(24 * at);
        let conditions = ncugate_judge::reference_runs::Conditions::ahead(&fixture.phase, &manifest.fingerprint);
        HistoryEntry {
            folder: fixture.phase.title.clone().into(),
            manifest,
            summary: RunSummary::new(report, &fixture.plan, conditions),
            page: (at != 1).then(|| "report.html".to_owned()),
        }
    };
    let history = History::new((0..3).map(entry).collect(), vec![(&fixture.phase.title).into()]);
    crate::document::html(&history.document()).unwrap()
}

#[test]
fn measured_causes_are_in_every_format_and_say_what_they_are_not() {
    let mut report = Fixture::new(2).report();
    let (variant, shape) = (VariantId("v".into()), ShapeName("s".into()));
    let record = |edit, outcome| AblationRecord {
        variant: variant.clone(),
        shape: shape.clone(),
        edit,
        changed: 8,
        left: 0,
        outcome,
    };
    let gain = AblationOutcome::Measured(Gain { percent: 18.0, low: 17.0, high: 19.0 });
    let hung = AblationOutcome::NotMeasured { reason: "hung".to_owned() };
    let records = [record(Ablation::Shuffles, hung), record(Ablation::Barriers, gain)];
    report.ablations = AblationRow::all(&records, &variant, &shape);
    let texts = [markdown::markdown(&report).unwrap(), html::html(&report).unwrap(), json::json(&report).unwrap()];
    for text in &texts {
        let at = |words: &str| text.find(words).unwrap_or_else(|| panic!("{words}: {text}"));
        assert!(at("without its barriers") < at("without shuffles"), "the largest gain first");
    }
    for text in &texts[..2] {
        assert!(text.contains("18.0 %") && text.contains("They are no variants"), "{text}");
    }
}
