//! Compares ncu's CSV pages of the captures, read by our CSV reader, with the native reader on the same capture.

use std::collections::{HashMap, HashSet};

use ncu_rep::{Launch, Metric, MetricValue, Report, ResultKind};

use crate::captures;

/// Captures with all three pages: `--page raw` in base units and scaled, `--page details` in base units.
const CAPTURES: [&str; 7] = ["cluster", "graph_nodes", "graph_whole", "processes", "range", "source", "torch_nvtx"];

/// Displayed names and their metrics.
const LABELS: &str = include_str!("../../src/csv/labels.tsv");

/// A page: its text, and the printed cells of each launch.
struct Page {
    report: Report,
    /// Printed unit and value by launch and metric name, as the csv crate reads them.
    printed: HashMap<(u32, String), Vec<(String, String)>>,
}

#[derive(Debug, Default)]
struct Compared {
    launches: usize,
    values: usize,
    /// Number of values that ncu printed as a number.
    numbers: usize,
    /// Rows of a details page that name a metric by its label.
    labels: usize,
}

fn page(file: &str) -> Page {
    let text = String::from_utf8(captures::plain(file)).unwrap();
    let mut reader = csv::ReaderBuilder::new().has_headers(false).flexible(true).from_reader(text.as_bytes());
    let rows: Vec<csv::StringRecord> = reader.records().map(Result::unwrap).collect();
    let at = |name: &str| rows[0].iter().position(|column| column == name);
    let mut printed: HashMap<_, Vec<_>> = HashMap::new();
    let mut add = |row: &csv::StringRecord, metric: &str, unit: &str, value: &str| {
        let key = (row[0].parse().unwrap(), metric.to_owned());
        printed.entry(key).or_default().push((unit.to_owned(), value.to_owned()));
    };
    match at("Metric Name") {
        Some(name) => rows[1..].iter().filter(|row| !row[name].is_empty()).for_each(|row| {
            add(row, &row[name], &row[name + 1], &row[name + 2]);
        }),
        None => {
            let first = at("CC").unwrap() + 1;
            for row in &rows[2..] {
                (first..row.len()).for_each(|column| add(row, &rows[0][column], &rows[1][column], &row[column]));
            }
        }
    }
    Page { report: Report::from_bytes(text.into_bytes()).unwrap(), printed }
}

/// The size of a unit in its base unit: `Mbyte/us` is 1e6 / 1e-6 byte/s. Independent of the product's table.
fn factor(unit: &str) -> f64 {
    let one = |unit: &str| match unit {
        "ns" | "s" => 1.0,
        "us" => 1e3,
        "ms" => 1e6,
        _ if unit.starts_with('K') => 1e3,
        _ if unit.starts_with('M') => 1e6,
        _ if unit.starts_with('G') => 1e9,
        _ => 1.0,
    };
    match unit.split_once('/') {
        // Rates have the base unit per second.
        Some((above, below @ ("ns" | "us" | "ms"))) => one(above) * 1e9 / one(below),
        // Like ncu: 2,632 %/byte is printed as 2.632 %/Kbyte.
        Some((above, below)) => one(above) * one(below),
        None => one(unit),
    }
}

/// Whether `text` in `unit` can be the printed form of `exact`, to half of the last printed digit.
fn prints_as(exact: f64, text: &str, unit: &str) -> bool {
    let plain = text.replace(',', "");
    let decimals = plain.split_once('.').map_or(0, |(_, decimals)| decimals.len() as i32);
    let number: f64 = plain.parse().unwrap();
    let scaled = exact / factor(unit);
    (scaled - number).abs() <= 0.5 * 10_f64.powi(-decimals) * (1.0 + 1e-9) + scaled.abs() * 1e-15
}

/// Compares one value of the CSV reader, and its printed form, with the value of the report.
fn compare_value(
    at: &str,
    metric: Option<&Metric<'_>>,
    read: &MetricValue<'_>,
    unit: &str,
    printed: &(String, String),
) {
    let (printed_unit, text) = printed;
    let exact = metric.map_or(&MetricValue::Missing, |metric| &metric.value);
    match (exact, read) {
        (MetricValue::Missing, MetricValue::Missing) => {
            assert!(matches!(text.as_str(), "" | "n/a" | "no data"), "{at}: printed as `{text}`");
        }
        (MetricValue::String(exact), MetricValue::String(read)) => assert_eq!(exact, read, "{at}"),
        // An empty text is printed like a missing value.
        (MetricValue::String(exact), MetricValue::Missing) => assert!(exact.is_empty() && text.is_empty(), "{at}"),
        (exact, read) => {
            let (Some(exact), Some(read)) = (exact.as_f64(), read.as_f64()) else {
                panic!("{at}: {exact:?} in the report, {read:?} in the CSV (printed as `{text}`)");
            };
            if exact.is_nan() {
                assert!(read.is_nan(), "{at}: NaN in the report, {read} in the CSV");
            } else if exact.is_infinite() {
                assert_eq!(exact, read, "{at}");
            } else {
                assert!(prints_as(exact, text, printed_unit), "{at}: {exact} is not `{text} {printed_unit}`");
                let again = text.replace(',', "").parse::<f64>().unwrap() * factor(printed_unit);
                assert!(
                    (read - again).abs() <= again.abs() * 1e-12,
                    "{at}: `{text} {printed_unit}` was read as {read}"
                );
            }
        }
    }
    if let Some(metric) = metric {
        assert_eq!(metric.unit(), unit, "{at}: printed as `{printed_unit}`");
    }
}

