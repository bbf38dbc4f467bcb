//! A comparison in the terminal.

use super::comparison::{ComparedPair, GateChange, RunComparison};
use super::times::ComparedTime;
use crate::metric_change::{LatencyChange, MetricChange};
use crate::{number, text};
use ncugate_model::CleanText;
use std::fmt::Write as _;

/// Most pairs listed by latency.
const PAIRS: usize = 20;
/// Pairs with a list of metrics.
const DETAILED: usize = 3;
/// Most metrics listed of a pair.
const METRICS: usize = 25;
/// Most names listed of one-sided subjects.
const ALONE: usize = 5;

/// The output of `compare`. Tables of a terminal have at most `columns` columns; elsewhere no name is cut.
pub fn terminal(comparison: &RunComparison, columns: Option<usize>) -> String {
    let columns = columns.unwrap_or(usize::MAX);
    let mut out = String::new();
    for (letter, side) in [("A", &comparison.a), ("B", &comparison.b)] {
        let verdict = side.conclusion.map_or_else(String::new, |c| format!("  {}", c.label().to_uppercase()));
        let _ = writeln!(out, "{letter}  {}{verdict}", side.name);
        let _ = writeln!(out, "   {}", side.about);
    }
    for note in &comparison.notes {
        let _ = writeln!(out, "note: {note}");
    }
    let turned: Vec<&GateChange> = comparison.gates.iter().filter(|g| g.turned).collect();
    if !turned.is_empty() {
        out.push_str("\nGates that turned\n");
        let width = turned.iter().map(|g| g.name.chars().count()).max().unwrap_or(0);
        for gate in turned {
            let _ = writeln!(
                out,
                "  {}  {}, then {}",
                text::left(&gate.name, width),
                GateChange::words(&gate.a),
                GateChange::words(&gate.b)
            );
        }
    }
    latencies(&mut out, comparison, columns);
    kernels(&mut out, comparison, columns);
    let few = comparison.pairs.len() <= DETAILED || comparison.pairs.iter().all(|p| p.latency.is_none());
    for pair in comparison.pairs.iter().take(if few { DETAILED } else { 0 }) {
        metrics(&mut out, pair, columns);
    }
    if few && comparison.pairs.len() > DETAILED {
        let _ = writeln!(
            out,
            "\n{} more pairs: `--format markdown` or `ncugate page A B`",
            comparison.pairs.len() - DETAILED
        );
    }
    alone(&mut out, "A", &comparison.only_a);
    alone(&mut out, "B", &comparison.only_b);
    let _ = writeln!(out, "\n{}", comparison.sentence);
    out
}

fn latencies(out: &mut String, comparison: &RunComparison, columns: usize) {
    let timed: Vec<(&ComparedPair, LatencyChange)> =
        comparison.pairs.iter().filter_map(|p| Some((p, p.latency?))).take(PAIRS).collect();
    if timed.is_empty() {
        return;
    }
    let room = columns.saturating_sub(58).max(20);
    let width = timed.iter().map(|(p, _)| p.name.chars().count()).max().unwrap_or(0).min(room);
    let _ = writeln!(
        out,
        "\n{}  {:>9}  {:>9}  {:>8}  95 % interval",
        text::left("latency p50", width),
        "A µs",
        "B µs",
        "change"
    );
    for (pair, l) in timed {
        let turned = pair.turned.map_or_else(String::new, |(a, b)| format!(", {a} then {b}"));
        let _ = writeln!(
            out,
            "{}  {:>9}  {:>9}  {:>8}  {}  {}{turned}",
            text::left(&text::clip(&pair.name, width), width),
            number::plain(l.before),
            number::plain(l.after),
            number::change(l.ratio),
            l.interval.text(),
            l.word(),
        );
    }
    let more = comparison.pairs.iter().filter(|p| p.latency.is_some()).count().saturating_sub(PAIRS);
    if more > 0 {
        let _ = writeln!(out, "{more} more with smaller changes: `--format markdown` or `ncugate page A B`");
    }
}

/// Kernels of reports by time. Variants of runs are in the list of latencies.
fn kernels(out: &mut String, comparison: &RunComparison, columns: usize) {
    let launched = |time: &&ComparedTime| time.launches.iter().any(Option::is_some);
    let kernels: Vec<&ComparedTime> = comparison.times.iter().filter(launched).collect();
    if kernels.is_empty() {
        return;
    }
    let room = columns.saturating_sub(48).max(20);
    let shown = || kernels.iter().take(PAIRS);
    let width = shown().map(|time| time.label.chars().count()).max().unwrap_or(0).min(room).max(6);
    let _ = writeln!(out, "\n{}  {:>10}  {:>10}  change", text::left("kernel", width), "median A", "median B");
    for time in shown() {
        let written = |nanos: Option<f64>| nanos.map_or_else(|| "-".to_owned(), |nanos| number::with_unit(nanos, "ns"));
        let [before, after] = time.medians.map(written);
        let change = time.change.as_ref().map_or_else(|| time.presence.words().to_owned(), MetricChange::words);
        let label = text::left(&text::clip(&time.label, width), width);
        let _ = writeln!(out, "{label}  {before:>10}  {after:>10}  {change}");
    }
    if kernels.len() > PAIRS {
        let more = kernels.len() - PAIRS;
        let _ = writeln!(out, "{more} more with less time: `--format markdown` or `ncugate page A B`");
    }
}

fn metrics(out: &mut String, pair: &ComparedPair, columns: usize) {
    let shown: Vec<&MetricChange> = pair.rows.iter().filter(|row| row.before != row.after).take(METRICS).collect();
    let same = pair.rows.iter().filter(|row| row.before == row.after).count();
    let _ = writeln!(out, "\n{}", pair.name);
    if let Some(note) = &pair.note {
        let _ = writeln!(out, "  note: {note}");
    }
    let titled = |row: &MetricChange| match number::unit(&row.unit) {
        "" => row.title.to_string(),
        unit => format!("{} {unit}", row.title),
    };
    let room = columns.saturating_sub(42).max(24);
    let width = shown.iter().map(|row| titled(row).chars().count()).max().unwrap_or(0).min(room);
    for row in &shown {
        let _ = writeln!(
            out,
            "  {}  {:>12}  {:>12}  {:>9} {}",
            text::left(&text::clip(&titled(row), width), width),
            row.before.text,
            row.after.text,
            row.change,
            row.judged.word()
        );
    }
    let left = pair.rows.len() - shown.len() - same;
    let _ = writeln!(
        out,
        "  {same} metrics are equal{}",
        if left > 0 { format!(", {left} more differ") } else { String::new() }
    );
}

fn alone(out: &mut String, side: &str, names: &[CleanText]) {
    if names.is_empty() {
        return;
    }
    let more = names.len().saturating_sub(ALONE);
    let rest = if more > 0 { format!(" and {more} more") } else { String::new() };
    let shown: Vec<&str> = names.iter().take(ALONE).map(CleanText::as_str).collect();
    let _ = writeln!(out, "\nonly in {side}: {}{rest}", shown.join("; "));
}
