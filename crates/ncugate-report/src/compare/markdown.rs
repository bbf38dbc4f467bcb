//! A comparison as Markdown.

use super::comparison::{ComparedPair, GateChange, RunComparison};
use super::times::ComparedTime;
use crate::markdown::{MarkdownTable, escape};
use crate::metric_change::MetricChange;
use crate::number;
use std::fmt::Write as _;

/// Most pairs in the table of latencies.
const PAIRS: usize = 100;
/// Most pairs with metrics.
const DETAILED: usize = 5;
/// Most metrics of a pair.
const METRICS: usize = 60;

pub fn markdown(comparison: &RunComparison) -> String {
    let mut out = format!("# {} against {}\n\n", escape(&comparison.b.name), escape(&comparison.a.name));
    let _ = writeln!(out, "**{}**\n", escape(&comparison.sentence));
    for (letter, side) in [("A", &comparison.a), ("B", &comparison.b)] {
        let verdict = side.conclusion.map_or_else(String::new, |c| format!(" **{}**", c.label().to_uppercase()));
        let reason = side.reason.as_ref().map_or_else(String::new, |r| format!(" {}", escape(r)));
        let _ = writeln!(out, "- {letter}: {} ({}){verdict}{reason}", escape(&side.name), escape(&side.about));
    }
    out.push('\n');
    for note in &comparison.notes {
        let _ = writeln!(out, "- Note: {}", escape(note));
    }
    out.push_str(&gates(comparison));
    out.push_str(&latencies(comparison));
    out.push_str(&kernels(comparison));
    for pair in comparison.pairs.iter().take(DETAILED) {
        out.push_str(&metrics(pair));
    }
    for (letter, names) in [("A", &comparison.only_a), ("B", &comparison.only_b)] {
        if !names.is_empty() {
            let _ = writeln!(out, "\n## Only in {letter}\n");
            names.iter().for_each(|name| out.push_str(&format!("- {}\n", escape(name))));
        }
    }
    out
}

fn gates(comparison: &RunComparison) -> String {
    if comparison.gates.is_empty() {
        return String::new();
    }
    let mut table = MarkdownTable::new(&["gate", "A", "B", ""]);
    for gate in &comparison.gates {
        let turned = if gate.turned { "**turned**" } else { "" };
        table.row(vec![
            escape(&gate.name),
            escape(&GateChange::words(&gate.a)),
            escape(&GateChange::words(&gate.b)),
            turned.to_owned(),
        ]);
    }
    format!("\n## Gates\n\n{table}")
}

fn latencies(comparison: &RunComparison) -> String {
    let mut table = MarkdownTable::new(&["", "A µs", "B µs", "change", "95 % interval", "", "verdict"]);
    let timed: Vec<_> = comparison.pairs.iter().filter_map(|p| Some((p, p.latency?))).collect();
    if timed.is_empty() {
        return String::new();
    }
    for (pair, l) in timed.iter().take(PAIRS) {
        table.row(vec![
            escape(&pair.name),
            number::plain(l.before),
            number::plain(l.after),
            number::change(l.ratio),
            l.interval.text(),
            l.word().to_owned(),
            pair.turned.map_or_else(String::new, |(a, b)| format!("{a}, then {b}")),
        ]);
    }
    let more = timed.len().saturating_sub(PAIRS);
    let rest = if more > 0 { format!("\n{more} more with smaller changes.\n") } else { String::new() };
    format!("\n## Latency p50\n\n{table}{rest}")
}

/// Kernels of reports by time.
fn kernels(comparison: &RunComparison) -> String {
    let launched = |time: &&ComparedTime| time.launches.iter().any(Option::is_some);
    let kernels: Vec<&ComparedTime> = comparison.times.iter().filter(launched).collect();
    if kernels.is_empty() {
        return String::new();
    }
    let mut table = MarkdownTable::new(&["kernel", "median A", "median B", "change"]);
    for time in kernels.iter().take(PAIRS) {
        let written = |nanos: Option<f64>| nanos.map_or_else(String::new, |nanos| number::with_unit(nanos, "ns"));
        let [before, after] = time.medians.map(written);
        let change = time.change.as_ref().map_or_else(|| time.presence.words().to_owned(), MetricChange::words);
        table.row(vec![escape(&time.label), before, after, change]);
    }
    let more = kernels.len().saturating_sub(PAIRS);
    let rest = if more > 0 { format!("\n{more} more with less time.\n") } else { String::new() };
    format!("\n## Kernels\n\n{table}{rest}")
}

fn metrics(pair: &ComparedPair) -> String {
    let mut table = MarkdownTable::new(&["metric", "A", "B", "change", ""]);
    let differ: Vec<&MetricChange> = pair.rows.iter().filter(|row| row.before != row.after).collect();
    for row in differ.iter().take(METRICS) {
        let (before, after) = (row.before.text.clone(), row.after.text.clone());
        let cells = [escape(&row.heading()), before, after, row.change.to_string(), row.judged.word().to_owned()];
        table.row(cells.into());
    }
    let (same, more) = (pair.rows.len() - differ.len(), differ.len().saturating_sub(METRICS));
    let note = pair.note.as_ref().map_or_else(String::new, |note| format!("Note: {}\n\n", escape(note)));
    format!("\n## {}\n\n{note}{table}\n{same} metrics are equal, {more} more differ.\n", escape(&pair.name))
}
