//! A comparison in the terminal.

use super::comparison::{Comparison, GateChange, Pair, Row};
use crate::model::Verdict;
use crate::report::markdown::word;
use crate::report::{number, text};
use std::fmt::Write as _;

/// Pairs listed by latency.
const PAIRS: usize = 20;
/// Pairs whose metrics are listed.
const DETAILED: usize = 3;
/// Metrics listed of a pair.
const METRICS: usize = 25;
/// Names listed of what only one side has.
const ALONE: usize = 5;

/// What `compare` prints, in lines of at most `columns` characters where names allow it.
pub fn terminal(comparison: &Comparison, columns: usize) -> String {
    let mut out = String::new();
    for (letter, side) in [("A", &comparison.a), ("B", &comparison.b)] {
        let verdict = side.verdict.as_ref().map_or_else(String::new, |v| format!("  {}", v.to_uppercase()));
        let _ = writeln!(out, "{letter}  {}{verdict}", side.name);
        let _ = writeln!(out, "   {}", text::clip(&side.about, columns.saturating_sub(3)));
    }
    for note in &comparison.notes {
        let _ = writeln!(out, "note: {note}");
    }
    let turned: Vec<&GateChange> = comparison.gates.iter().filter(|g| g.turned).collect();
    if !turned.is_empty() {
        out.push_str("\nGates that turned\n");
        let width = turned.iter().map(|g| g.name.chars().count()).max().unwrap_or(0);
        for gate in turned {
            let _ = writeln!(out, "  {:<width$}  {}, then {}", gate.name, said(&gate.a), said(&gate.b));
        }
    }
    latencies(&mut out, comparison, columns);
    let few = comparison.pairs.len() <= DETAILED || comparison.pairs.iter().all(|p| p.latency.is_none());
    for pair in comparison.pairs.iter().take(if few { DETAILED } else { 0 }) {
        metrics(&mut out, pair, columns);
    }
    if few && comparison.pairs.len() > DETAILED {
        let _ = writeln!(out, "\n{} more pairs: --markdown FILE or --html FILE", comparison.pairs.len() - DETAILED);
    }
    alone(&mut out, "A", &comparison.only_a);
    alone(&mut out, "B", &comparison.only_b);
    let _ = writeln!(out, "\n{}", comparison.sentence);
    out
}

fn latencies(out: &mut String, comparison: &Comparison, columns: usize) {
    let timed: Vec<(&Pair, super::Latency)> =
        comparison.pairs.iter().filter_map(|p| Some((p, p.latency?))).take(PAIRS).collect();
    if timed.is_empty() {
        return;
    }
    let room = columns.saturating_sub(58).max(20);
    let width = timed.iter().map(|(p, _)| p.name.chars().count()).max().unwrap_or(0).min(room);
    let _ = writeln!(out, "\n{:<width$}  {:>9}  {:>9}  {:>8}  95 % interval", "latency p50", "A µs", "B µs", "change");
    for (pair, l) in timed {
        let turned = pair.turned.map_or_else(String::new, |(a, b)| format!(", {} then {}", word(a), word(b)));
        let _ = writeln!(
            out,
            "{:<width$}  {:>9}  {:>9}  {:>8}  {} to {}  {}{turned}",
            text::clip(&pair.name, width),
            number::plain(l.a),
            number::plain(l.b),
            number::change(l.ratio),
            number::change(l.low),
            number::change(l.high),
            l.word(),
        );
    }
    let more = comparison.pairs.iter().filter(|p| p.latency.is_some()).count().saturating_sub(PAIRS);
    if more > 0 {
        let _ = writeln!(out, "{more} more with smaller changes: --markdown FILE or --html FILE");
    }
}

fn metrics(out: &mut String, pair: &Pair, columns: usize) {
    let shown: Vec<&Row> = pair.rows.iter().filter(|row| row.a != row.b).take(METRICS).collect();
    let same = pair.rows.iter().filter(|row| row.a == row.b).count();
    let _ = writeln!(out, "\n{}", text::clip(&pair.name, columns));
    let titled = |row: &Row| match row.unit.as_str() {
        "" => row.title.clone(),
        unit => format!("{} {unit}", row.title),
    };
    let room = columns.saturating_sub(42).max(24);
    let width = shown.iter().map(|row| titled(row).chars().count()).max().unwrap_or(0).min(room);
    for row in &shown {
        let _ = writeln!(
            out,
            "  {:<width$}  {:>12}  {:>12}  {:>9} {}",
            text::clip(&titled(row), width),
            number::plain(row.a),
            number::plain(row.b),
            row.change,
            judged(row)
        );
    }
    let left = pair.rows.len() - shown.len() - same;
    let _ = writeln!(
        out,
        "  {same} metrics are equal{}",
        if left > 0 { format!(", {left} more differ") } else { String::new() }
    );
}

/// Better, worse, noise, or nothing to say.
pub fn judged(row: &Row) -> &'static str {
    match (row.noise, row.better) {
        (Some(true), _) => "noise",
        (_, Some(true)) => "better",
        (_, Some(false)) => "worse",
        (_, None) => "",
    }
}

/// A gate's verdict with what was measured.
pub fn said(gate: &Option<(Verdict, Option<String>)>) -> String {
    match gate {
        Some((verdict, Some(measured))) => format!("{} ({measured})", word(*verdict)),
        Some((verdict, None)) => word(*verdict).to_owned(),
        None => "not there".to_owned(),
    }
}

fn alone(out: &mut String, side: &str, names: &[String]) {
    if names.is_empty() {
        return;
    }
    let more = names.len().saturating_sub(ALONE);
    let rest = if more > 0 { format!(" and {more} more") } else { String::new() };
    let shown: Vec<&str> = names.iter().take(ALONE).map(String::as_str).collect();
    let _ = writeln!(out, "\nonly in {side}: {}{rest}", shown.join("; "));
}
