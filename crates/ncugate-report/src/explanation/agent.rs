//! An explanation for a program that reads few tokens: one JSON object under 2 KB.

use super::Explanation;
use crate::text;
use ncu_explain::{FindingLine, FindingRow};
use serde_json::{Map, Value, json};

/// Most bytes of a brief.
pub const MOST_BYTES: usize = 2_000;
/// Most other findings in a brief.
const INSIGHTS: usize = 4;
/// Most gates in a brief.
const GATES: usize = 3;
/// Most missing counters in a brief.
const COUNTERS: usize = 12;
/// Entries of a brief that are there without a value too.
const ALWAYS: [&str; 4] = ["bottleneck", "bests", "evidence", "insights"];
/// Longest text in a brief, in characters.
const LONGEST: usize = 220;

/// The brief: task context, historical bests, the bottleneck with its evidence, the next experiment, other insights.
/// The least important parts are left out until the rest fits in 2,000 bytes.
pub fn brief(explanation: &Explanation) -> String {
    let mut brief = whole(explanation);
    let mut written = brief.to_string();
    for key in [
        "insights",
        "elsewhere",
        "not_asked.counters",
        "bests",
        "task.open_gates",
        "task.params",
        "task.space",
        "bottleneck.lines",
        "bottleneck.evidence",
        "bottleneck.measured",
        "task.kernel",
        "task.dims",
    ] {
        while written.len() > MOST_BYTES && shorten(&mut brief, key) {
            written = brief.to_string();
        }
    }
    written
}

/// Removes the last entry of a list or table, and the key if it is then empty; false if nothing is left to remove.
fn shorten(brief: &mut Value, key: &str) -> bool {
    let (table, key) = match key.split_once('.') {
        Some((table, key)) => (brief.get_mut(table), key),
        None => (Some(brief), key),
    };
    let Some(table) = table.and_then(Value::as_object_mut) else { return false };
    match table.get_mut(key) {
        Some(Value::Array(list)) if list.len() > 1 => list.pop().is_some(),
        Some(Value::Object(entries)) if entries.len() > 1 => {
            let last = entries.keys().next_back().cloned();
            last.is_some_and(|last| entries.remove(&last).is_some())
        }
        Some(_) => table.remove(key).is_some(),
        None => false,
    }
}

fn whole(explanation: &Explanation) -> Value {
    let clip = |words: &str| text::clip(words, LONGEST);
    let task = &explanation.task;
    let gates: Vec<String> = task.open_gates.iter().take(GATES).map(|gate| clip(gate)).collect();
    let context = json!({
        "phase": clip(&task.phase),
        "objective": task.objective.as_deref().map(clip),
        "kernel": task.kernel.as_deref().map(clip),
        "dims": task.dims,
        "params": task.params,
        "space": task.space,
        "open_gates": gates,
    });
    let not_asked = explanation.not_asked.as_ref().map(|lacks| {
        // A truncated command does not run.
        let counters = lacks.metrics.iter().take(COUNTERS).collect::<Vec<_>>();
        json!({ "rules": lacks.rules, "of": lacks.of, "command": lacks.command, "counters": counters })
    });
    let elsewhere = explanation.elsewhere.iter().filter_map(|other| {
        Some(format!("{}: {}: {}", clip(&other.shape), clip(&other.variant), other.cause.as_ref()?))
    });
    let is_command = explanation.bottleneck.is_none();
    let next = explanation.next_experiment.as_deref();
    let bests = explanation
        .bests
        .iter()
        .map(|best| json!({ "variant": clip(&best.variant), "us": rounded(best.microseconds) }));
    let insights = explanation.insights.iter().filter(|row| row.symptom_of.is_none()).take(INSIGHTS);
    let insights = insights.map(|row| json!({ "id": clip(&row.id), "says": clip(&row.sentence) }));
    let brief = json!({
        "task": filled(context),
        "variant": clip(&explanation.variant),
        "shape": clip(&explanation.shape),
        "us": explanation.microseconds.map(rounded),
        "busiest": explanation.busiest,
        "bottleneck": explanation.bottleneck.as_ref().map(bottleneck),
        "outcome": explanation.outcome,
        "not_asked": not_asked,
        "elsewhere": elsewhere.collect::<Vec<_>>(),
        "next_experiment": next.map(|next| if is_command { next.to_owned() } else { clip(next) }),
        "bests": bests.collect::<Vec<_>>(),
        "insights": insights.collect::<Vec<_>>(),
    });
    filled(brief)
}

fn bottleneck(row: &FindingRow) -> Value {
    let clip = |words: &str| text::clip(words, LONGEST);
    let evidence: Map<String, Value> =
        row.evidence.iter().map(|value| (clip(&value.name), json!(rounded(value.value)))).collect();
    let saving = row.saving.as_ref();
    let copy = saving.and_then(|saving| saving.ablation.as_ref()).map(|gain| {
        let interval = gain.interval.map(rounded);
        json!({ "edit": clip(&gain.edit), "saves_pct": rounded(gain.percent), "interval": interval, "changed": gain.changed, "left": gain.left })
    });
    let pair = saving.and_then(|saving| saving.pair.as_ref()).map(|pair| {
        json!({ "variant": clip(&pair.variant.0), "differs_in": clip(&pair.differs_in), "saves_pct": rounded(pair.percent) })
    });
    let line = |line: &FindingLine| {
        let awaited = line.awaited.as_ref().map_or_else(String::new, |awaited| format!(" ({})", awaited.words));
        format!("{} {}{}", line.place, line.source.as_deref().unwrap_or_default(), clip(&awaited))
    };
    filled(json!({
        "id": clip(&row.id),
        "cause": clip(&row.title),
        "says": clip(&row.sentence),
        "confidence": row.confidence,
        "saves_at_most_pct": saving.map(|saving| rounded(saving.percent)),
        "measured": copy.or(pair),
        "evidence": evidence,
        "launch": row.launch.as_deref().map(clip),
        "lines": row.lines.iter().map(line).collect::<Vec<_>>(),
    }))
}

/// A table without the entries that have nothing to say; some are there for every reader.
fn filled(mut table: Value) -> Value {
    let is_empty = |value: &Value| match value {
        Value::Array(list) => list.is_empty(),
        Value::Object(entries) => entries.is_empty(),
        other => other.is_null(),
    };
    if let Some(entries) = table.as_object_mut() {
        entries.retain(|key, value| ALWAYS.contains(&key.as_str()) || !is_empty(value));
    }
    table
}

/// Four significant digits, enough for the reader of a brief.
fn rounded(value: f64) -> f64 {
    if value == 0.0 || !value.is_finite() {
        return 0.0;
    }
    let scale = 10f64.powi(3 - value.abs().log10().floor() as i32);
    (value * scale).round() / scale
}
