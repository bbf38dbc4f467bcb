//! A comparison as Markdown.

use super::comparison::{ComparedPair, GateChange, RunComparison};
use super::tables::{self, ComparedTable};
use crate::markdown::{MarkdownTable, escape};
use std::fmt::Write as _;

/// Most rows in a table of pairs.
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
    out.push_str(&section("Latency p50", tables::latencies(comparison, PAIRS), "smaller changes"));
    out.push_str(&section("Kernels", tables::kernels(comparison, PAIRS), "less time"));
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

fn table<const N: usize>(compared: &ComparedTable<N>) -> MarkdownTable {
    let mut table = MarkdownTable::new(&compared.head);
    compared.rows.iter().for_each(|row| table.row(row.iter().map(|cell| escape(cell)).collect()));
    table
}

/// A table under its title; `rest` says which rows it leaves out.
fn section<const N: usize>(title: &str, compared: Option<ComparedTable<N>>, rest: &str) -> String {
    let Some(compared) = compared else { return String::new() };
    let more = if compared.more > 0 { format!("\n{} more with {rest}.\n", compared.more) } else { String::new() };
    format!("\n## {title}\n\n{}{more}", table(&compared))
}

fn metrics(pair: &ComparedPair) -> String {
    let compared = tables::metrics(pair, METRICS);
    let more = compared.as_ref().map_or(0, |compared| compared.more);
    let table = compared.map_or_else(String::new, |compared| table(&compared).to_string());
    let note = pair.note.as_ref().map_or_else(String::new, |note| format!("Note: {}\n\n", escape(note)));
    format!("\n## {}\n\n{note}{table}\n{}.\n", escape(&pair.name), tables::others(pair, more))
}
