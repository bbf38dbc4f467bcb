//! One run of a history.

use super::KernelPair;
use crate::in_use::{InUse, ShapeUse};
use crate::model::{Headline, ObjectiveRow};
use crate::run_report::RunReport;
use ncugate_judge::GateResult;
use ncugate_judge::reference_runs::Conditions;
use ncugate_judge::store::{Manifest, RunState};
use ncugate_model::number::Number;
use ncugate_model::{CleanText, Verdict};
use ncugate_phase::plan::Plan;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// Characters of a commit that are shown.
const COMMIT: usize = 10;

/// The parts of a report that a list of runs shows. A report has megabytes, and a list has a thousand runs; only this is
/// kept of each and stored in the cache.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunSummary {
    pub title: CleanText,
    pub headline: Headline,
    pub in_use: InUse,
    pub objective: Option<ObjectiveRow>,
    /// Gates, in the order of the file.
    pub gates: Vec<GateValue>,
    /// The kernel in use and the first baseline that is a kernel, if their sources differ.
    pub kernels: Option<KernelPair>,
    /// What its times depend on beside the code.
    pub conditions: Conditions,
}

/// The value of a gate in one run. A [`GateResult`] also has its cases, which may be millions.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct GateValue {
    /// The name, and whether it is advisory.
    pub title: CleanText,
    pub metric: Option<CleanText>,
    pub unit: CleanText,
    /// The effective verdict: a waived failure passes.
    pub verdict: Verdict,
    pub measured: Option<Number>,
    pub limit: Option<Number>,
}

impl From<GateResult> for GateValue {
    fn from(gate: GateResult) -> Self {
        Self {
            title: gate.title().into(),
            verdict: gate.effective(),
            metric: gate.metric,
            unit: gate.unit,
            measured: gate.summary.measured,
            limit: gate.summary.limit,
        }
    }
}

impl RunSummary {
    /// The head of a report of a run with this plan.
    pub fn new(report: RunReport, plan: &Plan, conditions: Conditions) -> Self {
        Self {
            conditions,
            kernels: KernelPair::of(report.headline.selected.as_deref(), plan),
            title: report.title,
            headline: report.headline,
            in_use: report.in_use,
            objective: report.objective,
            gates: report.gates.into_iter().map(GateValue::from).collect(),
        }
    }
}

/// A judged run on disk.
#[derive(Debug, Clone, PartialEq)]
pub struct HistoryEntry {
    pub folder: PathBuf,
    pub manifest: Manifest,
    pub summary: RunSummary,
    /// The rendered report, relative to the folder of reports, if it exists.
    pub page: Option<String>,
}

impl HistoryEntry {
    /// Whether everything in the plan was tried.
    pub fn is_complete(&self) -> bool {
        self.manifest.state == RunState::Complete
    }

    /// The commit, shortened, with a `+` suffix if tracked files differed from it.
    pub fn commit(&self) -> Option<CleanText> {
        let git = self.manifest.git.as_ref()?;
        let short: String = git.commit.chars().take(COMMIT).collect();
        Some(format!("{short}{}", if git.dirty { "+" } else { "" }).into())
    }

    /// The GPU's name.
    pub fn machine(&self) -> CleanText {
        self.manifest.fingerprint.gpu.as_ref().map_or_else(|| "unknown GPU".into(), |gpu| (&gpu.name).into())
    }

    /// The minute it started, in UTC.
    pub fn date(&self) -> String {
        self.manifest.started.strftime("%Y-%m-%d %H:%M").to_string()
    }

    /// The hash of a source's contents.
    pub fn hash(&self, path: &str) -> Option<&str> {
        self.manifest.sources.iter().find(|(known, _)| known == path).map(|(_, hash)| hash.as_str())
    }

    /// Sources that differ from an earlier run, or that it does not have.
    pub fn changed_since(&self, earlier: &Self) -> Vec<&str> {
        let known = &earlier.manifest.sources;
        let changed = self.manifest.sources.iter().filter(|source| !known.contains(source));
        changed.map(|(path, _)| path.as_str()).collect()
    }
}

/// `A`, `A at mission; B at large`, `nothing`.
pub fn to_use(used: &InUse) -> CleanText {
    let groups = used.by_variant();
    match (groups.as_slice(), &used.variant) {
        ([], None) => "nothing".into(),
        ([], Some(variant)) | ([_], Some(variant)) => variant.clone(),
        (groups, _) => {
            let at = |shapes: &[&ShapeUse]| shapes.iter().map(|s| s.shape.as_str()).collect::<Vec<_>>().join(", ");
            let said: Vec<String> = groups.iter().map(|(id, shapes)| format!("{id} at {}", at(shapes))).collect();
            CleanText::whole(&said.join("; "))
        }
    }
}
