//! Judged runs by phase, oldest first.

use super::entry::HistoryEntry;
use ncu_explain::CodeDiff;
use ncugate_model::CleanText;
use ncugate_phase::plan::{Method, Plan, Variant};
use serde::{Deserialize, Serialize};
use std::cmp::Reverse;

/// Least percentage of a kernel's lines that it must share with another for the difference to be worth reading.
const LEAST_COMMON: usize = 25;

/// Two variants of a run with kernels in different files.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct KernelPair {
    pub baseline: CleanText,
    pub baseline_source: CleanText,
    /// The selected variant.
    pub used: CleanText,
    pub used_source: CleanText,
}

impl KernelPair {
    /// The selected variant of a plan and the first baseline that is a kernel.
    pub fn of(selected: Option<&str>, plan: &Plan) -> Option<Self> {
        let source = |variant: &Variant| match &variant.method {
            Method::Kernel(kernel) => Some(CleanText::from(kernel.source.display().to_string())),
            Method::Function(_) | Method::Command(_) | Method::Captured(_) => None,
        };
        let used = plan.variants.iter().find(|variant| Some(variant.id.0.as_str()) == selected)?;
        let (baseline, baseline_source) = plan.baselines().find_map(|variant| Some((variant, source(variant)?)))?;
        let used_source = source(used)?;
        (used_source != baseline_source).then(|| Self {
            baseline: baseline.id.0.clone(),
            baseline_source,
            used: used.id.0.clone(),
            used_source,
        })
    }
}

/// The runs of one phase.
#[derive(Debug, Clone, PartialEq)]
pub struct PhaseHistory {
    /// Short name.
    pub name: CleanText,
    /// Its runs, oldest first; never empty.
    pub runs: Vec<HistoryEntry>,
    /// Ids of the promoted runs, oldest first.
    pub promoted: Vec<String>,
    /// The kernel in use compared with that of the baseline, if both texts were found.
    pub diffs: Vec<CodeDiff>,
}

/// An earlier run that the code of the latest one is compared with.
#[derive(Debug, Clone, Copy)]
pub struct ReferenceEntry<'a> {
    pub run: &'a HistoryEntry,
    /// Whether it is on the leaderboard.
    pub promoted: bool,
}

impl ReferenceEntry<'_> {
    /// `the promoted run 20261122T043126Z`.
    pub fn words(&self) -> String {
        format!("{}run {}", if self.promoted { "the promoted " } else { "" }, self.run.manifest.run)
    }
}

impl PhaseHistory {
    /// The newest complete run, else the newest run.
    pub fn latest(&self) -> Option<&HistoryEntry> {
        self.runs.iter().rev().find(|run| run.is_complete()).or(self.runs.last())
    }

    /// The last promoted run before the latest one, else the run before it.
    pub fn reference(&self) -> Option<ReferenceEntry<'_>> {
        let latest = self.latest()?;
        let earlier = || self.runs.iter().rev().filter(|earlier| earlier.manifest.started < latest.manifest.started);
        let promoted = self.promoted.iter().rev().find_map(|id| earlier().find(|run| run.manifest.run == *id));
        let promoted = promoted.map(|run| ReferenceEntry { run, promoted: true });
        promoted.or_else(|| Some(ReferenceEntry { run: earlier().next()?, promoted: false }))
    }

    /// Compares the kernel in use with that of the baseline. `text` gives a source by its path and its hash. Kernels
    /// without a text are left out, and so are two that have little in common.
    pub fn compare_code(&mut self, text: impl Fn(&str, &str) -> Option<String>) {
        let Some(latest) = self.latest() else { return };
        let of = |path: &str| text(path, latest.hash(path)?);
        let mut diffs = Vec::new();
        if let Some(two) = &latest.summary.kernels
            && let (Some(other), Some(own)) = (of(&two.baseline_source), of(&two.used_source))
        {
            let title =
                format!("{} ({}) compared with {} ({})", two.used_source, two.used, two.baseline_source, two.baseline);
            let diff = CodeDiff::between(title, &other, &own);
            if diff.kept >= LEAST_COMMON * (diff.added.max(diff.removed) + diff.kept) / 100 {
                diffs.push(diff);
            }
        }
        self.diffs = diffs;
    }
}

/// Every run that could be judged.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct History {
    pub phases: Vec<PhaseHistory>,
    /// Runs that could not be judged, and why.
    pub problems: Vec<CleanText>,
}

impl History {
    /// Orders runs by phase and date. A recording is left out if its run is present too.
    pub fn new(mut runs: Vec<HistoryEntry>, problems: Vec<CleanText>) -> Self {
        fn order(run: &HistoryEntry) -> (&str, jiff::Timestamp, &str) {
            (&run.manifest.phase, run.manifest.started, &run.manifest.run)
        }
        runs.sort_by(|a, b| order(a).cmp(&order(b)).then_with(|| a.folder.cmp(&b.folder)));
        let is_same = |later: &mut HistoryEntry, kept: &mut HistoryEntry| {
            (&later.manifest.phase, &later.manifest.run) == (&kept.manifest.phase, &kept.manifest.run)
        };
        runs.dedup_by(is_same);
        let mut phases: Vec<PhaseHistory> = Vec::new();
        for run in runs {
            match phases.last_mut().filter(|phase| phase.name == run.manifest.phase) {
                Some(phase) => phase.runs.push(run),
                None => {
                    let name = CleanText::from(&run.manifest.phase);
                    phases.push(PhaseHistory { name, runs: vec![run], promoted: Vec::new(), diffs: Vec::new() });
                }
            }
        }
        Self { phases, problems }
    }

    /// Keeps only these phases, in this order, and returns the names without a run.
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

    /// Every run, newest first.
    pub fn newest_first(&self) -> Vec<&HistoryEntry> {
        let mut runs: Vec<&HistoryEntry> = self.phases.iter().flat_map(|phase| phase.runs.iter().rev()).collect();
        runs.sort_by_key(|run| Reverse(run.manifest.started));
        runs
    }

    /// Phases, those with the newest run first.
    pub fn phases_newest_first(&self) -> Vec<&PhaseHistory> {
        let newest = |phase: &PhaseHistory| phase.runs.iter().map(|run| run.manifest.started).max();
        let mut phases: Vec<&PhaseHistory> = self.phases.iter().collect();
        phases.sort_by(|a, b| newest(b).cmp(&newest(a)).then_with(|| a.name.cmp(&b.name)));
        phases
    }
}
