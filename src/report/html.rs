//! `report.html`: what is read first is written by the template; the table of variants is data, drawn by the page's
//! script.

mod changes;
mod columns;
mod data;
mod pool;

use super::deep_profile::{DeepMetric, DeepProfileRow};
use super::deltas::Delta;
use super::error::RenderError;
use super::finding_row::FindingRow;
use super::gate_row::{FallbackRow, GateRow, PreconditionRow, StageRow, TierRow, WaiverRow};
use super::in_use::InUse;
use super::model::Headline;
use super::page;
use super::provenance::{Provenance, RunOrigin};
use super::report::Report;
use super::search::SearchRow;
use super::shape_matrix::ShapeMatrix;
use super::speed_of_light::SpeedOfLightRow;
use super::steps::StepTable;
use super::trust::Trust;
use crate::chart::ChartTable;
use crate::chart::svg::{self, Setting};
use crate::model::Verdict;
use serde::Serialize;

/// The script of the page: one function, so that its names are nobody else's.
pub(super) const SCRIPT: &str = concat!(
    "\"use strict\";\n(() => {\n",
    include_str!("../../templates/script/element.js"),
    include_str!("../../templates/script/theme.js"),
    include_str!("../../templates/script/data.js"),
    include_str!("../../templates/script/columns.js"),
    include_str!("../../templates/script/table.js"),
    include_str!("../../templates/script/copy.js"),
    include_str!("../../templates/script/address.js"),
    include_str!("../../templates/script/filters.js"),
    include_str!("../../templates/script/pair.js"),
    include_str!("../../templates/script/detail.js"),
    include_str!("../../templates/script/points.js"),
    "makeColumns();\nconst opened = readAddress();\nupdate();\ndrawPair();\nif (opened) open(opened);\n})();\n",
);

/// The page.
///
/// # Errors
/// A template or a chart that fails.
pub fn html(report: &Report) -> Result<String, RenderError> {
    let context = Context {
        tone: report.headline.conclusion.tone(),
        report: Shell::new(report),
        charts: drawings(report)?,
        figures: report.deep_profile.as_ref().map_or_else(Vec::new, DeepProfileRow::figures),
        data: embeddable(&serde_json::to_string(&data::data(report))?),
    };
    page::render("report.html", context, Some(SCRIPT))
}

/// What the template is given.
#[derive(Serialize)]
struct Context<'a> {
    tone: Verdict,
    report: Shell<'a>,
    charts: Vec<Drawing<'a>>,
    figures: Vec<&'a DeepMetric>,
    data: String,
}

/// The report as the template sees it: everything but variants and charts, which have their own ways into the page.
#[derive(Serialize)]
struct Shell<'a> {
    title: &'a str,
    phase: &'a str,
    run: &'a str,
    headline: &'a Headline,
    in_use: &'a InUse,
    matrix: &'a Option<ShapeMatrix>,
    trust: &'a Trust,
    source: &'a RunOrigin,
    gates: &'a [GateRow],
    tiers: &'a [TierRow],
    stages: &'a [StageRow],
    fallback: &'a Option<FallbackRow>,
    preconditions: &'a [PreconditionRow],
    waivers: &'a [WaiverRow],
    steps: &'a Option<StepTable>,
    deltas: &'a [Delta],
    search: &'a Option<SearchRow>,
    speed_of_light: &'a [SpeedOfLightRow],
    unsaid: Vec<String>,
    findings: &'a [FindingRow],
    deep_profile: &'a Option<DeepProfileRow>,
    provenance: &'a Provenance,
    missing: &'a [String],
    warnings: &'a [String],
    reproduce: &'a [String],
    shape: &'a str,
}

impl<'a> Shell<'a> {
    fn new(report: &'a Report) -> Self {
        Self {
            title: &report.title,
            phase: &report.phase,
            run: &report.run,
            headline: &report.headline,
            in_use: &report.in_use,
            matrix: &report.matrix,
            trust: &report.trust,
            source: &report.source,
            gates: &report.gates,
            tiers: &report.tiers,
            stages: &report.stages,
            fallback: &report.fallback,
            preconditions: &report.preconditions,
            waivers: &report.waivers,
            steps: &report.steps,
            deltas: &report.deltas,
            search: &report.search,
            speed_of_light: &report.speed_of_light,
            unsaid: report.unsaid(),
            findings: &report.findings,
            deep_profile: &report.deep_profile,
            provenance: &report.provenance,
            missing: &report.missing,
            warnings: &report.warnings,
            reproduce: &report.reproduce,
            shape: report.shapes.get(report.objective_shape).map_or("", String::as_str),
        }
    }
}

/// A chart drawn for the page.
#[derive(Serialize)]
struct Drawing<'a> {
    id: &'a str,
    title: &'a str,
    note: &'a str,
    svg: String,
    table: &'a ChartTable,
}

fn drawings(report: &Report) -> Result<Vec<Drawing<'_>>, RenderError> {
    report
        .charts
        .iter()
        .map(|c| {
            let svg = svg::draw(c, Setting::Page)?;
            Ok(Drawing { id: &c.id, title: &c.title, note: &c.note, svg, table: &c.table })
        })
        .collect()
}

/// JSON that holds nothing an HTML parser could take for markup, in a script element or outside one.
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
