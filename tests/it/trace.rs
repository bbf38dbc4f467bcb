//! Traces numbers of the page: random cells of the table of variants are in `results.json`, and ncu's counters are in
//! the recording's report as NVIDIA's own reader shows them.

use crate::captures;
use crate::command::{Place, root};
use ncugate_model::Cell;
use ncugate_model::metric::{Catalogue, MetricSource};
use ncugate_model::number;
use serde_json::Value;
use std::collections::HashMap;
use std::path::Path;

/// Number of picked cells.
const CELLS: usize = 400;
/// Number of counter cells looked up in the recording's report.
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
    html: String,
    results: Value,
}

impl Rendered {
    fn new() -> Self {
        let place = Place::new();
        let recording = root().join("profiles/phase_d/h200");
        let finished = place.run(&["page", recording.to_str().unwrap(), "--reports", "reports"]);
        assert!(matches!(finished.status, Some(0 | 1 | 4)), "{finished:?}");
        let phase = place.path().join("reports/phase_d");
        let run = std::fs::read_dir(phase).unwrap().next().unwrap().unwrap().path();
        let page = std::fs::read_to_string(run.join("report.html")).unwrap();
        let (_, rest) = page.split_once(r#"<script type="application/json" id="data">"#).unwrap();
        let (data, _) = rest.split_once("</script>").unwrap();
        let results = std::fs::read_to_string(run.join("results.json")).unwrap();
        Self {
            page: serde_json::from_str(data).unwrap(),
            results: serde_json::from_str(&results).unwrap(),
            html: page.clone(),
        }
    }

    fn result(&self, variant: &str) -> &Value {
        self.results["variants"].as_array().unwrap().iter().find(|v| v["id"] == variant).unwrap()
    }

    /// Rows of the tables whose region has this label: the head first, then cells as text.
    fn tables(&self, label: &str) -> Vec<Vec<Vec<String>>> {
        let label = format!("aria-label=\"{label}\"");
        let starts = self.html.match_indices(label.as_str()).map(|(at, _)| &self.html[at..]);
        starts.filter_map(|rest| Some(rows(rest.split_once("<table")?.1.split_once("</table>")?.0))).collect()
    }

    /// Sort key of a cell, its text, and the reason if it has no value.
    fn cell(&self, shape: usize, metric: usize, row: usize) -> (Option<f64>, String, &Value) {
        let column = &self.page["values"][shape][metric];
        let same = column.get("same");
        let value = same.map_or(&column["values"][row], |same| &same[0]).as_f64();
        let texts = same.map_or(&column["texts"], |same| &same[1]).as_str().unwrap();
        let text = if same.is_some() { texts } else { texts.split('|').nth(row).unwrap() };
        let place = same.map_or(&column["why"][row.to_string()], |same| &same[2]).as_u64();
        let reason = place.map_or(&Value::Null, |place| &self.page["pool"][place as usize]);
        // Whole numbers below a thousand are printed exactly.
        let text = match value.filter(|_| text.is_empty()) {
            Some(whole) => whole.to_string(),
            None => text.to_owned(),
        };
        (value, text, reason)
    }

    /// A variant, shape, metric and cell of the page, picked by the dice.
    fn pick<'a>(&'a self, dice: &mut Dice) -> (&'a str, &'a str, &'a str, (Option<f64>, String, &'a Value)) {
        let at = |list: &'a Value, n: usize| list.get(n).unwrap();
        let variants = self.page["variants"].as_array().unwrap();
        let row = dice.below(variants.len());
        let variant = &variants[row];
        let shape = dice.below(self.page["shapes"].as_array().unwrap().len());
        let metric = dice.below(self.page["metrics"].as_array().unwrap().len());
        (
            variant["id"].as_str().unwrap(),
            at(&self.page["shapes"], shape).as_str().unwrap(),
            self.page["metrics"][metric]["name"].as_str().unwrap(),
            self.cell(shape, metric, row),
        )
    }
}

/// Rows of a table's markup.
fn rows(table: &str) -> Vec<Vec<String>> {
    let cells = |row: &str| {
        let starts = row.replace("<th", "<td");
        starts.split("<td").skip(1).map(|cell| text(cell.split_once('>').unwrap().1)).collect()
    };
    table.split("<tr").skip(1).map(cells).collect()
}