/// The cells of a metric: under its name, or under one that ncu displays for it.
fn cells<'p>(page: &'p Page, launch: u32, metric: &str) -> Option<&'p (String, String)> {
    let displayed =
        |line: &&'static str| line.rsplit_once('\t').filter(|(_, of)| *of == metric).map(|(label, _)| label);
    let labels = LABELS.lines().filter_map(|line| displayed(&line));
    labels.chain([metric]).find_map(|label| {
        let (label, is_rate) = label.strip_suffix(" [byte/s]").map_or((label, false), |label| (label, true));
        let cells = page.printed.get(&(launch, label.to_owned()))?;
        // Two metrics have this name.
        cells.iter().rfind(|(unit, _)| label != "Memory Throughput" || unit.contains("byte/") == is_rate)
    })
}

fn compare_launch(page: &Page, read: &Launch<'_>, launch: &Launch<'_>, compared: &mut Compared) {
    assert_eq!((read.id(), read.process()), (launch.id(), read.process()));
    let process = |launch: &Launch<'_>| launch.process().map(|process| (process.pid, process.name().to_owned()));
    assert_eq!(process(read), process(launch));
    assert_eq!((read.context(), read.device().unwrap()), (launch.context(), launch.device().unwrap()));
    assert_eq!(read.compute_capability().unwrap(), launch.compute_capability().unwrap());
    if launch.kind() == ResultKind::Kernel {
        // The demangled name is printed simplified.
        let (function, printed) = (launch.kernel_name(), read.demangled_name());
        assert!(function == read.kernel_name() || function.contains(' '), "`{printed}`: {function}");
        assert_eq!((read.stream(), read.grid(), read.block()), (launch.stream(), launch.grid(), launch.block()));
    }
    let ranges = |launch: &Launch<'_>| {
        let ranges = launch.nvtx().unwrap();
        ranges.iter().map(|range| (range.domain.to_string(), range.name.to_string(), range.kind)).collect::<Vec<_>>()
    };
    assert_eq!(ranges(read), ranges(launch));
    let metrics: HashMap<&str, Metric<'_>> = launch.metrics().map(|m| m.unwrap()).map(|m| (m.name, m)).collect();
    compared.launches += 1;
    for metric in read.metrics().map(Result::unwrap) {
        let name = metric.name;
        let at = format!("launch {}, `{name}`", launch.id());
        // Those that were added of the first columns.
        let Some(printed) = cells(page, read.id(), name) else {
            assert!(name.starts_with("device__attribute_compute") || name == "launch__device_id", "{at}");
            continue;
        };
        if name.contains("__") || metrics.contains_key(name) {
            compare_value(&at, metrics.get(name), &metric.value, metric.unit(), printed);
            compared.values += 1;
            compared.numbers += usize::from(metric.value.as_f64().is_some());
        } else {
            // A label of a section: some metric of the launch must have this unit and this printed value.
            let found = metrics.values().any(|known| match (&known.value, &metric.value) {
                (MetricValue::String(known), MetricValue::String(read)) => known == read,
                (known, read) => {
                    let known = known.as_f64().zip(read.as_f64());
                    known.is_some_and(|(known, _)| prints_as(known, &printed.1, &printed.0))
                }
            });
            assert!(found || metric.value.is_missing(), "{at}: no metric is `{} {}`", printed.1, printed.0);
            compared.labels += 1;
        }
    }
}

/// Compares a page with its report.
fn compare(capture: &str, file: &str) -> Compared {
    let page = page(file);
    let report = Report::open(captures::data(&format!("{capture}.ncu-rep.zst"))).unwrap();
    let mut compared = Compared::default();
    assert_eq!(page.report.launches().len(), report.launches().len(), "{file}");
    for (read, launch) in page.report.launches().zip(report.launches()) {
        compare_launch(&page, &read, &launch, &mut compared);
        if !file.contains("details") {
            let printed: HashSet<&str> = read.metrics().map(|metric| metric.unwrap().name).collect();
            for metric in launch.metrics().map(Result::unwrap) {
                // The only metrics that a raw page omits.
                let left_out = metric.name.starts_with("breakdown:") || metric.name.starts_with("group:");
                assert_eq!(printed.contains(metric.name), !left_out, "{file}: `{}`", metric.name);
            }
        }
    }
    println!("{file}: {compared:?}");
    compared
}

#[test]
fn raw_pages_hold_what_the_report_holds() {
    let mut total = 0;
    for capture in CAPTURES {
        for page in ["base", "scaled"] {
            let compared = compare(capture, &format!("pages/{capture}.{page}.csv.zst"));
            assert!(compared.numbers > 200 && compared.labels == 0, "{capture}: {compared:?}");
            total += compared.values;
        }
    }
    let compared = compare("g1200", "g1200.raw.csv.zst");
    assert_eq!(compared.launches, 1200);
    total += compared.values;
    println!("compared with raw pages: {total} values");
    assert!(total > 0, "nothing was compared");
}

#[test]
fn details_pages_hold_what_the_report_holds() {
    let mut total = 0;
    for capture in CAPTURES {
        let compared = compare(capture, &format!("pages/{capture}.details.csv.zst"));
        assert!(compared.values + compared.labels > 0, "{capture}: nothing was compared");
        total += compared.values + compared.labels;
    }
    println!("compared with details pages: {total} values");
}
