//! The end of a run in the terminal: the best variants, the gates, the notes, the first screen, the verdict last.

use super::deltas::Delta;
use super::error::RenderError;
use super::run_report::RunReport;
use super::trust::cheat_count;
use super::variant_row::VariantRow;
use super::{number, text};
use crate::document::{Column, DocumentBlock, DocumentTable, TableCell, terminal_blocks};
use crate::history::shape_comparison;
use crate::wrap::{paragraph, wrapped};
use ncu_explain::MetricChange;
use ncugate_judge::GateResult;
use ncugate_model::{CleanText, Level, Verdict};
use std::fmt::Write as _;

/// Whether the terminal supports colours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Colours {
    Ansi,
    Plain,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Screen {
    /// Columns; fewer than 60 count as 60.
    pub columns: usize,
    pub colours: Colours,
}

/// Most variants shown.
const TOP: usize = 5;
/// Least width of a gate's verdict.
const STATE: usize = 6;

/// The final output of a run.
pub fn terminal(report: &RunReport, screen: Screen) -> Result<String, RenderError> {
    let columns = screen.columns.max(60);
    let mut out = String::new();
    paragraph(&mut out, 0, &report.title, columns);
    paragraph(&mut out, 0, &report.source.words(), columns);
    out.push('\n');
    out.push_str(&terminal_blocks(&variants(report), Some(columns)));
    out.push('\n');
    if report.times.len() > 1 && report.times.iter().all(|row| row.first.is_some()) {
        out.push_str(&terminal_blocks(&shape_comparison::blocks(&report.times), Some(columns)));
        out.push('\n');
    }
    out.push_str(&gates(report, columns, screen.colours));
    if let Some(steps) = &report.steps {
        out.push_str(&terminal_blocks(&[steps.clone().into()], Some(columns)));
    }
    for line in beside(report) {
        paragraph(&mut out, 0, &line, columns);
    }
    for line in notes(report) {
        paragraph(&mut out, 0, &format!("note: {line}"), columns);
    }
    out.push('\n');
    paragraph(&mut out, 0, &report.headline.scope, columns);
    if !report.source.replay && !report.provenance.stages.is_empty() {
        paragraph(&mut out, 0, &format!("took: {}", stages(report)), columns);
    }
    for sentence in [&report.headline.tier, &report.headline.stages].into_iter().flatten() {
        paragraph(&mut out, 0, sentence, columns);
    }
    out.push('\n');
    out.push_str(&first_screen(report, columns));
    out.push_str(&conclusion(report, screen));
    Ok(out)
}

/// Notes of the first screen, and the first missing values one by one.
fn notes(report: &RunReport) -> Vec<String> {
    let missing = report.missing.iter().skip(1).take(4).map(|line| format!("missing: {line}"));
    report.first_screen.notes.iter().map(|note| note.to_string()).chain(missing).collect()
}

/// What to use at each shape, the next step and the number of notes.
fn first_screen(report: &RunReport, columns: usize) -> String {
    let screen = &report.first_screen;
    let mut out = String::new();
    if !screen.recommends() {
        paragraph(&mut out, 0, &report.in_use.sentence, columns);
    }
    for row in &screen.shapes {
        let line = format!("{}: {} {}: {}", row.shape, row.word(), row.variant, row.text());
        paragraph(&mut out, 0, &line, columns);
    }
    let next = screen.next.as_ref().map(|next| format!("next: {}", next.text()));
    let notes = screen.notes_title().map(|title| format!("{title}, above"));
    let obstacle = report.headline.obstacle.as_ref().map(CleanText::to_string);
    for line in [obstacle, next, notes].into_iter().flatten() {
        paragraph(&mut out, 0, &line, columns);
    }
    out
}

