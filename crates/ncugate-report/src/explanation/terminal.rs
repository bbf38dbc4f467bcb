//! An explanation for people.

use super::{Explanation, time};
use crate::diagnosis_row::DiagnosisOutcome;
use crate::finding_row::FindingRow;
use crate::markdown::escape;
use crate::number;
use crate::wrap::paragraph;
use std::fmt::Write as _;

/// Most findings listed below the first.
const MORE: usize = 6;

/// The explanation in lines of at most `columns` characters, if names allow it.
pub fn text(explanation: &Explanation, columns: usize) -> String {
    let mut out = head(explanation, columns);
    if let Some(busiest) = &explanation.busiest {
        paragraph(&mut out, 0, busiest, columns);
    }
    out.push('\n');
    if let Some(row) = &explanation.bottleneck {
        out += &whole(row, explanation, columns);
    }
    paragraph(&mut out, if explanation.bottleneck.is_some() { 2 } else { 0 }, &explanation.says, columns);
    for row in &explanation.ncu {
        paragraph(&mut out, 0, &format!("{}: {}", row.title, row.sentence), columns);
    }
    if !explanation.ablations.is_empty() {
        out += "\nMeasured on copies of the machine code without one cost each (no variants, not checked)\n";
    }
    for row in &explanation.ablations {
        paragraph(&mut out, 2, &format!("{}: {}", row.edit, row.says), columns);
    }
    let (symptoms, rest): (Vec<&FindingRow>, Vec<&FindingRow>) =
        explanation.insights.iter().partition(|row| row.symptom_of.is_some());
    if !rest.is_empty() {
        out += "\nAlso\n";
    }
    for row in rest.iter().take(MORE) {
        let saving = row.saving.as_ref().map_or_else(String::new, |saving| format!(" ({})", saving.words));
        paragraph(&mut out, 2, &format!("{}: {}{saving}", row.title, row.sentence), columns);
    }
    if rest.len() > MORE {
        let _ = writeln!(out, "  {} more: `--format json`", rest.len() - MORE);
    }
    if !symptoms.is_empty() {
        let names: Vec<&str> = symptoms.iter().map(|row| row.rule.as_str()).collect();
        out.push('\n');
        paragraph(&mut out, 0, &format!("Symptoms of these: {}", names.join(", ")), columns);
    }
    if !explanation.elsewhere.is_empty() {
        out += "\nIn use at other shapes\n";
    }
    for other in &explanation.elsewhere {
        let cause = match (&other.cause, other.outcome) {
            (Some(cause), _) => cause.as_str(),
            (None, DiagnosisOutcome::NotJudged) => "not judged: rules lack counters",
            (None, _) => "no significant cause",
        };
        let saving = other.saving.as_ref().map_or_else(String::new, |saving| format!(" ({saving})"));
        paragraph(&mut out, 2, &format!("{}: {}: {cause}{saving}", other.shape, other.variant), columns);
    }
    if !explanation.bests.is_empty() {
        let bests: Vec<String> = explanation
            .bests
            .iter()
            .map(|best| format!("{} {}", best.variant, time(Some(best.microseconds))))
            .collect();
        out.push('\n');
        paragraph(&mut out, 0, &format!("Fastest: {}", bests.join(", ")), columns);
    }
    out
}

/// `PHASE: VARIANT at SHAPE, 612.2 µs`; of a kernel of a report the short name, its launches and its full name.
fn head(explanation: &Explanation, columns: usize) -> String {
    let Explanation { variant, shape, microseconds, task, .. } = explanation;
    let mut out = String::new();
    let Some(kernel) = &explanation.kernel else {
        paragraph(&mut out, 0, &format!("{}: {variant} at {shape}, {}", task.phase, time(*microseconds)), columns);
        return out;
    };
    let launches = match kernel.launches {
        1 => format!("{shape}, {}", time(*microseconds)),
        many => format!(
            "{}, {} in total; findings are about {shape}, {}",
            number::counted(many, "launch"),
            time(kernel.total_microseconds),
            time(*microseconds)
        ),
    };
    paragraph(&mut out, 0, &format!("{}: {}, {launches}", task.phase, kernel.label), columns);
    if !kernel.label.starts_with(variant.as_str()) {
        paragraph(&mut out, 2, variant, columns);
    }
    out
}

fn whole(row: &FindingRow, explanation: &Explanation, columns: usize) -> String {
    let mut out = format!("{}\n", row.title);
    let mut inner = |text: &str| paragraph(&mut out, 2, text, columns);
    inner(&row.sentence);
    if let Some(saving) = &row.saving {
        let confidence = row.confidence.word();
        inner(&match saving.words.strip_prefix("measured: ") {
            Some(gain) => format!("Measured: {gain}."),
            None => format!("A fix saves {} ({confidence} confidence).", saving.words),
        });
    }
    let evidence: Vec<String> = row.evidence.iter().map(|value| format!("{} {}", value.name, value.text)).collect();
    // The head names the launch of a report.
    let launch = row.launch.as_ref().filter(|_| explanation.kernel.is_none());
    let launch = launch.map_or_else(String::new, |launch| format!(" [{launch}]"));
    if !evidence.is_empty() {
        inner(&format!("Evidence: {}{launch}", evidence.join(", ")));
    }
    for line in &row.lines {
        let source = line.source.as_deref().unwrap_or_default();
        let awaited = line.awaited.as_ref().map_or_else(String::new, |awaited| format!("; {}", awaited.words));
        inner(&format!("{} ({:.0} % of samples, {}{awaited}): {source}", line.place, line.share, line.stall));
    }
    inner(&format!("Try: {}", row.advice));
    for further in &row.further {
        inner(&format!("Or: {further}"));
    }
    match &explanation.kernel {
        Some(_) => inner(&format!("Rule: {}", row.rule)),
        None => inner(&format!("Id: {}", row.id)),
    }
    out
}

/// A Markdown table with a row for each explanation.
pub fn table(explanations: &[Explanation]) -> String {
    let mut out = match explanations.iter().any(|one| one.kernel.is_some()) {
        true => "| kernel | total time",
        false => "| variant | time",
    }
    .to_owned();
    out += " | main cause | saves at most | measured | next |\n| --- | --: | --- | --: | --: | --- |\n";
    for explanation in explanations {
        let row = explanation.bottleneck.as_ref();
        let cause = match (row, &explanation.not_asked) {
            (Some(row), _) => row.heading().to_string(),
            (None, Some(lacks)) => format!("not judged: {} of {} rules lack counters", lacks.rules, lacks.of),
            (None, None) if explanation.outcome == DiagnosisOutcome::NotJudged => "not judged".to_owned(),
            (None, None) => "no significant cause".to_owned(),
        };
        let saving = row.and_then(|row| row.saving.as_ref());
        let percent = saving.map_or_else(String::new, |saving| format!("{:.0} %", saving.percent));
        let pair = saving
            .and_then(|saving| saving.pair.as_ref())
            .map_or_else(String::new, |pair| format!("{:.0} %", pair.percent));
        let next = explanation.next_experiment.as_deref().unwrap_or_default();
        let kernel = explanation.kernel.as_ref();
        let _ = writeln!(
            out,
            "| {} | {} | {} | {percent} | {pair} | {} |",
            escape(kernel.map_or(&explanation.variant, |kernel| &kernel.label)),
            time(kernel.map_or(explanation.microseconds, |kernel| kernel.total_microseconds)),
            escape(&cause),
            escape(next)
        );
    }
    out
}
