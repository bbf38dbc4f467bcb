//! A comparison in the terminal.

use super::comparison::{ComparedPair, GateChange, RunComparison};
use super::tables::{self, ComparedTable};
use crate::text;
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
    section(&mut out, tables::latencies(comparison, PAIRS), columns, "smaller changes");
    section(&mut out, tables::kernels(comparison, PAIRS), columns, "less time");
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

/// A table with its first column cut to fit; `rest` says which rows it leaves out.
fn section<const N: usize>(out: &mut String, compared: Option<ComparedTable<N>>, columns: usize, rest: &str) {
    let Some(compared) = compared else { return };
    out.push('\n');
    write(out, &compared, columns);
    if compared.more > 0 {
        let _ = writeln!(out, "{} more with {rest}: `--format markdown` or `ncugate page A B`", compared.more);
    }
}

fn write<const N: usize>(out: &mut String, compared: &ComparedTable<N>, columns: usize) {
    let cells = |at: usize| compared.rows.iter().map(move |row| row[at].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..N).map(|at| cells(at).max(compared.head[at].chars().count())).collect();
    let room = columns.saturating_sub(widths[1..].iter().map(|width| width + 2).sum()).max(20);
    let mut line = |row: [&str; N]| {
        let name = text::left(&text::clip(row[0], room), widths[0].min(room));
        let numbers = (1..N).map(|at| match at {
            1..=3 if N > 4 || at < 3 => format!("  {}", text::right(row[at], widths[at])),
            _ => format!("  {}", text::left(row[at], widths[at])),
        });
        let _ = writeln!(out, "{}", (name + &numbers.collect::<String>()).trim_end());
    };
    line(compared.head);
    compared.rows.iter().for_each(|row| line(row.each_ref().map(String::as_str)));
}

fn metrics(out: &mut String, pair: &ComparedPair, columns: usize) {
    let _ = writeln!(out, "\n{}", pair.name);
    if let Some(note) = &pair.note {
        let _ = writeln!(out, "  note: {note}");
    }
    let compared = tables::metrics(pair, METRICS);
    let mut rows = String::new();
    compared.iter().for_each(|compared| write(&mut rows, compared, columns.saturating_sub(2)));
    rows.lines().for_each(|line| out.push_str(&format!("  {line}\n")));
    let _ = writeln!(out, "  {}", tables::others(pair, compared.map_or(0, |compared| compared.more)));
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