/// Only the verdict and its reason.
fn conclusion(report: &RunReport, screen: Screen) -> String {
    let (headline, columns) = (&report.headline, screen.columns.max(60));
    let label = headline.conclusion.label();
    let reason = format!("{} {}", "#".repeat(label.len()), headline.reason);
    let label = paint(&label.to_uppercase(), headline.conclusion.tone(), screen.colours);
    let mut lines = wrapped(&reason, columns).into_iter();
    let first = lines.next().unwrap_or_default();
    let mut out = String::new();
    let _ = writeln!(out, "{label}{}", first.trim_start_matches('#'));
    for line in lines {
        let _ = writeln!(out, "{line}");
    }
    out
}

/// The number of cheats, and the verdict with its reason.
pub fn quiet(report: &RunReport, screen: Screen) -> String {
    let cheats = cheat_count(&report.trust.cheats).map_or_else(String::new, |count| format!("{count}\n"));
    cheats + &conclusion(report, screen)
}

/// A paragraph after a lead, with its further lines below its first one.
fn hanging(out: &mut String, lead: &str, text: &str, columns: usize) {
    let indent = lead.chars().count();
    for (at, line) in wrapped(text, columns - indent).into_iter().enumerate() {
        let lead = if at == 0 { lead } else { &" ".repeat(indent) };
        let _ = writeln!(out, "{lead}{line}");
    }
}

/// Wall time by stage of the program: `build 4.13 s, bench 3.99 s (kernels 2.60 s, external commands 1.39 s)`.
/// Significant parts of a stage, such as `bench: kernels`, follow it in brackets.
fn stages(report: &RunReport) -> String {
    let took = |name: &str, seconds: f64| format!("{name} {}", number::seconds(seconds));
    let stages = &report.provenance.stages;
    let whole = stages.iter().filter(|(name, _)| !name.contains(": ")).map(|(name, seconds)| {
        let parts = stages.iter().filter_map(|(part, spent)| {
            let part = part.strip_prefix(name.as_str())?.strip_prefix(": ")?;
            (spent.value >= 0.01).then(|| took(part, spent.value))
        });
        let parts: Vec<String> = parts.collect();
        let inside = if parts.is_empty() { String::new() } else { format!(" ({})", parts.join(", ")) };
        took(name, seconds.value) + &inside
    });
    whole.collect::<Vec<_>>().join(", ")
}

/// One line for each stored run that compares the objective.
fn beside(report: &RunReport) -> Vec<String> {
    let line = |delta: &Delta| {
        let is_objective = |row: &&MetricChange| report.objective.as_ref().is_some_and(|o| o.metric == row.metric);
        let row = delta.rows.iter().find(is_objective).or(delta.rows.first())?;
        let values = number::against(row.after.value, row.before.value, &row.unit);
        let (title, words) = (text::inside(&row.title), row.words());
        Some(format!("against {}: {title} {values}, {words}", delta.against))
    };
    report.deltas.iter().filter(|delta| delta.about.is_some()).filter_map(line).collect()
}

/// Rank, variant and as many leading metrics as fit.
fn variants(report: &RunReport) -> Vec<DocumentBlock> {
    let ranked: Vec<&VariantRow> = report.variants.iter().filter(|v| v.rank.is_some()).take(TOP).collect();
    let baselines = report.variants.iter().filter(|v| v.standing == ncugate_phase::plan::VariantRole::Baseline).take(2);
    // The variant selected among those that pass may have a lower rank.
    let selected = report.variants.iter().filter(|v| v.selected && v.rank.is_none_or(|rank| rank > TOP));
    let rows: Vec<&VariantRow> = ranked.into_iter().chain(selected).chain(baselines).collect();
    if rows.is_empty() {
        return vec![DocumentBlock::Text("no variant is proven correct and measured".to_owned())];
    }
    let Names { shared, names } = names(&rows, &report.params);
    let heads = report.metrics.iter().map(|metric| match number::unit(&metric.unit) {
        "" => Column::number(metric.title.as_str()).minor(),
        unit => Column::number(format!("{} {unit}", metric.title)).minor(),
    });
    let columns = [Column::number("#"), Column::text("variant")].into_iter().chain(heads).collect();
    let mut table = DocumentTable::new("Best variants", columns);
    for (variant, name) in rows.into_iter().zip(names) {
        let rank = variant.rank.map_or_else(|| "-".to_owned(), |rank| rank.to_string());
        let values = (0..report.metrics.len()).map(|at| report.value_text(variant, at));
        table.row([rank, name].into_iter().chain(values).map(TableCell::new).collect());
    }
    let shared = (!shared.is_empty()).then(|| DocumentBlock::Text(format!("all shown: {shared}")));
    shared.into_iter().chain(table.block()).collect()
}

