//! A document as Markdown that reads as text.

use super::{Block, Cell, Document, Medium, Section, Table, Tone};
use crate::markdown::{MarkdownTable, code, escape};
use std::fmt::Write as _;

/// Most rows of a table.
const ROWS: usize = 100;

pub fn markdown(document: &Document) -> String {
    let mut out = format!("# {}\n", escape(&document.title));
    if !document.sentence.is_empty() {
        let _ = write!(out, "\n**{}**\n", escape(&document.sentence));
    }
    out + &blocks(&document.blocks, 2)
}

/// Blocks whose headings are of this depth.
pub fn blocks(blocks: &[Block], depth: usize) -> String {
    let mut out = String::new();
    for block in blocks {
        match block {
            Block::Section(section) => out += &write_section(section, depth),
            Block::Facts(facts) => {
                out.push('\n');
                for fact in facts {
                    let about: String = fact.about.iter().map(|line| format!("; {}", escape(line))).collect();
                    let verdict =
                        if fact.verdict.is_empty() { String::new() } else { format!(" **{}**", fact.verdict) };
                    let _ = writeln!(out, "- {}: {}{verdict}{about}", escape(&fact.label), escape(&fact.text));
                }
            }
            Block::Text(text) | Block::Aside(text) => out += &format!("\n{}\n", escape(text)),
            Block::Note(text) => out += &format!("\nNote: {}\n", escape(text)),
            Block::Next(text) => out += &format!("\n**Next:** {}\n", escape(text)),
            Block::Findings(findings) => {
                out.push('\n');
                for (at, finding) in findings.iter().enumerate() {
                    let lines = escape(&finding.lines.join(" "));
                    let _ = writeln!(out, "{}. **{}**: {lines}", at + 1, escape(&finding.title));
                    if !finding.advice.is_empty() {
                        let _ = writeln!(out, "   Try: {}", escape(&finding.advice));
                    }
                }
            }
            Block::List(lines) => {
                out.push('\n');
                lines.iter().for_each(|line| out.push_str(&format!("- {}\n", escape(line))));
            }
            Block::Table(table) => out += &write_table(table),
            Block::Figure(chart) => {
                out += &format!("\n![{}](charts/{}.svg)\n\n{}\n", escape(&chart.title), chart.id, escape(&chart.note));
            }
            Block::Code(lines) => out += &format!("\n{}", code(lines.iter().map(|line| line.text.as_str()))),
        }
    }
    out
}

fn write_section(section: &Section, depth: usize) -> String {
    if section.medium > Medium::File {
        return String::new();
    }
    let about = if section.about.is_empty() { String::new() } else { format!(" {}", escape(&section.about)) };
    format!("\n{} {}{about}\n", "#".repeat(depth), escape(&section.title)) + &blocks(&section.blocks, depth + 1)
}

fn write_table(table: &Table) -> String {
    let heads: Vec<&str> = table.columns.iter().map(|column| column.title.as_str()).collect();
    let mut text = MarkdownTable::new(&heads);
    for row in table.rows.iter().take(ROWS) {
        text.row(row.cells.iter().map(cell).collect());
    }
    let rest = table.rest(ROWS).map_or_else(String::new, |rest| format!("\n{}\n", escape(&rest)));
    format!("\n{text}{rest}")
}

fn cell(cell: &Cell) -> String {
    let text = match cell.tone {
        Tone::Strong if !cell.text.is_empty() => format!("**{}**", escape(&cell.text)),
        _ => escape(&cell.text),
    };
    format!("{text} {}", escape(&cell.note)).trim_end().to_owned()
}
