//! A comparison as one self-contained page without a script.

use super::comparison::{ComparedPair, RunComparison};
use crate::error::RenderError;
use crate::{number, page};
use ncugate_model::Verdict;
use serde_json::{Value, json};

/// Most pairs with metrics on the page.
const DETAILED: usize = 200;
/// Most metrics of a pair on the page.
const METRICS: usize = 400;

pub fn html(comparison: &RunComparison) -> Result<String, RenderError> {
    let timed: Vec<Value> = comparison.pairs.iter().filter_map(latency).collect();
    let details: Vec<Value> = comparison.pairs.iter().take(DETAILED).map(detail).collect();
    let gates: Vec<Value> = comparison
        .gates
        .iter()
        .map(|g| json!({ "name": g.name, "a": side(&g.a), "b": side(&g.b), "turned": g.turned }))
        .collect();
    let context = json!({
        "comparison": comparison_head(comparison),
        "gates": gates,
        "timed": timed,
        "details": details,
        "left_out": comparison.pairs.len().saturating_sub(DETAILED),
    });
    page::render("compare.html", context, None)
}

fn comparison_head(comparison: &RunComparison) -> Value {
    json!({
        "a": comparison.a,
        "b": comparison.b,
        "sentence": comparison.sentence,
        "notes": comparison.notes,
        "only_a": comparison.only_a,
        "only_b": comparison.only_b,
    })
}

/// Verdict and measured value, if the side has the gate.
fn side(gate: &Option<(Verdict, Option<String>)>) -> Option<(Verdict, &Option<String>)> {
    gate.as_ref().map(|(verdict, measured)| (*verdict, measured))
}

fn latency(pair: &ComparedPair) -> Option<Value> {
    let l = pair.latency?;
    Some(json!({
        "name": pair.name,
        "a": number::plain(l.before),
        "b": number::plain(l.after),
        "change": number::change(l.ratio),
        "interval": l.interval.text(),
        "samples": format!("{} and {} samples", l.samples.0, l.samples.1),
        "word": l.word(),
        "turned": pair.turned.map(|(a, b)| format!("{a}, then {b}")),
    }))
}

fn detail(pair: &ComparedPair) -> Value {
    let rows: Vec<Value> = pair
        .rows
        .iter()
        .take(METRICS)
        .map(|row| {
            json!([row.title, number::unit(&row.unit), row.before.text, row.after.text, row.change, row.judged,])
        })
        .collect();
    json!({ "name": pair.name, "note": pair.note, "rows": rows, "more": pair.rows.len().saturating_sub(METRICS) })
}