/// Names of variants in a table.
struct Names {
    /// Parameters that are equal in all variants of the sweep: `TILE_M=32, STAGES=1`.
    shared: String,
    /// One name for each row; the selected one is marked.
    names: Vec<String>,
}

/// Names variants of a sweep by the parameters in which they differ. The common parameters appear above the table.
fn names(rows: &[&VariantRow], params: &[CleanText]) -> Names {
    let swept: Vec<&&VariantRow> = rows.iter().filter(|v| v.name.is_none()).collect();
    let differs = |at: &usize| swept.iter().any(|v| v.params.get(*at) != swept[0].params.get(*at));
    let (apart, alike): (Vec<usize>, Vec<usize>) = (0..params.len()).partition(differs);
    let said = |v: &VariantRow, places: &[usize], between: &str| {
        let pair = |at: &usize| Some(format!("{}={}", params[*at], v.params.get(*at)?.as_ref()?));
        places.iter().filter_map(pair).collect::<Vec<_>>().join(between)
    };
    let short = swept.len() > 1 && !apart.is_empty() && !alike.is_empty();
    let name = |v: &&VariantRow| {
        let name = if short && v.name.is_none() { said(v, &apart, ",") } else { v.marked() };
        if v.selected { format!("{name} (selected)") } else { name }
    };
    let shared = if short { said(swept[0], &alike, ", ") } else { String::new() };
    Names { shared, names: rows.iter().map(name).collect() }
}

/// The first word of a gate's line; it highlights obstacles to passing.
fn state(gate: &GateResult) -> &'static str {
    match (&gate.waived, gate.verdict) {
        (Some(_), _) => "waived",
        (None, Verdict::Pass) => Verdict::Pass.word(),
        (None, verdict @ (Verdict::Fail | Verdict::Inconclusive)) => verdict.mark(),
    }
}

/// One line for each gate: its verdict, its name, measured against limit.
fn gates(report: &RunReport, columns: usize, colours: Colours) -> String {
    let lead = report.gates.iter().map(|g| state(g).len()).max().unwrap_or(STATE).max(STATE);
    let numbers = report.gates.iter().filter(|gate| has_numbers(gate));
    let numbers = numbers.map(|gate| against(gate).chars().count()).max().unwrap_or(0);
    let room = columns.saturating_sub(lead + numbers + 4).max(28);
    let widest = report.gates.iter().map(|g| g.name.chars().count()).max().unwrap_or(4).clamp(4, room);
    let mut out = String::new();
    for gate in &report.gates {
        let _ = write!(out, "{}  ", paint(&text::left(state(gate), lead), gate.verdict, colours));
        let rest = format!("{}  {}", text::left(&gate.name, widest), against(gate));
        match rest.chars().count() <= columns - lead - 2 {
            true => out.push_str(&format!("{rest}\n")),
            false => {
                let indent = " ".repeat(lead + 2);
                let mut whole = String::new();
                hanging(&mut whole, &indent, &format!("{}: {}", gate.name, against(gate)), columns);
                out.push_str(whole.trim_start());
            }
        }
    }
    for gate in report.gates.iter().filter(|gate| gate.waived.is_none()) {
        // the line of the gate has only its numbers
        let open = match gate.verdict {
            Verdict::Inconclusive if has_numbers(gate) => Some(format!("inconclusive: {}", gate.summary.why)),
            Verdict::Inconclusive => None,
            Verdict::Pass | Verdict::Fail => gate.undecided(),
        };
        if let Some(open) = open {
            paragraph(&mut out, 0, &format!("note: '{}': {open}", gate.name), columns);
        }
    }
    out
}

