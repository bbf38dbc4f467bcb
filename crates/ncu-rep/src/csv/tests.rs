//! Forms of CSV: those that ncu prints in its versions and languages, and what other programs make of them.

use super::error::CsvError;
use crate::{MetricValue, Report, ReportError, ReportForm};

const HEAD: &str = r#""ID","Process ID","Process Name","Host Name","Kernel Name","Context","Stream","Block Size","Grid Size","Device","CC""#;
const CELLS: &str =
    r#""0","5080","host","127.0.0.1","void f<1, 2>(int, ""x"")","1","7","(128, 1, 1)","(16, 8, 1)","0","9.0""#;
const TIME: &str = "gpu__time_duration.sum";
const BYTES: &str = "dram__bytes.sum";

fn read(text: impl AsRef<[u8]>) -> Result<Report, ReportError> {
    Report::from_bytes(text.as_ref().to_vec())
}

/// The refusal of a text.
fn refused(text: impl AsRef<[u8]>) -> CsvError {
    match read(text).unwrap_err() {
        ReportError::Csv(error) => error,
        other => panic!("{other}"),
    }
}

/// The long form: a row per metric, unit and value, all of launch 0.
fn long(rows: &[(&str, &str, &str)]) -> String {
    let mut text = format!("{HEAD},\"Section Name\",\"Metric Name\",\"Metric Unit\",\"Metric Value\"\n");
    for (name, unit, value) in rows {
        text.push_str(&format!("{CELLS},\"s\",\"{name}\",\"{unit}\",\"{value}\"\n"));
    }
    text
}

/// The raw page with the times of launches in ns.
fn raw(times: &[&str]) -> String {
    let mut text = format!("{HEAD},\"{TIME}\"\n{}\"ns\"\n", "\"\",".repeat(11));
    for (id, time) in times.iter().enumerate() {
        text.push_str(&format!("{},\"{time}\"\n", CELLS.replacen("\"0\"", &format!("\"{id}\""), 1)));
    }
    text
}

/// The values of a metric at every launch.
fn values(report: &Report, metric: &str) -> Vec<Option<f64>> {
    report.launches().map(|launch| launch.metric(metric).unwrap().and_then(|value| value.as_f64())).collect()
}

/// Without quotation marks, as spreadsheets and data frames save it.
fn unquoted(text: &str, separator: &str) -> String {
    let mut reader = csv::ReaderBuilder::new().has_headers(false).flexible(true).from_reader(text.as_bytes());
    let cell = |cell: &str| match cell.contains([',', '"']) {
        true => format!("\"{}\"", cell.replace('"', "\"\"")),
        false => cell.to_owned(),
    };
    let row = |row: csv::StringRecord| row.iter().map(cell).collect::<Vec<_>>().join(separator) + "\n";
    reader.records().map(|record| row(record.unwrap())).collect()
}

fn utf16(text: &str, mark: &[u8], of: fn(u16) -> [u8; 2]) -> Vec<u8> {
    mark.iter().copied().chain(text.encode_utf16().flat_map(of)).collect()
}

