//! Numbers on the page, traced: cells of the table of variants, picked at random, are in `results.json`, and what ncu
//! counted is in the recording's report as NVIDIA's own reader shows it.

use crate::captures;
use crate::command::{Place, root};
use ncugate::frame::Cell;
use ncugate::metric::{Catalogue, Source};
use serde_json::Value;
use std::collections::HashMap;
use std::path::Path;

/// Cells picked.
const CELLS: usize = 400;
/// Cells of counters looked up in the recording's report.
const COUNTED: usize = 200;

/// A linear congruential generator (Knuth's MMIX constants): the same cells every time.
struct Dice(u64);

impl Dice {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) as usize) % n
    }
}

/// The page's data and the results, both rendered from the recording by the binary.
struct Rendered {
    page: Value,
    results: Value,
}

impl Rendered {
    fn new() -> Self {
        let place = Place::new();
        let recording = root().join("profiles/phase_d/h200");
        let finished = place.run(&["report", recording.to_str().unwrap(), "--reports", "reports"]);
        assert!(matches!(finished.status, Some(0 | 1 | 4)), "{finished:?}");
        let phase = place.path().join("reports/phase_d");
        let run = std::fs::read_dir(phase).unwrap().next().unwrap().unwrap().path();
        let page = std::fs::read_to_string(run.join("report.html")).unwrap();
        let (_, rest) = page.split_once(r#"<script type="application/json" id="data">"#).unwrap();
        let (data, _) = rest.split_once("</script>").unwrap();
        let results = std::fs::read_to_string(run.join("results.json")).unwrap();
        Self { page: serde_json::from_str(data).unwrap(), results: serde_json::from_str(&results).unwrap() }
    }

    fn result(&self, variant: &str) -> &Value {
        self.results["variants"].as_array().unwrap().iter().find(|v| v["id"] == variant).unwrap()
    }

    /// Variant, shape, metric and cell of the page, picked by the dice.
    fn pick<'a>(&'a self, dice: &mut Dice) -> (&'a str, &'a str, &'a str, &'a Value) {
        let at = |list: &'a Value, n: usize| list.get(n).unwrap();
        let variants = self.page["variants"].as_array().unwrap();
        let variant = &variants[dice.below(variants.len())];
        let shape = dice.below(self.page["shapes"].as_array().unwrap().len());
        let metric = dice.below(self.page["metrics"].as_array().unwrap().len());
        (
            variant["id"].as_str().unwrap(),
            at(&self.page["shapes"], shape).as_str().unwrap(),
            self.page["metrics"][metric]["name"].as_str().unwrap(),
            &variant["values"][shape][metric],
        )
    }
}

/// The number of a cell: itself, or the first of number and text; none where the cell is a reason.
fn number(cell: &Value) -> Option<f64> {
    cell.as_f64().or_else(|| cell.get(0).and_then(Value::as_f64))
}

#[test]
fn cells_of_the_page_are_in_the_results() {
    let rendered = Rendered::new();
    let mut dice = Dice(1);
    let (mut numbers, mut reasons) = (0, 0);
    for _ in 0..CELLS {
        let (variant, shape, metric, cell) = rendered.pick(&mut dice);
        let measured = &rendered.result(variant)["shapes"][shape];
        let at = format!("{metric} of {variant} at {shape}");
        match number(cell) {
            Some(value) => {
                assert_eq!(Some(value), measured["values"][metric].as_f64(), "{at}");
                if let Some(text) = cell.get(1).and_then(Value::as_str) {
                    assert_eq!(text, ncugate::report::number::plain(value), "{at}");
                }
                numbers += 1;
            }
            None => {
                assert_eq!(cell, &measured["missing"][metric], "{at}");
                reasons += 1;
            }
        }
    }
    println!("traced {numbers} numbers and {reasons} reasons");
    assert!(numbers > CELLS / 2, "{numbers} of {CELLS} cells have a number");
}

/// Counters of every profiled case by ncu name, as NVIDIA's reader shows them; the first launch of a case counts.
fn counters(python: &str, report: &Path) -> HashMap<String, HashMap<String, f64>> {
    let plain = zstd::stream::decode_all(std::fs::File::open(report).unwrap()).unwrap();
    let mut cases: HashMap<String, HashMap<String, f64>> = HashMap::new();
    let mut case = None;
    for row in captures::dump(python, &plain, 0) {
        if let Some(ranges) = row.get("nvtx") {
            let names = ranges.as_array().unwrap().iter().filter_map(|range| range[1].as_str());
            let name = names.map(|n| n.trim_end_matches('\0').to_owned()).find(|n| n.contains('@'));
            case = name.filter(|name| !cases.contains_key(name));
            continue;
        }
        let (Some(case), Some(value)) = (&case, decoded(&row["value"])) else { continue };
        cases.entry(case.clone()).or_default().insert(row["name"].as_str().unwrap().to_owned(), value);
    }
    cases
}

/// A number that `dump.py` wrote.
fn decoded(value: &Value) -> Option<f64> {
    let text = value[1].as_str()?;
    match value[0].as_str()? {
        "double" => Some(f64::from_bits(u64::from_str_radix(text, 16).unwrap())),
        "float" => Some(f64::from(f32::from_bits(u32::from_str_radix(text, 16).unwrap()))),
        "u32" | "u64" => Some(text.parse::<u64>().unwrap() as f64),
        _ => None,
    }
}

#[test]
fn counters_on_the_page_are_those_that_ncu_report_shows() {
    let Some(python) = captures::oracle() else { return };
    let rendered = Rendered::new();
    let reports = root().join("profiles/phase_d/h200/reports");
    let mut cases = HashMap::new();
    for report in std::fs::read_dir(reports).unwrap() {
        for (case, values) in counters(&python, &report.unwrap().path()) {
            let known: &mut HashMap<String, f64> = cases.entry(case).or_default();
            for (name, value) in values {
                known.entry(name).or_insert(value);
            }
        }
    }
    let catalogue = Catalogue::embedded();
    let (mut dice, mut traced) = (Dice(2), 0);
    for _ in 0..CELLS * 20 {
        let (variant, shape, metric, cell) = rendered.pick(&mut dice);
        let Some(value) = number(cell).filter(|_| catalogue.source(metric) == Some(Source::Ncu)) else { continue };
        let measured_as = rendered.result(variant)["shares"].as_str().unwrap_or(variant);
        let counted = &cases[&format!("{measured_as}@{shape}")];
        let definition = catalogue.definition(metric, (9, 0)).unwrap();
        let expected = definition.evaluate(&|name| counted.get(name).copied());
        let Cell::Value(expected) = expected else { panic!("{metric} of {variant} at {shape}: {expected:?}") };
        // serde_json may read a number one place off in its last binary digit.
        let off = (expected - value).abs();
        assert!(off <= value.abs() * f64::EPSILON, "{metric} of {variant} at {shape}: {expected} against {value}");
        traced += 1;
        if traced == COUNTED {
            break;
        }
    }
    println!("traced {traced} counters to ncu_report");
    assert_eq!(traced, COUNTED, "too few counters were traced");
}
