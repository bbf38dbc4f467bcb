//! `report.md`: the contents of the page, readable as text and on GitHub.

mod escape;
mod table;

pub use self::escape::{code, escape};
pub use self::table::MarkdownTable;

use super::error::RenderError;
use super::first_screen::Recommendation;
use super::in_use::UseBasis;
use super::model::MetricColumn;
use super::number;
use super::run_report::RunReport;
use super::run_sections;
use super::text;
use super::variant_row::{VariantRow, state};
use crate::document::{Section, markdown_blocks};
use ncugate_model::Verdict;
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
    sections.push(variants(report));
    sections.extend(run_sections::following(report, charts).into_iter().map(write));
    sections.extend(list("Notes", &report.first_screen.notes));
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
    out.push_str(&choices(report));
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

/// A row for each shape: the variant to use, bold, or the selected one if none is recommended.
fn choices(report: &RunReport) -> String {
    if report.first_screen.shapes.is_empty() {
        return String::new();
    }
    let head = match report.in_use.basis {
        UseBasis::Nothing => "selected",
        UseBasis::Selected | UseBasis::Fallback if report.first_screen.recommends() => "use",
        UseBasis::Selected | UseBasis::Fallback => "passes",
    };
    let mut table = MarkdownTable::new(&["shape", head, "measured"]);
    for row in &report.first_screen.shapes {
        let variant = match row.standing {
            Recommendation::Recommended => format!("**{}**", escape(&row.variant)),
            Recommendation::Losing | Recommendation::NotRecommended => escape(&row.variant),
        };
        table.row(vec![escape(&row.shape), variant, escape(&row.text())]);
    }
    format!("{table}\n")
}

fn variants(report: &RunReport) -> String {
    let metrics = &report.metrics[..report.metrics.len().min(COLUMNS)];
    let heads = metrics.iter().map(MetricColumn::heading);
    let heads: Vec<String> =
        ["", "rank", "variant"].map(str::to_owned).into_iter().chain(heads).chain(["stopped by".to_owned()]).collect();
    let mut table = MarkdownTable::new(&heads);
    let shown: Vec<&VariantRow> = report.variants.iter().filter(|v| v.rank.is_some()).take(TOP).collect();
    for variant in &shown {
        let values = (0..metrics.len()).map(|at| report.value_text(variant, at));
        let stop = variant.stopped_by.first().map_or_else(String::new, |s| escape(s));
        let rank = variant.rank.map_or_else(String::new, |r| r.to_string());
        let name = if variant.selected { format!("**{}**", escape(&variant.id)) } else { escape(&variant.id) };
        let state = state(variant.verdict, variant.uncompared).to_uppercase();
        table.row([state, rank, name].into_iter().chain(values).chain([stop]).collect());
    }
    let wrong = report.variants.iter().filter(|v| v.correctness.verdict == Verdict::Fail).count();
    let shared = report.variants.iter().filter(|v| v.shares.is_some()).count();
    let mut out = format!("## Best variants\n\n{table}");
    let _ = writeln!(
        out,
        "\n{} of {} shown; {} wrong; {} share the measurements of a variant with the same machine code. All are in `results.json`.",
        shown.len(),
        number::counted(report.variants.len(), "variant"),
        number::plain(wrong as f64),
        number::plain(shared as f64),
    );
    out
}

fn list<T: AsRef<str>>(title: &str, lines: &[T]) -> Option<String> {
    if lines.is_empty() {
        return None;
    }
    let lines: String = lines.iter().map(|line| format!("- {}\n", escape(line.as_ref()))).collect();
    Some(format!("## {title}\n\n{lines}"))
}
