//! An explanation for people.

use super::{Explanation, time};
use crate::diagnosis_row::DiagnosisOutcome;
use crate::finding_row::FindingRow;
use crate::markdown::escape;
use crate::text::clip_middle;
use std::fmt::Write as _;

/// Most findings listed below the first.
const MORE: usize = 6;
/// Longest name of a kernel; names of templates can exceed a thousand characters.
const LONGEST: usize = 160;

pub fn text(explanation: &Explanation) -> String {
    let Explanation { variant, shape, microseconds, task, .. } = explanation;
    let name = clip_middle(variant, LONGEST);
    let mut out = format!("{}: {name} at {shape}, {}\n", task.phase, time(*microseconds));
    match &explanation.bottleneck {
        Some(row) => out += &whole(row),
        None => out += "\n",
    }
    if !explanation.says.is_empty() {
        let _ = writeln!(out, "{}{}", if explanation.bottleneck.is_some() { "  " } else { "" }, explanation.says);
    }
    let (small, rest): (Vec<&FindingRow>, Vec<&FindingRow>) =
        explanation.insights.iter().partition(|row| row.symptom_of.is_some());
    if !rest.is_empty() {
        out += "\nalso\n";
    }
    for row in rest.iter().take(MORE) {
        let saving = row.saving.as_ref().map_or_else(String::new, |saving| format!(" ({})", saving.words));
        let _ = writeln!(out, "  {}: {}{saving}", row.title, row.sentence);
    }
    if !small.is_empty() {
        let names: Vec<&str> = small.iter().map(|row| row.rule.as_str()).collect();
        let _ = writeln!(out, "\nsymptoms of these: {}", names.join(", "));
    }
    if !explanation.elsewhere.is_empty() {
        out += "\nin use at other shapes\n";
    }
    for other in &explanation.elsewhere {
        let cause = match (&other.cause, other.outcome) {
            (Some(cause), _) => cause.as_str(),
            (None, DiagnosisOutcome::NotJudged) => "not judged: rules lack counters",
            (None, _) => "nothing that costs much",
        };
        let saving = other.saving.as_ref().map_or_else(String::new, |saving| format!(" ({saving})"));
        let _ = writeln!(out, "  {}: {}: {cause}{saving}", other.shape, clip_middle(&other.variant, LONGEST));
    }
    if !explanation.bests.is_empty() {
        let bests: Vec<String> = explanation
            .bests
            .iter()
            .map(|best| format!("{} {}", best.variant, time(Some(best.microseconds))))
            .collect();
        let _ = writeln!(out, "\nfastest: {}", bests.join(", "));
    }
    out
}

fn whole(row: &FindingRow) -> String {
    let mut out = format!("\n{}\n  {}\n", row.title, row.sentence);
    if let Some(saving) = &row.saving {
        let _ = writeln!(out, "  could save {} ({} confidence)", saving.words, row.confidence.word());
    }
    let evidence: Vec<String> = row.evidence.iter().map(|value| format!("{} {}", value.name, value.text)).collect();
    let launch = row.launch.as_ref().map_or_else(String::new, |launch| format!(" [{launch}]"));
    let _ = writeln!(out, "  evidence: {}{launch}", evidence.join(", "));
    for line in &row.lines {
        let source = line.source.as_deref().unwrap_or_default();
        let _ = writeln!(out, "  {} ({:.0} % of samples, {}): {source}", line.place, line.share, line.stall);
    }
    let _ = writeln!(out, "  try: {}", row.advice);
    for further in &row.further {
        let _ = writeln!(out, "       {further}");
    }
    let _ = writeln!(out, "  id: {}", row.id);
    out
}

/// A Markdown table with a row for each explanation.
pub fn table(explanations: &[Explanation]) -> String {
    let mut out = "| variant | time | first cause | could save at most | measured | next |\n| --- | --: | --- | --: | --: | --- |\n".to_owned();
    for explanation in explanations {
        let row = explanation.bottleneck.as_ref();
        let cause = match (row, &explanation.not_asked) {
            (Some(row), _) => row.title.to_string(),
            (None, Some(lacks)) => format!("not judged: {} of {} rules lack counters", lacks.rules, lacks.of),
            (None, None) if explanation.outcome == DiagnosisOutcome::NotJudged => "not judged".to_owned(),
            (None, None) => "nothing that costs much".to_owned(),
        };
        let saving = row.and_then(|row| row.saving.as_ref());
        let percent = saving.map_or_else(String::new, |saving| format!("{:.0} %", saving.percent));
        let pair = saving
            .and_then(|saving| saving.pair.as_ref())
            .map_or_else(String::new, |pair| format!("{:.0} %", pair.percent));
        let next = explanation.next_experiment.as_deref().unwrap_or_default();
        let _ = writeln!(
            out,
            "| {} | {} | {} | {percent} | {pair} | {} |",
            escape(&explanation.variant),
            time(explanation.microseconds),
            escape(&cause),
            escape(next)
        );
    }
    out
}
