//! Judged runs by phase, oldest first.

use super::shape_comparison::{ShapeComparison, beside};
use crate::code_diff::CodeDiff;
use crate::finding_row::FindingRow;
use crate::in_use::{InUse, ShapeUse};
use crate::model::{Conclusion, Fact, ObjectiveRow};
use crate::run_report::RunReport;
use crate::text;
use jiff::Timestamp;
use ncugate_judge::GateResult;
use ncugate_judge::store::{Manifest, RunState};
use ncugate_model::{CleanText, Verdict};
use ncugate_phase::plan::{Method, Plan, Variant};

#[derive(Debug, Clone, PartialEq)]
pub struct HistoryEntry {
    /// Short name of the phase.
    pub phase: CleanText,
    pub title: CleanText,
    /// The run's id.
    pub run: CleanText,
    pub started: Timestamp,
    /// The commit, shortened, with a `+` suffix if tracked files differed from it.
    pub commit: Option<CleanText>,
    pub gpu: Option<CleanText>,
    /// Whether everything in the plan was tried.
    pub complete: bool,
    pub verdict: Verdict,
    /// The verdict, or that the fallback is used.
    pub conclusion: Conclusion,
    pub reason: CleanText,
    /// Highest tier reached, with the obstacle to the next one.
    pub tier: Option<CleanText>,
    pub selected: Option<CleanText>,
    /// The recommendation: one variant, one for each shape, or none.
    pub to_use: CleanText,
    /// The cost of the fallback, if it is used.
    pub cost: Option<CleanText>,
    /// Numbers of the variant in use, else of the selected one; the objective first.
    pub facts: Vec<Fact>,
    /// The objective of the selection.
    pub objective: Option<ObjectiveRow>,
    /// Gates, in the order of the file.
    pub gates: Vec<GateResult>,
    /// Each shape compared with the fastest baseline.
    pub beside: Vec<ShapeComparison>,
    /// The three costliest findings.
    pub findings: Vec<FindingRow>,
    /// Sources behind its numbers.
    pub code: RunCode,
    pub folder: CleanText,
    /// The rendered report, relative to the folder of reports.
    pub page: Option<CleanText>,
}

/// The sources of a run.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RunCode {
    /// The full commit; none if it is unknown or tracked files differed from it.
    pub commit: Option<String>,
    /// The full commit, even if files differed from it.
    pub near: Option<String>,
    /// Paths of kernel sources with the SHA-256 of their contents.
    pub sources: Vec<(String, String)>,
    /// The kernel in use and the first baseline that is a kernel, if both have separate sources.
    pub beside: Option<KernelPair>,
}

/// Two variants of a run with kernels in different files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KernelPair {
    pub baseline: String,
    pub baseline_source: String,
    /// The variant in use, else the selected one.
    pub used: String,
    pub used_source: String,
}

impl KernelPair {
    /// The selected variant of a plan and the first baseline that is a kernel.
    fn of(selected: Option<&str>, plan: &Plan) -> Option<Self> {
        let source = |variant: &Variant| match &variant.method {
            Method::Kernel(kernel) => Some(kernel.source.display().to_string()),
            Method::Function(_) | Method::Command(_) | Method::Captured(_) => None,
        };
        let used = plan.variants.iter().find(|variant| Some(variant.id.0.as_str()) == selected)?;
        let (baseline, baseline_source) = plan.baselines().find_map(|variant| Some((variant, source(variant)?)))?;
        let used_source = source(used)?;
        (used_source != baseline_source).then(|| Self {
            baseline: baseline.id.to_string(),
            baseline_source,
            used: used.id.to_string(),
            used_source,
        })
    }
}

/// Least percentage of a kernel's lines that it must share with another for the difference to be worth reading.
const LEAST_COMMON: usize = 25;
/// Findings kept of a run.
const FINDINGS: usize = 3;

impl RunCode {
    fn of(manifest: &Manifest, beside: Option<KernelPair>) -> Self {
        let near = manifest.git.as_ref().map(|git| text::line(&git.commit));
        let clean = manifest.git.as_ref().filter(|git| !git.dirty);
        let sources = manifest.sources.iter().map(|(path, hash)| (text::line(path), text::line(hash)));
        Self { commit: clean.map(|git| text::line(&git.commit)), near, sources: sources.collect(), beside }
    }

    /// The hash of a source's contents.
    pub fn hash(&self, path: &str) -> Option<&str> {
        self.sources.iter().find(|(known, _)| known == path).map(|(_, hash)| hash.as_str())
    }

    /// Sources that differ from an earlier run, or that it does not have.
    pub fn changed_since(&self, earlier: &Self) -> Vec<&str> {
        let changed = self.sources.iter().filter(|source| !earlier.sources.contains(source));
        changed.map(|(path, _)| path.as_str()).collect()
    }
}

