//! Observations of Nsight Compute as blocks of a document.

use super::document::{CellTone, Column, DocumentBlock, DocumentTable, Medium, Section, TableCell};
use super::number::{self, Number};
use ncu_explain::{NcuAdvice, RuleRow};
use ncugate_model::CleanText;

/// Hottest lines and instructions, and ncu's rules.
pub fn blocks(advice: &NcuAdvice) -> Vec<DocumentBlock> {
    let table = |label: &str, heads: &[&str]| {
        let heads = heads.iter().copied().chain(["Mostly"]).map(Column::text);
        DocumentTable::new(label, ["Share", "Samples"].map(Column::number).into_iter().chain(heads).collect())
    };
    let share = |share: &Number| TableCell {
        bar: Some(share.value),
        ..TableCell::value(share.value, number::share(share.value))
    };
    let text = |text: &Option<CleanText>| text.as_deref().unwrap_or_default().to_owned();
    let mut lines = table("Hottest source lines", &["Line", "Source"]);
    for hot in &advice.lines {
        let samples = TableCell::value(hot.samples.value, hot.samples.text.as_str());
        let place = [TableCell::new(hot.line.as_str()), TableCell::of(text(&hot.source), CellTone::Code)];
        lines.row(
            [share(&hot.share), samples].into_iter().chain(place).chain([TableCell::new(hot.stall.as_str())]).collect(),
        );
    }
    let mut instructions = table("Hottest instructions", &["Offset", "Instruction", "Line"]);
    for hot in &advice.hot {
        let inlined = hot.inlined.as_ref().map_or_else(String::new, |place| format!("from {place}"));
        let line = TableCell { why: text(&hot.source), ..TableCell::new(text(&hot.line)).note(inlined) };
        let samples = TableCell::value(hot.samples.value, hot.samples.text.as_str());
        let code = [TableCell::new(hot.offset.as_str()), TableCell::of(text(&hot.instruction), CellTone::Code), line];
        let cells = [share(&hot.share), samples].into_iter().chain(code);
        instructions.row(cells.chain([TableCell::new(hot.stall.as_str())]).collect());
    }
    let mut blocks: Vec<DocumentBlock> = Vec::new();
    for table in [lines, instructions] {
        let title = format!("{}: {}", table.label, table.rows.len());
        blocks.extend(table.block().map(|block| Section::folded(title, Medium::File, vec![block]).into()));
    }
    blocks.extend(advice.missing.iter().map(|line| DocumentBlock::Aside(line.to_string())));
    let rule = |rule: &RuleRow| {
        let speedup = rule.estimate.as_ref().map_or_else(String::new, |estimate| format!(" (speedup {estimate})"));
        format!("{}{speedup}: {}", rule.title, rule.text)
    };
    if !advice.rules.is_empty() {
        let rules = vec![DocumentBlock::List(advice.rules.iter().map(rule).collect())];
        let title = format!("Nsight Compute's rules: {}", advice.rules.len());
        blocks.push(Section::folded(title, Medium::File, rules).into());
    }
    blocks
}
