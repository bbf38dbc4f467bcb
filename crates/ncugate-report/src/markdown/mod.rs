//! `report.md`: the contents of the page, readable as text and on GitHub.

mod escape;
mod table;

pub use self::escape::{code, escape};
pub use self::table::MarkdownTable;

use super::error::RenderError;
use super::first_screen::Recommendation;
use super::in_use::UseBasis;
use super::number;
use super::run_report::RunReport;
use super::run_sections;
use super::text;
use super::variant_row::state;
use crate::document::{CellTone, Column, DocumentBlock, DocumentTable, Section, TableCell, markdown_blocks};
use ncu_explain::MetricColumn;
use ncugate_model::{CleanText, Verdict};
use std::fmt::Write as _;

/// Most variants in the table.
const TOP: usize = 10;
/// Most metrics in the variants table.
const COLUMNS: usize = 7;

/// Whether the reader can reach the SVG files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Charts {
    /// In `charts/`.
    Beside,
    /// Not reachable for the reader.
    Absent,
}

/// The full text of `report.md`.
pub fn markdown(report: &RunReport) -> Result<String, RenderError> {
    Ok(sections(report, Charts::Beside).join("\n"))
}

/// The sections, the most important first; each ends with a line break.
pub fn sections(report: &RunReport, charts: Charts) -> Vec<String> {
    let mut sections = vec![verdict(report)];
    let write = |section: Section| markdown_blocks(&[section.into()], 2).trim_start().to_owned();
    sections.extend(run_sections::leading(report).into_iter().map(write));
    sections.push(write(variants(report)));
    sections.extend(run_sections::following(report, charts).into_iter().map(write));
    let notes: Vec<String> = report.first_screen.notes.iter().map(CleanText::to_string).collect();
    let notes = (!notes.is_empty()).then(|| Section::new("notes", "Notes", vec![DocumentBlock::List(notes)]));
    sections.extend(notes.map(write));
    sections
}

fn verdict(report: &RunReport) -> String {
    let headline = &report.headline;
    let mut out = format!("# {}: {}\n\n", escape(&report.title), headline.conclusion);
    let _ = writeln!(out, "**{}** {}\n", headline.verdict.mark(), escape(&headline.reason));
    for said in &headline.changed_limits {
        let _ = writeln!(out, "{}\n", escape(said));
    }
    if let Some(unasked) = &report.source.unasked {
        let _ = writeln!(out, "**Not measured:** {}.\n", escape(unasked));
    }
    let _ = writeln!(out, "{}\n", escape(&report.in_use.sentence));
    if let Some(obstacle) = &headline.obstacle {
        let _ = writeln!(out, "{}\n", escape(obstacle));
    }
    if let Some(choices) = choices(report) {
        let _ = writeln!(out, "{}", markdown_blocks(&[choices], 2).trim_start());
    }
    if let Some(next) = &report.first_screen.next {
        let _ = writeln!(out, "**Next:** {}\n", escape(&next.text()));
    }
    if let Some(title) = report.first_screen.notes_title() {
        let _ = writeln!(out, "{title}: see Notes.\n");
    }
    for sentence in [&headline.tier, &headline.stages].into_iter().flatten() {
        let _ = writeln!(out, "{}\n", escape(sentence));
    }
    let source = text::sentence(&report.source.sentence);
    let _ = writeln!(out, "_{} {}._", escape(&source), escape(&headline.scope));
    out
}

/// What to use at each shape.
fn choices(report: &RunReport) -> Option<DocumentBlock> {
    let head = match report.in_use.basis {
        UseBasis::Nothing => "selected",
        UseBasis::Selected | UseBasis::Fallback if report.first_screen.recommends() => "use",
        UseBasis::Selected | UseBasis::Fallback => "passes",
    };
    let mut table = DocumentTable::new("Choices", ["shape", head, "measured"].map(Column::text).to_vec());
    for row in &report.first_screen.shapes {
        let tone = match row.standing {
            Recommendation::Recommended => CellTone::Strong,
            Recommendation::Losing | Recommendation::NotRecommended => CellTone::Plain,
        };
        let variant = TableCell::of(row.variant.as_str(), tone);
        table.row(vec![TableCell::new(row.shape.as_str()), variant, TableCell::new(row.text())]);
    }
    table.block()
}

fn variants(report: &RunReport) -> Section {
    let metrics = &report.metrics[..report.metrics.len().min(COLUMNS)];
    let heads = metrics.iter().map(MetricColumn::heading).map(Column::number);
    let heads = ["", "rank", "variant"].map(Column::text).into_iter().chain(heads).chain([Column::text("stopped by")]);
    let mut table = DocumentTable { is_whole: true, ..DocumentTable::new("Best variants", heads.collect()) };
    for variant in report.variants.iter().filter(|v| v.rank.is_some()).take(TOP) {
        let values = (0..metrics.len()).map(|at| TableCell::new(report.value_text(variant, at)));
        let stop = TableCell::new(variant.stopped_by.first().map_or("", CleanText::as_str));
        let rank = TableCell::new(variant.rank.map_or_else(String::new, |r| r.to_string()));
        let tone = if variant.selected { CellTone::Strong } else { CellTone::Plain };
        let lead = [
            TableCell::verdict(variant.verdict, state(variant.verdict, variant.uncompared)),
            rank,
            TableCell::of(variant.id.as_str(), tone),
        ];
        table.row(lead.into_iter().chain(values).chain([stop]).collect());
    }
    let wrong = report.variants.iter().filter(|v| v.correctness.verdict == Verdict::Fail).count();
    let shared = report.variants.iter().filter(|v| v.shares.is_some()).count();
    let counts = format!(
        "{} of {} shown; {} wrong; {} share the measurements of a variant with the same machine code. All are in results.json.",
        table.rows.len(),
        number::counted(report.variants.len(), "variant"),
        number::plain(wrong as f64),
        number::plain(shared as f64),
    );
    Section::new("variants", "Best variants", vec![DocumentBlock::Table(table), DocumentBlock::Aside(counts)])
}
