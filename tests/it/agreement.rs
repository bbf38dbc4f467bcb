//! One value of a metric wherever a user reads it: gates, tables, comparisons and pages of the same report.

use crate::command::{Place, root};
use ncugate_model::metric::Catalogue;
use serde_json::Value;
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// Of full sets and of few metrics, with one launch of a kernel or several.
const REPORTS: [&str; 10] =
    ["cluster", "deep", "defects", "full1", "further", "g12", "graph_nodes", "processes", "source", "torch_nvtx"];

fn json(place: &Place, args: &[&str]) -> Value {
    let finished = place.run(args);
    serde_json::from_str(&finished.stdout).unwrap_or_else(|error| panic!("{args:?}: {error}: {finished:?}"))
}

/// Catalogue metrics that `compare` shows of each kernel.
fn compared(place: &Place, report: &str) -> BTreeMap<String, BTreeMap<String, f64>> {
    let compared = json(place, &["compare", report, report, "--format", "json"]);
    let number = |row: &Value| Some((row["metric"].as_str()?.to_owned(), row["selected"].as_f64()?));
    let pair = |pair: &Value| {
        let rows = pair["rows"].as_array().unwrap().iter().filter_map(number);
        (
            pair["name"].as_str().unwrap().to_owned(),
            rows.filter(|(name, _)| Catalogue::embedded().get(name).is_some()).collect(),
        )
    };
    compared["pairs"].as_array().unwrap().iter().map(pair).collect()
}

/// The values of each launch in a gate's table.
fn gated(place: &Place, report: &str, launches: usize, metrics: &[&String]) -> Vec<Value> {
    let mut phase = "[phase]\nname = \"agreement\"\n".to_owned();
    for launch in 0..launches {
        write!(phase, "[[variant]]\nname = \"of_{launch}\"\nmatch = {{ launch = {launch} }}\n").unwrap();
    }
    for metric in metrics {
        write!(phase, "[[gate]]\nrequire = \"{metric} <= 33\"\n").unwrap();
    }
    place.write("phase.toml", &phase);
    let judged = json(place, &["gate", "phase.toml", report, "--format", "json"]);
    let variant = |launch| {
        let all = judged["variants"].as_array().unwrap();
        let variant = all.iter().find(|variant| variant["id"] == format!("of_{launch}")).unwrap();
        let at = variant["shapes"].as_object().unwrap().values().next().unwrap();
        let mut values = at["values"].clone();
        // A gate does not believe a share of more than 100 %, which others show.
        for (metric, reason) in at["missing"].as_object().into_iter().flatten() {
            if reason.as_str().is_some_and(|reason| reason.contains("is outside 0 to 100")) {
                values[metric] = Value::from("doubted");
            }
        }
        values
    };
    (0..launches).map(variant).collect()
}

#[test]
fn gate_show_compare_and_page_agree_on_every_metric() {
    let (mut seen, usual) = (0, ["duration", "registers", "achieved_occupancy", "waves"].map(str::to_owned));
    for name in REPORTS {
        let place = Place::new();
        let report = root().join(format!("tests/data/{name}.ncu-rep.zst")).display().to_string();
        let kernels = compared(&place, &report);
        let mut metrics: Vec<&String> = kernels.values().flat_map(BTreeMap::keys).collect();
        metrics.extend(&usual);
        metrics.sort_unstable();
        metrics.dedup();
        let mut args = vec!["show", report.as_str(), "--format", "json"];
        metrics.iter().for_each(|metric| args.extend(["--metric", metric]));
        let shown = json(&place, &args);
        let shown = shown.as_array().unwrap();
        let gated = gated(&place, &report, shown.len(), &metrics);
        let page = place.run(&["page", &report, "--output", "-"]).stdout;
        for (of_gate, of_show) in gated.iter().zip(shown) {
            for metric in metrics.iter().filter(|metric| of_gate[metric.as_str()] != "doubted") {
                assert_eq!(of_gate[metric].as_f64(), of_show[metric].as_f64(), "{name}: {metric}");
            }
        }
        // Of several launches, `compare` shows medians.
        for (kernel, values) in kernels.iter().filter(|_| kernels.len() == shown.len()) {
            let is_of = |of_gate: &&Value| of_gate["duration"].as_f64() == values.get("duration").copied();
            let of_gate = gated.iter().find(is_of).unwrap_or_else(|| panic!("{name}: duration of {kernel}"));
            for (metric, value) in values.iter().filter(|(metric, _)| of_gate[metric.as_str()] != "doubted") {
                assert_eq!(of_gate[metric].as_f64(), Some(*value), "{name}: {metric} of {kernel}");
                seen += 1;
            }
            let duration = values["duration"];
            assert!(page.contains(&format!("data-value=\"{duration:?}\"")), "{name}: {duration} of {kernel}");
        }
    }
    assert!(seen > 1000, "{seen} values");
}
