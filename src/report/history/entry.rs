//! Judged runs by phase, oldest first.

use super::beside::{ShapeBeside, beside};
use crate::model::Verdict;
use crate::report::finding_row::FindingRow;
use crate::report::gate_row::GateRow;
use crate::report::in_use::{InUse, ShapeUse};
use crate::report::model::{Conclusion, Fact, ObjectiveRow};
use crate::report::report::Report;
use crate::report::text;
use crate::store::{Manifest, RunState};
use jiff::Timestamp;

/// A judged run.
#[derive(Debug, Clone, PartialEq)]
pub struct HistoryEntry {
    /// Short name of the phase.
    pub phase: String,
    /// Title of the phase.
    pub title: String,
    /// The run's id.
    pub run: String,
    /// When it started.
    pub started: Timestamp,
    /// The commit, shortened; `+` follows where tracked files differed from it.
    pub commit: Option<String>,
    /// The GPU.
    pub gpu: Option<String>,
    /// Whether everything the plan asks for was tried.
    pub complete: bool,
    /// The verdict.
    pub verdict: Verdict,
    /// The verdict, or that the fallback was taken.
    pub conclusion: Conclusion,
    /// One sentence why.
    pub reason: String,
    /// Highest tier reached, with what keeps the next away.
    pub tier: Option<String>,
    /// The selected variant.
    pub selected: Option<String>,
    /// What is to be used: a variant, one a shape, or that the phase gives none.
    pub to_use: String,
    /// What the fallback costs, where it is used.
    pub cost: Option<String>,
    /// Numbers of the variant in use, else of the selected one, the objective first.
    pub facts: Vec<Fact>,
    /// What the variant was selected by.
    pub objective: Option<ObjectiveRow>,
    /// Gates, in the order of the file.
    pub gates: Vec<GateRow>,
    /// Each shape beside the fastest baseline.
    pub beside: Vec<ShapeBeside>,
    /// What costs most, the first three.
    pub findings: Vec<FindingRow>,
    /// What its numbers were made of.
    pub code: RunCode,
    /// Where the run is.
    pub folder: String,
    /// The rendered report, relative to the folder of reports.
    pub page: Option<String>,
}

/// The sources of a run.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RunCode {
    /// The commit, whole; none where the run says none or tracked files differed from it.
    pub commit: Option<String>,
    /// Paths of kernel sources with the SHA-256 of what they held.
    pub sources: Vec<(String, String)>,
}

/// Findings kept of a run.
const FINDINGS: usize = 3;

impl RunCode {
    fn of(manifest: &Manifest) -> Self {
        let clean = manifest.git.as_ref().filter(|git| !git.dirty);
        let sources = manifest.sources.iter().map(|(path, hash)| (text::line(path), text::line(hash)));
        Self { commit: clean.map(|git| text::line(&git.commit)), sources: sources.collect() }
    }

    /// Sources that are another than in an earlier run, or that it does not have.
    pub fn changed_since(&self, earlier: &Self) -> Vec<&str> {
        let changed = self.sources.iter().filter(|source| !earlier.sources.contains(source));
        changed.map(|(path, _)| path.as_str()).collect()
    }
}

impl HistoryEntry {
    /// A run from its report and manifest.
    pub fn of(report: &Report, manifest: &Manifest, folder: &str, page: Option<String>) -> Self {
        Self {
            phase: report.phase.clone(),
            title: report.title.clone(),
            run: report.run.clone(),
            started: manifest.started,
            commit: manifest.git.as_ref().map(|git| {
                let short: String = text::line(&git.commit).chars().take(10).collect();
                if git.dirty { short + "+" } else { short }
            }),
            gpu: manifest.fingerprint.gpu.as_ref().map(|gpu| text::line(&gpu.name)),
            complete: manifest.state == RunState::Complete,
            verdict: report.headline.verdict,
            conclusion: report.headline.conclusion,
            reason: report.headline.reason.clone(),
            tier: report.headline.tier.clone(),
            selected: report.headline.selected.clone(),
            to_use: to_use(&report.in_use),
            cost: report.in_use.cost.clone(),
            facts: report.headline.facts.clone(),
            objective: report.objective.clone(),
            gates: report.gates.clone(),
            beside: beside(report),
            findings: report.findings.iter().filter(|finding| finding.leading).take(FINDINGS).cloned().collect(),
            code: RunCode::of(manifest),
            folder: text::line(folder),
            page,
        }
    }

    /// The objective's value with its unit.
    pub fn best(&self) -> Option<String> {
        self.objective.as_ref().and_then(ObjectiveRow::text)
    }

    /// The day it started.
    pub fn date(&self) -> String {
        self.started.strftime("%Y-%m-%d %H:%M").to_string()
    }
}

/// `A`, `A at mission; B at large`, `nothing`.
fn to_use(used: &InUse) -> String {
    let groups = used.by_variant();
    match (groups.as_slice(), &used.variant) {
        ([], None) => "nothing".to_owned(),
        ([], Some(variant)) | ([_], Some(variant)) => variant.clone(),
        (groups, _) => {
            let at = |shapes: &[&ShapeUse]| shapes.iter().map(|s| s.shape.as_str()).collect::<Vec<_>>().join(", ");
            let said: Vec<String> = groups.iter().map(|(id, shapes)| format!("{id} at {}", at(shapes))).collect();
            said.join("; ")
        }
    }
}

/// The runs of one phase.
#[derive(Debug, Clone, PartialEq)]
pub struct PhaseHistory {
    /// Short name.
    pub name: String,
    /// Its runs, oldest first; never empty.
    pub runs: Vec<HistoryEntry>,
}

impl PhaseHistory {
    /// The newest run that is complete, else the newest.
    pub fn latest(&self) -> Option<&HistoryEntry> {
        self.runs.iter().rev().find(|run| run.complete).or(self.runs.last())
    }

    /// Gates of the latest run, in its order.
    pub fn gates(&self) -> &[GateRow] {
        self.latest().map_or(&[], |run| run.gates.as_slice())
    }
}

/// Every run that could be judged.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct History {
    /// Phases by name.
    pub phases: Vec<PhaseHistory>,
    /// Runs that could not be judged, and why.
    pub problems: Vec<String>,
}

impl History {
    /// Orders runs by phase and date; a recording of a run that is there too is left out.
    pub fn new(mut runs: Vec<HistoryEntry>, problems: Vec<String>) -> Self {
        runs.sort_by(|a, b| (&a.phase, a.started, &a.run, &a.folder).cmp(&(&b.phase, b.started, &b.run, &b.folder)));
        runs.dedup_by(|later, kept| later.phase == kept.phase && later.run == kept.run);
        let mut phases: Vec<PhaseHistory> = Vec::new();
        for run in runs {
            match phases.last_mut().filter(|phase| phase.name == run.phase) {
                Some(phase) => phase.runs.push(run),
                None => phases.push(PhaseHistory { name: run.phase.clone(), runs: vec![run] }),
            }
        }
        Self { phases, problems }
    }

    /// Only these phases, in this order; the names that have no run.
    pub fn of(mut self, names: &[String]) -> (Self, Vec<String>) {
        let mut missing = Vec::new();
        let mut phases = Vec::new();
        for name in names {
            match self.phases.iter().position(|phase| &phase.name == name) {
                Some(at) => phases.push(self.phases.swap_remove(at)),
                None => missing.push(name.clone()),
            }
        }
        (Self { phases, problems: self.problems }, missing)
    }
}
