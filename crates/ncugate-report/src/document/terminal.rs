//! A document on a screen: what matters most, with the answer last.

use super::{Document, DocumentBlock, DocumentTable, Medium, Section, TableCell};
use crate::text_table::{Alignment, TextTable};
use crate::wrap::paragraph;
use std::fmt::Write as _;

/// Most rows of a table.
const ROWS: usize = 25;

/// The document for a terminal of that many columns, or without a limit.
pub fn terminal(document: &Document, columns: Option<usize>) -> String {
    let mut out = blocks(&document.blocks, columns);
    if !document.sentence.is_empty() {
        out.push('\n');
        paragraph(&mut out, 0, &document.sentence, columns.unwrap_or(usize::MAX));
    }
    out
}

pub fn blocks(blocks: &[DocumentBlock], columns: Option<usize>) -> String {
    let mut out = String::new();
    let wide = columns.unwrap_or(usize::MAX);
    for block in blocks {
        match block {
            DocumentBlock::Section(section) => write_section(&mut out, section, columns),
            DocumentBlock::Facts(facts) => {
                for fact in facts {
                    let verdict = if fact.verdict.is_empty() { String::new() } else { format!("  {}", fact.verdict) };
                    let _ = writeln!(out, "{}  {}{verdict}", fact.label, fact.text);
                    let indent = fact.label.chars().count() + 2;
                    fact.about.iter().for_each(|line| paragraph(&mut out, indent, line, wide));
                }
            }
            DocumentBlock::Text(text) | DocumentBlock::Aside(text) | DocumentBlock::LeftOut(text) => {
                paragraph(&mut out, 0, text, wide)
            }
            DocumentBlock::Note(text) => paragraph(&mut out, 0, &format!("note: {text}"), wide),
            DocumentBlock::Next(text) => paragraph(&mut out, 0, &format!("next: {text}"), wide),
            DocumentBlock::Findings(findings) => {
                for finding in findings {
                    paragraph(&mut out, 0, &format!("{}: {}", finding.title, finding.lines.join(" ")), wide);
                    let advice = Some(&finding.advice).filter(|advice| !advice.is_empty());
                    advice.iter().for_each(|advice| paragraph(&mut out, 2, &format!("Try: {advice}"), wide));
                }
            }
            DocumentBlock::List(lines) => lines.iter().for_each(|line| paragraph(&mut out, 0, line, wide)),
            DocumentBlock::Table(table) => write_table(&mut out, table, columns),
            DocumentBlock::Figures(charts) => {
                for chart in charts {
                    paragraph(&mut out, 0, &format!("{} {}", chart.title, chart.note), wide);
                }
            }
            DocumentBlock::Code(lines) => lines.iter().for_each(|line| out.push_str(&format!("{}\n", line.text))),
        }
    }
    out
}

fn write_section(out: &mut String, section: &Section, columns: Option<usize>) {
    if section.medium > Medium::Screen {
        return;
    }
    out.push('\n');
    paragraph(out, 0, &format!("{} {}", section.title, section.about), columns.unwrap_or(usize::MAX));
    for line in blocks(&section.blocks, columns.map(|columns| columns.saturating_sub(2))).lines() {
        let _ = writeln!(out, "{}", format!("  {line}").trim_end());
    }
}

fn write_table(out: &mut String, table: &DocumentTable, columns: Option<usize>) {
    let mut shown: Vec<usize> = (0..table.columns.len()).collect();
    let mut text = text_table(table, &shown);
    while columns.is_some_and(|columns| text.least_width(columns) > columns) {
        let Some(minor) = shown.iter().rposition(|at| table.columns[*at].is_minor) else { break };
        shown.remove(minor);
        text = text_table(table, &shown);
    }
    text.write(out, columns);
    if let Some(rest) = table.rest(ROWS) {
        paragraph(out, 0, &rest, columns.unwrap_or(usize::MAX));
    }
}

fn text_table(table: &DocumentTable, shown: &[usize]) -> TextTable {
    let columns = || shown.iter().map(|at| &table.columns[*at]);
    let side = |is_number| if is_number { Alignment::Right } else { Alignment::Left };
    let mut text = TextTable::new(columns().map(|column| side(column.is_number)).collect());
    if columns().any(|column| !column.title.is_empty()) {
        text.push(columns().map(|column| column.title.clone()).collect());
    }
    for row in table.shown(ROWS) {
        let cells = shown.iter().filter_map(|at| row.cells.get(*at));
        text.push(cells.map(cell_text).collect());
    }
    text
}

fn cell_text(cell: &TableCell) -> String {
    if cell.note.is_empty() {
        cell.plain()
    } else {
        format!("{} ({})", cell.plain(), cell.note).trim_start().to_owned()
    }
}
