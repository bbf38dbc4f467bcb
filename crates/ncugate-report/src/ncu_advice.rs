//! Observations of Nsight Compute as blocks of a document.

use super::document::{CellTone, Column, DocumentBlock, DocumentTable, Medium, Section, TableCell};
use super::number::Number;
use ncu_explain::{NcuAdvice, RuleRow};
use ncugate_model::CleanText;

/// Hottest lines and instructions, and ncu's rules.
pub fn blocks(advice: &NcuAdvice) -> Vec<DocumentBlock> {
    let table = |label: &str, heads: &[&str]| {
        let heads = heads.iter().copied().chain(["Mostly"]).map(Column::text);
        DocumentTable::new(label, ["Share", "Samples"].map(Column::number).into_iter().chain(heads).collect())
    };
    let row = |table: &mut DocumentTable, share: &Number, samples: &Number, place: Vec<TableCell>, stall: &str| {
        let samples = TableCell::value(samples.value, samples.text.as_str());
        let head = [TableCell::share(share.value), samples].into_iter();
        table.row(head.chain(place).chain([TableCell::new(stall)]).collect());
    };
    let text = |text: &Option<CleanText>| text.as_deref().unwrap_or_default().to_owned();
    let mut lines = table("Hottest source lines", &["Line", "Source"]);
    for hot in &advice.lines {
        let place = vec![TableCell::new(hot.line.as_str()), TableCell::of(text(&hot.source), CellTone::Code)];
        row(&mut lines, &hot.share, &hot.samples, place, &hot.stall);
    }
    let mut instructions = table("Hottest instructions", &["Offset", "Instruction", "Line"]);
    for hot in &advice.hot {
        let inlined = hot.inlined.as_ref().map_or_else(String::new, |place| format!("from {place}"));
        let line = TableCell { why: text(&hot.source), ..TableCell::new(text(&hot.line)).note(inlined) };
        let code = TableCell::of(text(&hot.instruction), CellTone::Code);
        let place = vec![TableCell::new(hot.offset.as_str()), code, line];
        row(&mut instructions, &hot.share, &hot.samples, place, &hot.stall);
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