/// Markup without tags, on one line.
fn text(markup: &str) -> String {
    let spaced = markup.replace("<br>", " ");
    let plain: String = spaced.split('<').enumerate().fold(String::new(), |mut out, (at, part)| {
        out.push_str(if at == 0 { part } else { part.split_once('>').map_or("", |(_, rest)| rest) });
        out
    });
    let entities = [("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&#x27;", "'"), ("&#x2f;", "/"), ("&amp;", "&")];
    let plain = entities.into_iter().fold(plain, |text, (entity, letter)| text.replace(entity, letter));
    plain.split_whitespace().collect::<Vec<_>>().join(" ")
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
        match cell {
            (Some(value), text, _) => {
                let exact = measured["values"][metric].as_f64().unwrap();
                assert_eq!(text, number::plain(exact), "{at}");
                assert!((value - exact).abs() <= 1e-5 * exact.abs(), "{at}: {value} for {exact}");
                numbers += 1;
            }
            (None, _, reason) => {
                assert_eq!(reason, &measured["missing"][metric], "{at}");
                reasons += 1;
            }
        }
    }
    println!("traced {numbers} numbers and {reasons} reasons");
    assert!(numbers > CELLS / 2, "{numbers} of {CELLS} cells have a number");
}

/// Compares the rows of a table of gates with the gates of the results; returns the number of compared values.
fn gates_are(rows: &[Vec<String>], gates: &Value) -> usize {
    let gates = gates.as_array().unwrap();
    assert_eq!(rows.len(), gates.len() + 1, "a row a gate below the heads");
    let mut compared = 0;
    for (row, gate) in rows.iter().skip(1).zip(gates) {
        let (name, unit) = (gate["name"].as_str().unwrap(), gate["unit"].as_str().unwrap());
        assert!(row[0].contains(gate["verdict"].as_str().unwrap()) && row[1].starts_with(name), "{row:?} {gate}");
        for (at, key) in [(3, "measured"), (4, "limit"), (5, "margin")] {
            let Some(value) = gate[key].as_f64() else { continue };
            let written = match (key, gate["limit"].as_f64()) {
                ("margin", _) => number::distance(value, unit),
                ("measured", Some(limit)) => number::measured_and_limit(value, limit, unit).0,
                _ => number::with_unit(value, unit),
            };
            let shown = row[at].split(" µs ").next().unwrap();
            assert!(row[at].starts_with(&written) || shown == written, "{key} of {name}: {} for {written}", row[at]);
            compared += 1;
        }
    }
    compared
}

#[test]
fn gates_tiers_and_deltas_of_the_page_are_in_the_results() {
    let rendered = Rendered::new();
    let mut compared = gates_are(&rendered.tables("Gates of the phase")[0], &rendered.results["gates"]);
    for tier in rendered.results["tiers"].as_array().unwrap() {
        let label = format!("Gates of tier {}", tier["name"].as_str().unwrap());
        compared += gates_are(&rendered.tables(&label)[0], &tier["gates"]);
    }
    assert!(compared >= 40, "{compared} numbers of gates");
    let titles = &rendered.results["metrics"];
    let mut deltas = 0;
    for delta in rendered.results["deltas"].as_array().unwrap() {
        let against = delta["against"].as_str().unwrap();
        let rows = rendered.tables(&format!("Against {against}"));
        for (metric, both) in delta["metrics"].as_object().unwrap() {
            let title = titles[metric]["title"].as_str().unwrap();
            let Some(row) = rows[0].iter().find(|row| row[0].starts_with(title)) else { continue };
            assert_eq!(row[1], number::plain(both["selected"].as_f64().unwrap()), "{metric} against {against}");
            assert_eq!(row[2], number::plain(both["other"].as_f64().unwrap()), "{metric} against {against}");
            assert!(row[3].starts_with(both["change"].as_str().unwrap()), "{metric} against {against}");
            deltas += 1;
        }
    }
    assert!(deltas >= 10, "{deltas} rows of deltas");
    println!("traced {compared} numbers of gates and {deltas} rows of deltas");
}