/// Whether the line of a gate has numbers. `1 == 1` says less than the reason.
fn has_numbers(gate: &GateResult) -> bool {
    gate.summary.measured.is_some() && gate.metric.as_deref() != Some("correct")
}

/// Measured against limit, else the reason; and whether the gate is advisory.
fn against(gate: &GateResult) -> String {
    let measured = match (gate.summary.measured.as_ref().filter(|_| has_numbers(gate)), &gate.summary.limit) {
        (Some(measured), Some(limit)) => compared(gate, measured.value, limit.value),
        (Some(measured), None) => number::with_unit(measured.value, &gate.unit),
        (None, _) => gate.summary.why.to_string(),
    };
    match gate.level {
        Level::Required => measured,
        Level::Advisory => format!("{measured} (advisory)"),
    }
}

/// `2.011× >= 1.1×` if that holds, else `29.67, needs <= 10.18 µs`.
fn compared(gate: &GateResult, measured: f64, limit: f64) -> String {
    let Some(comparison) = gate.require.comparison() else {
        return number::against(measured, limit, &gate.unit);
    };
    let symbol = comparison.symbol();
    let relation = match gate.verdict == Verdict::Pass && comparison.holds(measured, limit) {
        true => format!(" {symbol} "),
        false => format!(", needs {symbol} "),
    };
    number::related(measured, &relation, limit, &gate.unit)
}

fn paint(text: &str, verdict: Verdict, colours: Colours) -> String {
    let code = match verdict {
        Verdict::Pass => "32",
        Verdict::Fail => "31",
        Verdict::Inconclusive => "33",
    };
    match colours {
        Colours::Ansi => format!("\u{1b}[1;{code}m{text}\u{1b}[0m"),
        Colours::Plain => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variants_of_a_sweep_are_told_apart_by_what_differs() {
        let report = crate::fixture::Fixture::new(90).report();
        let shown = |v: &&VariantRow| v.selected || v.rank.is_some_and(|rank| rank <= 5);
        let ranked: Vec<&VariantRow> = report.variants.iter().filter(shown).collect();
        let Names { shared, names } = names(&ranked, &report.params);
        let all: std::collections::BTreeSet<&String> = names.iter().collect();
        assert_eq!(all.len(), names.len(), "{names:?}");
        let said = |v: &VariantRow, name: &str| {
            let pairs =
                report.params.iter().zip(&v.params).filter_map(|(p, value)| Some(format!("{p}={}", value.as_ref()?)));
            pairs.into_iter().all(|pair| name.contains(&pair) || shared.contains(&pair))
        };
        assert!(ranked.iter().zip(&names).all(|(v, name)| said(v, name)), "{shared}: {names:?}");
        assert_eq!(names.iter().filter(|name| name.ends_with(" (selected)")).count(), 1);
    }

    #[test]
    fn a_gate_has_its_direction() {
        let report = crate::fixture::Fixture::new(6).report();
        let text = gates(&report, 120, Colours::Plain);
        assert!(text.contains(", needs >= ") && text.contains(" <= "), "{text}");
        assert!(!text.contains(" against "), "{text}");
    }

    #[test]
    fn a_gate_that_does_not_fit_is_wrapped_and_a_name_is_never_cut() {
        let mut report = crate::fixture::Fixture::new(6).report();
        let name = "the number of registers of each thread, ".repeat(4);
        report.gates[0].name = name.trim_end_matches(", ").into();
        let text = gates(&report, 80, Colours::Plain);
        assert!(
            text.split_whitespace().collect::<Vec<_>>().join(" ").contains(report.gates[0].name.as_str()),
            "{text}"
        );
        assert!(text.lines().all(|line| line.chars().count() <= 80) && !text.contains('…'), "{text}");
    }
}
