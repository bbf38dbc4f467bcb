//! `report.html`: the template writes the leading parts. The table of variants is data that the page's script draws.

mod columns;
mod data;
mod pool;

use super::error::RenderError;
use super::markdown::Charts;
use super::run_report::RunReport;
use super::run_sections;
use super::{page, text};
use crate::document::{DocumentBlock, Section};
use indexmap::IndexSet;
use ncu_explain::{MetricEntry, metric_entry};
use ncugate_model::{CleanText, Verdict};
use serde::Serialize;

/// The script of the page: one function, so that its names stay private.
pub(super) const SCRIPT: &str = concat!(
    "\"use strict\";\n(() => {\n",
    include_str!("../templates/script/element.js"),
    include_str!("../templates/script/theme.js"),
    include_str!("../templates/script/change.js"),
    include_str!("../templates/script/data.js"),
    include_str!("../templates/script/columns.js"),
    include_str!("../templates/script/table.js"),
    include_str!("../templates/script/copy.js"),
    include_str!("../templates/script/fold.js"),
    include_str!("../templates/script/address.js"),
    include_str!("../templates/script/filters.js"),
    include_str!("../templates/script/pair.js"),
    include_str!("../templates/script/detail.js"),
    include_str!("../templates/script/charts.js"),
    include_str!("../templates/script/points.js"),
    "makeColumns();\nconst opened = readAddress();\nupdate();\ndrawPair();\nif (opened) open(opened);\n})();\n",
);

/// The page.
///
/// # Errors
/// A template or a chart that fails.
pub fn html(report: &RunReport) -> Result<String, RenderError> {
    let blocks = |sections: Vec<Section>| sections.into_iter().map(DocumentBlock::Section).collect();
    let context = Context {
        tone: report.headline.conclusion.tone(),
        report,
        recommends: report.first_screen.recommends(),
        leading: blocks(run_sections::leading(report)),
        following: blocks(run_sections::following(report, Charts::Beside)),
        origin: text::sentence(&report.source.sentence),
        notes_title: report.first_screen.notes_title(),
        objective: report.objective.as_ref().map_or("", |objective| objective.title.as_str()),
        definitions: definitions(report),
        shape: report.shapes.get(report.objective_shape).map_or("", CleanText::as_str),
        data: embeddable(&serde_json::to_string(&data::data(report))?),
    };
    page::render("report.html", context, Some(SCRIPT))
}

/// The context of the template.
#[derive(Serialize)]
struct Context<'a> {
    tone: Verdict,
    report: &'a RunReport,
    /// Whether the variants of the first screen are recommended.
    recommends: bool,
    /// Sections before the table of variants.
    leading: Vec<DocumentBlock>,
    /// Sections after it.
    following: Vec<DocumentBlock>,
    /// Where and when the run was measured.
    origin: String,
    notes_title: Option<String>,
    /// Title of the objective's metric.
    objective: &'a str,
    /// Metrics of the page with their definitions.
    definitions: Vec<MetricEntry>,
    /// The objective's shape.
    shape: &'a str,
    data: String,
}

/// The catalogue's entries of all metrics of the page.
fn definitions(report: &RunReport) -> Vec<MetricEntry> {
    let deep = report.deep_profile.iter().flat_map(|profile| &profile.metrics).map(|metric| metric.name.as_str());
    let names: IndexSet<&str> = report.metrics.iter().map(|metric| metric.name.as_str()).chain(deep).collect();
    names.into_iter().filter_map(metric_entry).filter(|entry| entry.title.is_some()).collect()
}

/// JSON without any text that an HTML parser could read as markup, inside or outside a script element.
fn embeddable(json: &str) -> String {
    let mut out = String::with_capacity(json.len() + json.len() / 50);
    for c in json.chars() {
        match c {
            '<' => out.push_str("\\u003c"),
            '>' => out.push_str("\\u003e"),
            '&' => out.push_str("\\u0026"),
            '\u{2028}' => out.push_str("\\u2028"),
            '\u{2029}' => out.push_str("\\u2029"),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn data_cannot_leave_its_element() {
        assert_eq!(embeddable(r#""</script><!--&""#), r#""\u003c/script\u003e\u003c!--\u0026""#);
    }
}