#[test]
fn the_numbers_behind_the_charts_are_in_the_results() {
    let rendered = Rendered::new();
    let metrics = rendered.results["metrics"].as_object().unwrap();
    // a head can have the unit behind the title
    let title = |head: &str| head.rsplit_once(" (").map_or(head, |(title, _)| title).to_owned();
    let named = |head: &str| metrics.iter().find(|(_, m)| m["title"] == title(head)).map(|(name, _)| name.as_str());
    let (mut charts, mut cells) = (0, 0);
    let labels = rendered.html.split("aria-label=\"Numbers: ").skip(1).map(|rest| rest.split('"').next().unwrap());
    for label in labels {
        let table = &rendered.tables(&format!("Numbers: {label}"))[0];
        let heads = &table[0];
        let columns: Vec<(usize, &str)> =
            heads.iter().enumerate().filter_map(|(at, h)| Some((at, named(h)?))).collect();
        let (Some(variant), false) = (heads.iter().position(|h| h == "variant"), columns.is_empty()) else { continue };
        charts += 1;
        for row in table.iter().skip(1) {
            for (at, metric) in &columns {
                let value = &rendered.result(&row[variant])["shapes"]["mission"]["values"][metric];
                assert_eq!(row[*at], number::plain(value.as_f64().unwrap()), "{metric} of {} in {label}", row[variant]);
                cells += 1;
            }
        }
    }
    println!("traced {cells} cells of {charts} charts");
    assert!(charts >= 2 && cells >= 500, "{cells} cells of {charts} charts");
}

/// Counters of every profiled case by ncu name, as NVIDIA's reader shows them. The first launch of a case counts.
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

/// A number written by `dump.py`.
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
    let reports = std::fs::read_dir(reports).unwrap().map(|report| report.unwrap());
    // Deep profiles are other launches of the same cases.
    for report in reports.filter(|report| !report.file_name().to_string_lossy().starts_with("deep")) {
        for (case, values) in counters(&python, &report.path()) {
            let known: &mut HashMap<String, f64> = cases.entry(case).or_default();
            for (name, value) in values {
                known.entry(name).or_insert(value);
            }
        }
    }
    let catalogue = Catalogue::embedded();
    let (mut dice, mut traced, mut judged) = (Dice(2), 0, 0);
    for _ in 0..CELLS * 20 {
        let (variant, shape, metric, (_, text, _)) = rendered.pick(&mut dice);
        let exact = rendered.result(variant)["shapes"][shape]["values"][metric].as_f64();
        let Some(value) = exact.filter(|_| catalogue.source(metric) == Some(MetricSource::Ncu)) else { continue };
        // A library may have several launches, whose counters are combined.
        if rendered.result(variant)["standing"] == "baseline" {
            continue;
        }
        let measured_as = rendered.result(variant)["shares"].as_str().unwrap_or(variant);
        let counted = &cases[&format!("{measured_as}@{shape}")];
        let definition = catalogue.definition(metric, Some((9, 0).into())).unwrap();
        let expected = definition.evaluate(&|name| counted.get(name).copied());
        let Cell::Value(expected) = expected else { panic!("{metric} of {variant} at {shape}: {expected:?}") };
        // serde_json may be off in the last binary digit.
        let off = (expected - value).abs();
        assert!(off <= value.abs() * f64::EPSILON, "{metric} of {variant} at {shape}: {expected} against {value}");
        assert_eq!(text, number::plain(value), "{metric} of {variant} at {shape}");
        traced += 1;
        if traced == COUNTED {
            break;
        }
    }
    for gate in rendered.results["gates"].as_array().unwrap() {
        let (Some(metric), Some(value)) = (gate["metric"].as_str(), gate["measured"].as_f64()) else { continue };
        if catalogue.source(metric) != Some(MetricSource::Ncu) {
            continue;
        }
        let (variant, shape) = (gate["variant"].as_str().unwrap(), gate["shape"].as_str().unwrap());
        let measured_as = rendered.result(variant)["shares"].as_str().unwrap_or(variant);
        let counted = &cases[&format!("{measured_as}@{shape}")];
        let expected =
            catalogue.definition(metric, Some((9, 0).into())).unwrap().evaluate(&|name| counted.get(name).copied());
        let Cell::Value(expected) = expected else { panic!("gate on {metric}: {expected:?}") };
        assert!((expected - value).abs() <= value.abs() * f64::EPSILON, "gate on {metric}: {expected} against {value}");
        judged += 1;
    }
    assert!(judged >= 3, "{judged} gates on counters were traced");
    println!("traced {traced} counters and {judged} gates to ncu_report");
    assert_eq!(traced, COUNTED, "too few counters were traced");
}
