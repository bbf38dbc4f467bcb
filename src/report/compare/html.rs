//! A comparison as one self-contained page without a script.

use super::comparison::{Comparison, Pair};
use super::terminal::judged;
use crate::model::Verdict;
use crate::report::RenderError;
use crate::report::html::{hash, style};
use crate::report::markdown::word;
use crate::report::number;
use minijinja::Environment;
use minijinja::syntax::SyntaxConfig;
use minijinja::value::Serde;
use serde_json::{Value, json};

const PAGE: &str = include_str!("../../../templates/compare.html");
/// Pairs whose metrics are on the page.
const DETAILED: usize = 200;
/// Metrics of a pair on the page.
const METRICS: usize = 400;

/// The page.
pub fn html(comparison: &Comparison) -> Result<String, RenderError> {
    let mut env = Environment::new();
    env.set_syntax(SyntaxConfig::builder().trim_blocks(true).lstrip_blocks(true).build()?);
    env.add_template("compare.html", PAGE)?;
    let style = style();
    let timed: Vec<Value> = comparison.pairs.iter().filter_map(latency).collect();
    let details: Vec<Value> = comparison.pairs.iter().take(DETAILED).map(detail).collect();
    let gates: Vec<Value> = comparison
        .gates
        .iter()
        .map(|g| json!({ "name": g.name, "a": side(&g.a), "b": side(&g.b), "turned": g.turned }))
        .collect();
    let page = json!({
        "comparison": comparison_head(comparison),
        "gates": gates,
        "timed": timed,
        "details": details,
        "left_out": comparison.pairs.len().saturating_sub(DETAILED),
        "style_hash": hash(&style),
        "style": style,
    });
    Ok(env.get_template("compare.html")?.render(Serde(page))?)
}

fn comparison_head(comparison: &Comparison) -> Value {
    json!({
        "a": comparison.a,
        "b": comparison.b,
        "sentence": comparison.sentence,
        "notes": comparison.notes,
        "only_a": comparison.only_a,
        "only_b": comparison.only_b,
    })
}

/// Verdict and measured value, where the side has the gate.
fn side(gate: &Option<(Verdict, Option<String>)>) -> Option<(&'static str, &Option<String>)> {
    gate.as_ref().map(|(verdict, measured)| (word(*verdict), measured))
}

fn latency(pair: &Pair) -> Option<Value> {
    let l = pair.latency?;
    Some(json!({
        "name": pair.name,
        "a": number::plain(l.a),
        "b": number::plain(l.b),
        "change": number::change(l.ratio),
        "interval": format!("{} to {}", number::change(l.low), number::change(l.high)),
        "samples": format!("{} and {} samples", l.samples.0, l.samples.1),
        "word": l.word(),
        "turned": pair.turned.map(|(a, b)| format!("{}, then {}", word(a), word(b))),
    }))
}

fn detail(pair: &Pair) -> Value {
    let rows: Vec<Value> = pair
        .rows
        .iter()
        .take(METRICS)
        .map(|row| json!([row.title, row.unit, number::plain(row.a), number::plain(row.b), row.change, judged(row)]))
        .collect();
    json!({ "name": pair.name, "rows": rows, "more": pair.rows.len().saturating_sub(METRICS) })
}
