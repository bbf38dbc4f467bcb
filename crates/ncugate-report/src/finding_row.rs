//! Findings as blocks of a document.

use super::document::{DocumentBlock, FindingBlock};
use ncu_explain::FindingRow;

pub fn block(row: &FindingRow) -> FindingBlock {
    let saving = row.saving.as_ref().filter(|_| row.rule != "ncu");
    let confidence = row.confidence.word();
    let saving = saving.map(|saving| format!("Fixing it could save {} ({confidence} confidence).", saving.words));
    let (title, advice) = (row.title.to_string(), row.advice.to_string());
    let lines = [row.sentence.to_string()].into_iter().chain(saving).collect();
    FindingBlock { title, severity: row.severity, lines, advice }
}

/// Findings for readers; none without any.
pub fn blocks(rows: &[FindingRow]) -> Option<DocumentBlock> {
    (!rows.is_empty()).then(|| DocumentBlock::Findings(rows.iter().map(block).collect()))
}