impl HistoryEntry {
    /// A run from its report and manifest.
    pub fn of(report: &RunReport, manifest: &Manifest, plan: &Plan, folder: &str, page: Option<String>) -> Self {
        Self {
            phase: report.phase.clone(),
            title: report.title.clone(),
            run: report.run.clone(),
            started: manifest.started,
            commit: manifest.git.as_ref().map(|git| {
                let short: String = git.commit.chars().take(10).collect();
                format!("{short}{}", if git.dirty { "+" } else { "" }).into()
            }),
            gpu: manifest.fingerprint.gpu.as_ref().map(|gpu| (&gpu.name).into()),
            complete: manifest.state == RunState::Complete,
            verdict: report.headline.verdict,
            conclusion: report.headline.conclusion,
            reason: report.headline.reason.clone(),
            tier: report.headline.tier.clone(),
            selected: report.headline.selected.clone(),
            to_use: CleanText::whole(&to_use(&report.in_use)),
            cost: report.in_use.cost.clone(),
            facts: report.headline.facts.clone(),
            objective: report.objective.clone(),
            gates: report.gates.clone(),
            beside: beside(report),
            findings: report.findings.iter().filter(|finding| finding.leading).take(FINDINGS).cloned().collect(),
            code: RunCode::of(manifest, KernelPair::of(report.headline.selected.as_deref(), plan)),
            folder: folder.into(),
            page: page.map(CleanText::from),
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
        ([], Some(variant)) | ([_], Some(variant)) => variant.to_string(),
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
    pub name: CleanText,
    /// Its runs, oldest first; never empty.
    pub runs: Vec<HistoryEntry>,
    /// Changes in the code, if the source texts were found.
    pub diffs: Vec<CodeDiff>,
}

impl PhaseHistory {
    /// The newest complete run, else the newest run.
    pub fn latest(&self) -> Option<&HistoryEntry> {
        self.runs.iter().rev().find(|run| run.complete).or(self.runs.last())
    }

    /// The run before the latest one.
    pub fn before_latest(&self) -> Option<&HistoryEntry> {
        let latest = self.latest()?;
        self.runs.iter().rev().find(|earlier| earlier.started < latest.started)
    }

    /// Compares the sources of the latest run with those of the previous one, and the kernel in use with that of the
    /// baseline. `text` gives a source by its path, its hash and a commit near it. Sources without a text are left out,
    /// and so are two kernels that have little in common.
    pub fn compare_code(&mut self, text: impl Fn(&str, &str, Option<&str>) -> Option<String>) {
        let Some(latest) = self.latest() else { return };
        let of = |run: &HistoryEntry, path: &str| text(path, run.code.hash(path)?, run.code.near.as_deref());
        let mut diffs = Vec::new();
        if let Some(before) = self.before_latest() {
            for path in latest.code.changed_since(&before.code) {
                if let (Some(then), Some(now)) = (of(before, path), of(latest, path)) {
                    diffs.push(CodeDiff::between(format!("{path} since run {}", before.run), &then, &now));
                }
            }
        }
        if let Some(two) = &latest.code.beside
            && let (Some(other), Some(own)) = (of(latest, &two.baseline_source), of(latest, &two.used_source))
        {
            let title = format!("{} ({}) beside {} ({})", two.used_source, two.used, two.baseline_source, two.baseline);
            let diff = CodeDiff::between(title, &other, &own);
            if diff.kept >= LEAST_COMMON * (diff.added.max(diff.removed) + diff.kept) / 100 {
                diffs.push(diff);
            }
        }
        self.diffs = diffs;
    }

    /// Gates of the latest run, in its order.
    pub fn gates(&self) -> &[GateResult] {
        self.latest().map_or(&[], |run| run.gates.as_slice())
    }
}

/// Every run that could be judged.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct History {
    pub phases: Vec<PhaseHistory>,
    /// Runs that could not be judged, and why.
    pub problems: Vec<String>,
}

impl History {
    /// Orders runs by phase and date. A recording is left out if its run is present too.
    pub fn new(mut runs: Vec<HistoryEntry>, problems: Vec<String>) -> Self {
        runs.sort_by(|a, b| (&a.phase, a.started, &a.run, &a.folder).cmp(&(&b.phase, b.started, &b.run, &b.folder)));
        runs.dedup_by(|later, kept| later.phase == kept.phase && later.run == kept.run);
        let mut phases: Vec<PhaseHistory> = Vec::new();
        for run in runs {
            match phases.last_mut().filter(|phase| phase.name == run.phase) {
                Some(phase) => phase.runs.push(run),
                None => phases.push(PhaseHistory { name: run.phase.clone(), runs: vec![run], diffs: Vec::new() }),
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
}