/// Name of a form, its bytes, and the time at each launch.
type PrintedForm = (&'static str, Vec<u8>, Vec<Option<f64>>);

#[test]
fn every_form_has_the_values_that_ncu_printed() {
    let one = long(&[(TIME, "ns", "1,606,912")]);
    let two = raw(&["1,606,912", "7"]);
    let renamed = |from: &str, to: &str| two.replace(from, to);
    let plain = |text: &str| text.replace("1,606,912", "1606912");
    let whole = Some(1_606_912.0);
    let (first, both) = (vec![whole], vec![whole, Some(7.0)]);
    let forms: Vec<PrintedForm> = vec![
        ("long form", one.clone().into(), first.clone()),
        ("raw page", two.clone().into(), both.clone()),
        ("details page", long(&[("Duration", "ns", "1,606,912")]).into(), first.clone()),
        ("details page, scaled", long(&[("Duration", "ms", "1.606912")]).into(), first.clone()),
        ("details page of 2019", long(&[("Duration", "msecond", "1.606912")]).into(), first.clone()),
        (
            "details page with rule columns",
            {
                let text = one
                    .replace("\"Metric Value\"", "\"Metric Value\",\"Rule Name\",\"Rule Type\",\"Rule Description\"");
                format!("{text}{CELLS},\"s\",\"\",\"\",\"\",\"SOL\",\"OPT\",\"slow\"\n").into()
            },
            first.clone(),
        ),
        ("base units", long(&[(TIME, "ns", "1606912.00")]).into(), first.clone()),
        ("instances", long(&[(TIME, "ns", "1,606,912 (7; 9)")]).into(), first.clone()),
        ("old units", long(&[(TIME, "usecond", "1,606.912")]).into(), first.clone()),
        ("German", long(&[(TIME, "ns", "1.606.912"), (BYTES, "byte", "3,25")]).into(), first.clone()),
        ("French", long(&[(TIME, "ns", "1\u{202f}606\u{202f}912")]).into(), first.clone()),
        ("Swiss", long(&[(TIME, "ns", "1’606’912")]).into(), first.clone()),
        ("Indian", long(&[(TIME, "ns", "16,06,912")]).into(), first.clone()),
        ("mark of UTF-8", format!("\u{feff}{one}").into(), first.clone()),
        ("UTF-16, little endian", utf16(&two, b"\xff\xfe", u16::to_le_bytes), both.clone()),
        ("UTF-16, big endian", utf16(&two, b"\xfe\xff", u16::to_be_bytes), both.clone()),
        ("carriage returns", two.replace('\n', "\r\n").into(), both.clone()),
        ("no line break at the end", two.trim_end().into(), both.clone()),
        ("lines of ncu around", format!("==PROF== Connected\n{one}==PROF== Disconnected\n").into(), first.clone()),
        (
            "lines of programs between",
            two.replace("\n\"1\"", "\nstep 3: loss 0.25, \"ok\"\n\"1\"").into(),
            both.clone(),
        ),
        ("unquoted header", unquoted(&two, ",").into(), both.clone()),
        (
            "unquoted header, lines between",
            unquoted(&two, ",").replace("\n1,", "\n3 warnings\n1,").into(),
            both.clone(),
        ),
        ("semicolons", plain(&two).replace("\",\"", "\";\"").into(), both.clone()),
        ("semicolons, unquoted", unquoted(&plain(&two), ";").into(), both.clone()),
        ("tabs", plain(&two).replace("\",\"", "\"\t\"").into(), both.clone()),
        (
            "index column",
            unquoted(&plain(&two), ",")
                .lines()
                .map(|line| format!("{},{line}\n", if line.starts_with("ID") { "" } else { "4" }))
                .collect::<String>()
                .into(),
            both.clone(),
        ),
        (
            "columns in another order",
            {
                let swap = |line: &str| {
                    line.rsplit_once(",\"").map_or(String::new(), |(rest, last)| format!("\"{last},{rest}\n"))
                };
                two.lines().map(swap).collect::<String>().into()
            },
            both.clone(),
        ),
        ("function names", renamed("void f<1, 2>(int, \"\"x\"\")", "f").into(), both.clone()),
        ("sizes of newer versions", renamed("(128, 1, 1)", "128, 1, 1").into(), both.clone()),
        (
            "time of day of 2019",
            two.lines()
                .map(|line| {
                    format!("{line},\"{}\"\n", if line.contains("ID") { "Kernel Time" } else { "2019-May-07 14:46:27" })
                })
                .collect::<String>()
                .into(),
            both.clone(),
        ),
        (
            "appended runs",
            format!("{one}==PROF== 2\n{one}{two}").into(),
            [first.clone(), first.clone(), both.clone()].concat(),
        ),
        (
            "ranks with the same ids",
            format!("{one}{}", one.replace("5080", "5081")).into(),
            [first.clone(), first.clone()].concat(),
        ),
        (
            "rows of two processes",
            format!("{one}{}", one.lines().nth(1).unwrap().replace("5080", "5081")).into(),
            [first.clone(), first.clone()].concat(),
        ),
        ("profiled nothing", format!("{HEAD}\n").into(), vec![]),
    ];
    for (form, text, expected) in forms {
        let report = read(text).unwrap_or_else(|error| panic!("{form}: {error}"));
        assert_eq!(values(&report, TIME), expected, "{form}");
        assert_eq!(report.form(), ReportForm::Csv);
    }
}

#[test]
fn a_launch_has_the_facts_of_its_columns() {
    let head = HEAD.replace(
        "\"Kernel Name\"",
        "\"thread Domain:Push/Pop_Range:PL_Type\",\"Id:Domain:Start/Stop_Range:PL_Type\",\"Kernel Name\"",
    );
    let pushed =
        r#"9 ""<default domain>:outer:none:none:none:none:none:none""  ""D:a:b:none:none:none:none:none:none"" "#;
    let started = r#" ""0:<default domain>:step:none:none:none:none:none:none"" "#;
    let cells = CELLS.replace("\"void f", &format!("\"{pushed}\",\"{started}\",\"void f"));
    let text = format!("{head},\"a__x.sum\",\"b__y\"\n{}\"ms\",\"\"\n{cells},\"0.5\",\"nan\"\n", "\"\",".repeat(13));
    let report = read(text).unwrap();
    let launch = report.launch(0).unwrap();
    assert_eq!((&*launch.kernel_name(), &*launch.demangled_name()), ("f", "void f<1, 2>(int, \"x\")"));
    assert_eq!((launch.grid(), launch.block()), (Some([16, 8, 1]), Some([128, 1, 1])));
    assert_eq!((launch.context(), launch.stream(), launch.device().unwrap()), (Some(1), Some(7), Some(0)));
    assert_eq!(launch.compute_capability().unwrap(), Some((9, 0)));
    assert_eq!(launch.process().map(|process| (process.pid, process.name())), Some((5080, "host")));
    let ranges = launch.nvtx().unwrap();
    let ranges: Vec<(&str, &str)> = ranges.iter().map(|range| (&*range.domain, &*range.name)).collect();
    assert_eq!(ranges, [("<default domain>", "outer"), ("D", "a:b"), ("<default domain>", "step")]);
    assert_eq!(launch.metric("a__x.sum").unwrap(), Some(MetricValue::Double(500_000.0)));
    assert!(launch.metric("b__y").unwrap().unwrap().as_f64().unwrap().is_nan());
    assert!(report.session().unwrap().command_line.is_empty() && report.warnings()[0].contains("rounded"));
}

#[test]
fn displayed_names_are_those_of_metrics() {
    let report = read(long(&[
        ("Memory Throughput", "%", "61.20"),
        ("Memory Throughput", "Gbyte/s", "980.55"),
        ("Registers Per Thread", "register/thread", "32"),
        ("SM Busy", "%", "7.5"),
        ("Cluster Scheduling Policy", "", "PolicySpread"),
    ]))
    .unwrap();
    let value = |metric: &str| values(&report, metric)[0];
    assert_eq!(value("gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed"), Some(61.2));
    assert_eq!(value("dram__bytes.sum.per_second"), Some(980_550_000_000.0));
    assert_eq!(value("launch__registers_per_thread"), Some(32.0));
    assert_eq!(value("SM Busy"), Some(7.5), "versions of ncu have this name for two metrics");
}

#[test]
fn a_row_that_is_not_understood_is_an_error() {
    assert!(matches!(refused(format!("{HEAD}\n{CELLS},\"9\"\n")), CsvError::Cells { line: 2, found: 12, .. }));
    assert!(matches!(refused(format!("{HEAD},\"a__b\"\n{CELLS}\n")), CsvError::Cells { line: 2, .. }));
    let bad = CELLS.replace("(128, 1, 1)", "(128, 1)");
    assert!(matches!(refused(format!("{HEAD}\n{bad}\n")), CsvError::Cell { line: 2, .. }));
    let no_value = "\"ID\",\"Kernel Name\",\"Metric Name\",\"Metric Unit\"\n";
    assert!(matches!(refused(no_value), CsvError::NoColumn { column: "Metric Value" }));
    let first = long(&[(TIME, "ns", "1")]);
    assert!(matches!(refused(first.replace("\n\"0\"", "\nstep 3 \"0\"")), CsvError::Glued { line: 2 }));
    assert!(matches!(refused(&first[..first.len() - 2]), CsvError::Cut));
    assert!(matches!(read("hello\n"), Err(ReportError::NotAReport { .. })));
}

#[test]
fn units_of_older_versions_are_converted() {
    let rows = [
        (TIME, "usecond", "41.28", 41_280.0),
        ("gpu__time_duration.avg", "nsecond", "9,312", 9_312.0),
        ("gpu__time_duration.max", "msecond", "2.50", 2_500_000.0),
        ("gpu__time_duration.min", "second", "1.25", 1_250_000_000.0),
        ("dram__bytes.sum.per_second", "Gbyte/second", "980.55", 980_550_000_000.0),
        ("gpc__cycles_elapsed.avg.per_second", "cycle/nsecond", "1.10", 1_100_000_000.0),
        ("dram__cycles_elapsed.avg.per_second", "cycle/usecond", "980.55", 980_550_000.0),
    ];
    let report = read(long(&rows.map(|row| (row.0, row.1, row.2)))).unwrap();
    for (name, _, _, value) in rows {
        assert_eq!(values(&report, name), [Some(value)], "{name}");
    }
}

#[test]
fn an_unknown_unit_of_a_known_metric_is_an_error() {
    for name in [TIME, "Duration"] {
        let unit = refused(long(&[(name, "fortnight", "2")]));
        assert!(matches!(unit, CsvError::Unit { line: 2, base: "ns", .. }), "{unit}");
    }
    let number = refused(long(&[(BYTES, "byte", "8.390.14")]));
    assert!(matches!(number, CsvError::Number { line: 2, .. }), "{number}");
    assert!(number.to_string().contains("LC_ALL=C"), "{number}");
}

#[test]
fn numbers_without_one_certain_reading_are_an_error() {
    let rows = |time, share| long(&[(TIME, "ns", time), ("sm__throughput.avg.pct", "%", share)]);
    let open = refused(rows("41.280", "61"));
    assert!(matches!(open, CsvError::AmbiguousNumbers { line: 2, .. }), "{open}");
    let mixed = refused(rows("8.390.144", "61.20"));
    assert!(matches!(mixed, CsvError::MixedNumbers { line: 3, .. }), "{mixed}");
}

#[test]
fn time_to_read_is_in_proportion_to_the_launches() {
    let seconds = |launches: usize| {
        let row = |id: usize| format!("\"{id}\",\"f\",\"a__x.sum\",\"\",\"1\"\n");
        let head = "\"ID\",\"Kernel Name\",\"Metric Name\",\"Metric Unit\",\"Metric Value\"\n".to_owned();
        let text: String = std::iter::once(head).chain((0..launches).map(row)).collect();
        let start = std::time::Instant::now();
        assert_eq!(read(&text).unwrap().launches().len(), launches);
        start.elapsed().as_secs_f64()
    };
    let (few, many) = (seconds(2_000).min(seconds(2_000)), seconds(40_000));
    assert!(many < few * 100.0, "20 times the launches take {:.0} times as long", many / few);
}
