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
    let mut context = Map::new();
    context.insert("phase".into(), json!(clip(&task.phase)));
    insert(&mut context, "objective", task.objective.as_deref().map(clip));
    insert(&mut context, "kernel", task.kernel.as_deref().map(clip));
    if !task.dims.is_empty() {
        context.insert("dims".into(), json!(task.dims));
    }
    if !task.params.is_empty() {
        context.insert("params".into(), json!(task.params));
    }
    if !task.space.is_empty() {
        context.insert("space".into(), json!(task.space));
    }
    let gates: Vec<String> = task.open_gates.iter().take(GATES).map(|gate| clip(gate)).collect();
    if !gates.is_empty() {
        context.insert("open_gates".into(), json!(gates));
    }
    let mut brief = Map::new();
    brief.insert("task".into(), Value::Object(context));
    brief.insert("variant".into(), json!(clip(&explanation.variant)));
    brief.insert("shape".into(), json!(clip(&explanation.shape)));
    insert(&mut brief, "us", explanation.microseconds.map(rounded));
    insert(&mut brief, "busiest", explanation.busiest.as_deref());
    brief.insert("bottleneck".into(), explanation.bottleneck.as_ref().map_or(Value::Null, bottleneck));
    brief.insert("outcome".into(), json!(explanation.outcome));
    if let Some(lacks) = &explanation.not_asked {
        // A truncated command does not run.
        let counters = lacks.metrics.iter().take(COUNTERS).collect::<Vec<_>>();
        let not_asked = json!({ "rules": lacks.rules, "of": lacks.of, "command": lacks.command, "counters": counters });
        brief.insert("not_asked".into(), not_asked);
    }
    let elsewhere: Vec<String> = explanation
        .elsewhere
        .iter()
        .filter_map(|other| {
            Some(format!("{}: {}: {}", clip(&other.shape), clip(&other.variant), other.cause.as_ref()?))
        })
        .collect();
    if !elsewhere.is_empty() {
        brief.insert("elsewhere".into(), json!(elsewhere));
    }
    let next = explanation.next_experiment.as_deref();
    let is_command = explanation.bottleneck.is_none();
    insert(&mut brief, "next_experiment", next.map(|next| if is_command { next.to_owned() } else { clip(next) }));
    let bests: Vec<Value> = explanation
        .bests
        .iter()
        .map(|best| json!({ "variant": clip(&best.variant), "us": rounded(best.microseconds) }))
        .collect();
    brief.insert("bests".into(), json!(bests));
    let insights = explanation.insights.iter().filter(|row| row.symptom_of.is_none()).take(INSIGHTS);
    let insights: Vec<Value> =
        insights.map(|row| json!({ "id": clip(&row.id), "says": clip(&row.sentence) })).collect();
    brief.insert("insights".into(), json!(insights));
    Value::Object(brief)
}

fn bottleneck(row: &FindingRow) -> Value {
    let clip = |words: &str| text::clip(words, LONGEST);
    let evidence: Map<String, Value> =
        row.evidence.iter().map(|value| (clip(&value.name), json!(rounded(value.value)))).collect();
    let mut out = Map::new();
    out.insert("id".into(), json!(clip(&row.id)));
    out.insert("cause".into(), json!(clip(&row.title)));
    out.insert("says".into(), json!(clip(&row.sentence)));
    out.insert("confidence".into(), json!(row.confidence));
    if let Some(saving) = &row.saving {
        out.insert("saves_at_most_pct".into(), json!(rounded(saving.percent)));
        if let Some(gain) = &saving.ablation {
            let interval = gain.interval.map(rounded);
            let measured = json!({ "edit": clip(&gain.edit), "saves_pct": rounded(gain.percent), "interval": interval, "changed": gain.changed, "left": gain.left });
            out.insert("measured".into(), measured);
        } else if let Some(pair) = &saving.pair {
            let measured = json!({ "variant": clip(&pair.variant.0), "differs_in": clip(&pair.differs_in), "saves_pct": rounded(pair.percent) });
            out.insert("measured".into(), measured);
        }
    }
    out.insert("evidence".into(), Value::Object(evidence));
    insert(&mut out, "launch", row.launch.as_deref().map(clip));
    let line = |line: &FindingLine| {
        let awaited = line.awaited.as_ref().map_or_else(String::new, |awaited| format!(" ({})", awaited.words));
        format!("{} {}{}", line.place, line.source.as_deref().unwrap_or_default(), clip(&awaited))
    };
    let lines: Vec<String> = row.lines.iter().map(line).collect();
    if !lines.is_empty() {
        out.insert("lines".into(), json!(lines));
    }
    Value::Object(out)
}

fn insert<T: Into<Value>>(table: &mut Map<String, Value>, key: &str, value: Option<T>) {
    if let Some(value) = value {
        table.insert(key.to_owned(), value.into());
    }
}

/// Four significant digits, enough for the reader of a brief.
fn rounded(value: f64) -> f64 {
    if value == 0.0 || !value.is_finite() {
        return 0.0;
    }
    let scale = 10f64.powi(3 - value.abs().log10().floor() as i32);
    (value * scale).round() / scale
}
