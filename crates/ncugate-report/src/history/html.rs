//! The index page: one self-contained file. Its script filters and switches the theme; without it the page is complete.

use super::charts::charts;
use super::entry::{HistoryEntry, RunSummary, to_use};
use super::phases::{History, PhaseHistory};
use crate::chart::Chart;
use crate::chart::svg::Drawing;
use crate::code_diff::CodeDiff;
use crate::error::RenderError;
use crate::{number, page};
use ncugate_model::{CleanText, Verdict};
use serde::Serialize;
use std::collections::BTreeSet;

/// The script of the page.
const SCRIPT: &str = concat!(
    "\"use strict\";\n(() => {\n",
    include_str!("../../templates/script/element.js"),
    include_str!("../../templates/script/theme.js"),
    include_str!("../../templates/script/charts.js"),
    include_str!("../../templates/script/runs.js"),
    "})();\n",
);

/// The context of the template.
#[derive(Serialize)]
struct IndexPage<'a> {
    /// `66 runs of 3 phases`.
    extent: String,
    /// Phases whose latest run passes.
    passing: usize,
    phases: Vec<PhaseState<'a>>,
    /// Newest first.
    runs: Vec<RunRow<'a>>,
    machines: BTreeSet<CleanText>,
    problems: &'a [CleanText],
}

/// The state of a phase by its latest run.
#[derive(Serialize)]
struct PhaseState<'a> {
    name: &'a str,
    latest: RunRow<'a>,
    diffs: Vec<DiffBlock<'a>>,
    charts: Vec<Drawing<'a>>,
}

/// A difference with its size in words.
#[derive(Serialize)]
struct DiffBlock<'a> {
    size: String,
    diff: &'a CodeDiff,
}

/// A run, with the texts of its manifest cleaned.
#[derive(Serialize)]
struct RunRow<'a> {
    phase: CleanText,
    run: CleanText,
    folder: CleanText,
    page: Option<&'a str>,
    date: String,
    commit: Option<CleanText>,
    machine: CleanText,
    complete: bool,
    tone: Verdict,
    /// The objective with its unit.
    best: Option<String>,
    to_use: CleanText,
    summary: &'a RunSummary,
}

impl<'a> RunRow<'a> {
    fn new(entry: &'a HistoryEntry) -> Self {
        let summary = &entry.summary;
        Self {
            phase: (&entry.manifest.phase).into(),
            run: (&entry.manifest.run).into(),
            folder: entry.folder.display().to_string().into(),
            page: entry.page.as_deref(),
            date: entry.date(),
            commit: entry.commit(),
            machine: entry.machine(),
            complete: entry.is_complete(),
            tone: summary.headline.conclusion.tone(),
            best: summary.objective.as_ref().and_then(|objective| objective.text()),
            to_use: to_use(&summary.in_use),
            summary,
        }
    }
}

/// The page.
///
/// # Errors
/// A template or a chart that fails.
pub fn html(history: &History) -> Result<String, RenderError> {
    let phases = history.phases_newest_first();
    let charts: Vec<Vec<Chart>> = phases.iter().map(|phase| charts(phase)).collect();
    let states = phases.iter().zip(&charts).filter_map(|(phase, charts)| state(phase, charts).transpose());
    let states: Vec<PhaseState<'_>> = states.collect::<Result<_, _>>()?;
    let runs: Vec<RunRow<'_>> = history.newest_first().into_iter().map(RunRow::new).collect();
    let extent = format!("{} of {}", number::counted(runs.len(), "run"), number::counted(states.len(), "phase"));
    let context = IndexPage {
        extent,
        passing: states.iter().filter(|phase| phase.latest.summary.headline.verdict == Verdict::Pass).count(),
        machines: runs.iter().map(|run| run.machine.clone()).collect(),
        phases: states,
        runs,
        problems: &history.problems,
    };
    page::render("index.html", context, Some(SCRIPT))
}

/// The state of a phase; none without runs.
fn state<'a>(phase: &'a PhaseHistory, charts: &'a [Chart]) -> Result<Option<PhaseState<'a>>, RenderError> {
    let Some(latest) = phase.latest() else { return Ok(None) };
    Ok(Some(PhaseState {
        name: &phase.name,
        latest: RunRow::new(latest),
        diffs: phase.diffs.iter().map(|diff| DiffBlock { size: diff.size(), diff }).collect(),
        charts: charts.iter().map(Drawing::new).collect::<Result<_, _>>()?,
    }))
}
