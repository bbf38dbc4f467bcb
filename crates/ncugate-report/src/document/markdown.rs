//! A document as Markdown that reads as text.

use super::{CellTone, Document, DocumentBlock, DocumentTable, Fold, Medium, Section, TableCell};
use crate::markdown::{MarkdownTable, code, escape};
use std::fmt::Write as _;

/// Most rows of a table.
const ROWS: usize = 100;
/// Most lines of code.
const LINES: usize = 60;
/// The chart whose table is a ranking that readers want as text.
const RANKING: &str = "sensitivity";

pub fn markdown(document: &Document) -> String {
    let mut out = format!("# {}\n", escape(&document.title));
    if !document.sentence.is_empty() {
        let _ = write!(out, "\n**{}**\n", escape(&document.sentence));
    }
    out + &blocks(&document.blocks, 2)
}

/// Blocks whose headings are of this depth.
pub fn blocks(blocks: &[DocumentBlock], depth: usize) -> String {
    let mut out = String::new();
    for block in blocks {
        match block {
            DocumentBlock::Section(section) => out += &write_section(section, depth),
            DocumentBlock::Facts(facts) => {
                out.push('\n');
                for fact in facts {
                    let about: String = fact.about.iter().map(|line| format!("; {}", escape(line))).collect();
                    let verdict =
                        if fact.verdict.is_empty() { String::new() } else { format!(" **{}**", fact.verdict) };
                    let _ = writeln!(out, "- {}: {}{verdict}{about}", escape(&fact.label), escape(&fact.text));
                }
            }
            DocumentBlock::Text(text) | DocumentBlock::Aside(text) | DocumentBlock::LeftOut(text) => {
                out += &format!("\n{}\n", escape(text))
            }
            DocumentBlock::Note(text) => out += &format!("\nNote: {}\n", escape(text)),
            DocumentBlock::Next(text) => out += &format!("\n**Next:** {}\n", escape(text)),
            DocumentBlock::Findings(findings) => {
                out.push('\n');
                for (at, finding) in findings.iter().enumerate() {
                    let lines = escape(&finding.lines.join(" "));
                    let _ = writeln!(out, "{}. **{}**: {lines}", at + 1, escape(&finding.title));
                    if !finding.advice.is_empty() {
                        let _ = writeln!(out, "   Try: {}", escape(&finding.advice));
                    }
                }
            }
            DocumentBlock::List(lines) => {
                out.push('\n');
                lines.iter().for_each(|line| out.push_str(&format!("- {}\n", escape(line))));
            }
            DocumentBlock::Table(table) => out += &write_table(table),
            DocumentBlock::Figures(charts) => {
                for chart in charts {
                    let (title, note) = (escape(&chart.title), escape(&chart.note));
                    out += &format!("\n![{title}](charts/{}.svg)\n\n{note}\n", chart.id);
                    if chart.id == RANKING {
                        let mut ranking = MarkdownTable::new(&chart.table.head);
                        chart.table.rows.iter().for_each(|row| ranking.row(row.iter().map(|c| escape(c)).collect()));
                        out += &format!("\n{ranking}");
                        if !chart.table.same.is_empty() {
                            out += &format!("\nSame in all rows: {}.\n", escape(&chart.table.same.join("; ")));
                        }
                    }
                }
            }
            DocumentBlock::Code(lines) => {
                out += &format!("\n{}", code(lines.iter().take(LINES).map(|line| line.text.as_str())));
                if let Some(more) = lines.len().checked_sub(LINES).filter(|more| *more > 0) {
                    out += &format!("\n{} omitted; the page has them.\n", crate::number::counted(more, "line"));
                }
            }
        }
    }
    out
}

fn write_section(section: &Section, depth: usize) -> String {
    if section.medium > Medium::File {
        return String::new();
    }
    let about = if section.about.is_empty() || section.fold != Fold::None {
        String::new()
    } else {
        format!("\n{}\n", escape(&section.about))
    };
    format!("\n{} {}\n{about}", "#".repeat(depth), escape(&section.title)) + &blocks(&section.blocks, depth + 1)
}

fn write_table(table: &DocumentTable) -> String {
    let heads: Vec<&str> = table.columns.iter().map(|column| column.title.as_str()).collect();
    let mut text = MarkdownTable::new(&heads);
    for row in table.shown(ROWS) {
        text.row(row.cells.iter().map(cell).collect());
    }
    let rest = table.rest(ROWS).map_or_else(String::new, |rest| format!("\n{}\n", escape(&rest)));
    format!("\n{text}{rest}")
}

fn cell(cell: &TableCell) -> String {
    let text = match cell.tone {
        _ if cell.link.as_ref().is_some_and(|link| !link.starts_with('#')) => {
            let link = cell.link.as_deref().unwrap_or_default().replace(['<', '>'], "");
            format!("[{}](<{link}>)", escape(&cell.text))
        }
        CellTone::Strong if !cell.text.is_empty() => format!("**{}**", escape(&cell.text)),
        _ => escape(&cell.plain()),
    };
    if cell.note.is_empty() { text } else { format!("{text} ({})", escape(&cell.note)).trim_start().to_owned() }
}
