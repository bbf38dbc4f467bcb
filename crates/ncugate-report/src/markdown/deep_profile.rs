//! The deep profile in Markdown.

use super::escape::escape;
use super::table::MarkdownTable;
use crate::deep_profile::DeepProfileRow;
use crate::line_pairs::{LineTime, PairedLines};
use crate::model::Measure;
use crate::ncu_advice::{HotLineRow, HotRow, RuleRow};
use ncugate_model::CleanText;

/// Most hot lines, instructions and rules shown.
const HOT: usize = 6;
/// Most warp states shown.
const STATES: usize = 8;

/// Where time is spent in the deeply profiled variant: warp states, hot lines and instructions, ncu's rules.
pub fn deep_profile(profile: &DeepProfileRow) -> String {
    let names: Vec<String> = profile.variants.iter().map(|variant| escape(&variant.label)).collect();
    let mut out = format!(
        "## Deep profile\n\n{} at shape {}. {}\n",
        names.join(" and "),
        escape(&profile.shape),
        escape(&profile.note)
    );
    out.push_str(&states(profile));
    profile.pairs.iter().for_each(|pair| out.push_str(&pair_lines(pair)));
    if let Some(advice) = &profile.advice {
        out.push_str(&lines(&advice.lines));
        out.push_str(&instructions(&advice.hot));
        out.push_str(&rules(&advice.rules));
        advice.missing.iter().for_each(|line| out.push_str(&format!("\n{}.\n", escape(line))));
    }
    out
}

fn states(profile: &DeepProfileRow) -> String {
    let states = profile.states();
    if states.is_empty() {
        return String::new();
    }
    let names = profile.variants.iter().map(|variant| variant.short.as_str());
    let mut table = MarkdownTable::new(&std::iter::once("warp state").chain(names).collect::<Vec<_>>());
    for state in states.into_iter().take(STATES) {
        let cycles = |value: &Measure| value.number().map_or_else(|| "n/a".to_owned(), |n| n.text.clone());
        let title = escape(state.title.trim_start_matches("Stall: "));
        table.row(std::iter::once(title).chain(state.values.iter().map(cycles)).collect());
    }
    format!("\nCycles for each issued instruction, the longest first:\n\n{table}")
}

fn lines(hot: &[HotLineRow]) -> String {
    if hot.is_empty() {
        return String::new();
    }
    let mut table = MarkdownTable::new(&["share %", "line", "source", "mostly"]);
    for hot in hot.iter().take(HOT) {
        table.row(vec![hot.share.text.clone(), escape(&hot.line), known(&hot.source), escape(&hot.stall)]);
    }
    format!("\nHottest source lines:\n\n{table}")
}

/// Two variants line by line.
fn pair_lines(pair: &PairedLines) -> String {
    let mut table = MarkdownTable::new(&["line", "source", &pair.first, &pair.other, "change", "what changed"]);
    for line in pair.lines.iter().take(HOT) {
        let time = |time: &Option<LineTime>| time.as_ref().map_or_else(|| "-".to_owned(), |time| time.time.to_string());
        let states: Vec<&str> = line.states.iter().map(CleanText::as_str).collect();
        let (first, other, states) = (time(&line.first), time(&line.other), states.join(", "));
        table.row(vec![
            escape(&line.line),
            line.source.as_deref().map_or_else(String::new, escape),
            first,
            other,
            line.change.to_string(),
            escape(&states),
        ]);
    }
    format!("\nLine by line, with {}:\n\n{table}", escape(&pair.other))
}

fn instructions(hot: &[HotRow]) -> String {
    if hot.is_empty() {
        return String::new();
    }
    let mut table = MarkdownTable::new(&["share %", "offset", "instruction", "line", "mostly"]);
    for hot in hot.iter().take(HOT) {
        let (code, line) = (known(&hot.instruction), known(&hot.line));
        table.row(vec![hot.share.text.clone(), hot.offset.to_string(), code, line, escape(&hot.stall)]);
    }
    format!("\nHottest instructions:\n\n{table}")
}

fn rules(rules: &[RuleRow]) -> String {
    let estimated = rules.iter().filter_map(|rule| Some((rule, rule.estimate.as_ref()?)));
    let line = |(rule, estimate): (&RuleRow, &CleanText)| {
        format!("- {} (speedup {}): {}\n", escape(&rule.title), escape(estimate), escape(&rule.text))
    };
    let lines: String = estimated.take(HOT).map(line).collect();
    if lines.is_empty() { lines } else { format!("\nNsight Compute's rules with an estimate:\n\n{lines}") }
}

fn known(text: &Option<CleanText>) -> String {
    text.as_deref().map_or_else(String::new, escape)
}
