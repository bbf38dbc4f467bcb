//! Explains the time of a kernel for one kind of reader: one bottleneck, its evidence, the next experiment.

mod agent;
mod document;
mod overview;
mod report;

pub use agent::brief;
pub use document::table;
pub use overview::overview;
pub use report::{KernelTime, ReportExplanation};

use super::ablation_row::AblationRow;
use super::assemble::observations;
use super::in_use::subjects;
use super::mutation_space::{MutationSpace, mutation_space};
use super::number;
use super::rule_answers::{ablations, answers, diagnose, diagnosis_row, with_diagnosis};
use crate::analysis::DeepProfiles;
use ncu_explain::{
    DiagnosedLaunch, DiagnosisOutcome, DiagnosisRow, Finding, FindingRow, PairedLines, RuleAnswers, RuleCoverage,
    SampledVariant, is_mostly_asked, pair, quoted,
};
use ncugate_judge::{Correctness, JudgeError, JudgedRun};
use ncugate_model::rule::Confidence;
use ncugate_model::stats::Resampler;
use ncugate_model::{AblationRecord, CleanText, Level, Quantities, ShapeName, VariantId, Verdict};
use serde::Serialize;
use std::collections::BTreeMap;

/// The explanation of one variant or launch.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Explanation {
    pub task: TaskContext,
    /// The fastest variants known.
    pub bests: Vec<HistoricalBest>,
    /// The variant, or the kernel of a report.
    pub variant: CleanText,
    /// The shape, or the launch of a report.
    pub shape: CleanText,
    /// For a report, the launches that it stands for; null for a run.
    pub kernel: Option<KernelTime>,
    /// Its median latency in microseconds, or its duration under the profiler if the latency is unknown.
    pub microseconds: Option<f64>,
    /// The busiest unit, in words: if nothing was found, or only with low confidence.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub busiest: Option<CleanText>,
    /// The costliest finding. Null if nothing was found; `outcome` says whether the rules could be evaluated.
    pub bottleneck: Option<FindingRow>,
    /// Outcome of the rules.
    pub outcome: DiagnosisOutcome,
    /// The outcome in words: nothing costs much, or not judged and why.
    pub says: CleanText,
    /// Rules without counters, and the command that collects them; null if all rules have theirs.
    pub not_asked: Option<RuleCoverage>,
    pub next_experiment: Option<CleanText>,
    /// All other findings of the rules, most important first.
    pub insights: Vec<FindingRow>,
    /// The largest estimates of Nsight Compute's own rules, if these rules found nothing or mostly lack counters.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub ncu: Vec<FindingRow>,
    /// What each cost was worth on copies of the machine code, if that was measured.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub ablations: Vec<AblationRow>,
    /// Findings at the other shapes, for the variants in use there.
    pub elsewhere: Vec<ShapeCause>,
}

/// The main finding for the variant in use at another shape.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ShapeCause {
    pub variant: CleanText,
    pub shape: CleanText,
    /// Outcome of the rules.
    pub outcome: DiagnosisOutcome,
    pub cause: Option<CleanText>,
    /// The possible saving from a fix.
    pub saving: Option<CleanText>,
}

/// The requirements of a phase.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct TaskContext {
    /// Name of the phase, or the report.
    pub phase: CleanText,
    /// The objective that ranks variants.
    pub objective: Option<CleanText>,
    /// Dimensions of the shape.
    pub dims: BTreeMap<String, i64>,
    /// Source and entry of the kernel.
    pub kernel: Option<CleanText>,
    /// Parameters of the variant.
    pub params: BTreeMap<CleanText, CleanText>,
    /// Parameters with their values, and the next values beyond the edges of the sweep.
    #[serde(skip_serializing_if = "MutationSpace::is_empty")]
    pub space: MutationSpace,
    /// Required gates that do not hold, with the reason.
    pub open_gates: Vec<CleanText>,
}

/// A variant and how fast it is.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct HistoricalBest {
    /// The variant; for another run, with the run.
    pub variant: CleanText,
    /// Its median latency in microseconds.
    pub microseconds: f64,
}

/// Number of bests listed.
const BESTS: usize = 3;

/// Facts of a run, read once for any number of explanations.
pub struct Explainer<'s, 'a> {
    session: &'s JudgedRun<'a>,
    seen: Quantities,
    observations: Vec<ncu_explain::NcuObservations>,
    ablations: Vec<AblationRecord>,
}

impl<'s, 'a> Explainer<'s, 'a> {
    /// Reads the deep profiles of a judged run.
    ///
    /// # Errors
    /// A report of ncu is damaged.
    pub fn new(session: &'s JudgedRun<'a>) -> Result<Self, JudgeError> {
        let measured = session.measurements();
        let deep = DeepProfiles::read(measured.run(), measured.plan(), measured.capability());
        let observations = observations(session, &deep)?;
        let ablations = ablations(measured.run(), measured.plan());
        Ok(Self { session, ablations, seen: measured.quantities().filled_from(&deep.quantities), observations })
    }

    /// Explains a variant at a shape.
    ///
    /// # Errors
    /// A report of ncu is damaged.
    pub fn explain(&self, variant: &VariantId, shape: &ShapeName) -> Result<Explanation, JudgeError> {
        let found = diagnose(self.session, &self.seen, &self.observations, std::slice::from_ref(variant))?;
        let of_shape: Vec<Finding> = found.into_iter().filter(|finding| &finding.shape == shape).collect();
        let microseconds = self.latency(variant, shape);
        let has_cause = of_shape.iter().any(Finding::is_cause);
        let (unasked, busiest) = with_diagnosis(self.session, &self.seen, &self.observations, |diagnosis| {
            (diagnosis.unasked(variant, shape), diagnosis.busiest(variant, shape))
        })?;
        let row = diagnosis_row(self.session, &self.seen, (variant, shape), has_cause, &unasked);
        let rows = of_shape.iter().map(|finding| FindingRow::of(finding, shape)).collect();
        Ok(Explanation {
            task: self.task(variant, shape),
            bests: self.bests(shape),
            ablations: AblationRow::all(&self.ablations, variant, shape),
            ..explanation(row, microseconds, rows, busiest)
        })
    }

    /// The variant in use at a shape, else the selected one.
    pub fn used_at(&self, shape: &ShapeName) -> Option<VariantId> {
        let used = self.subjects().into_iter().find(|(_, used_at)| used_at == shape);
        used.map(|(variant, _)| variant).or_else(|| self.session.selected().cloned())
    }

    /// Variants and shapes for advice, the objective's shape first.
    fn subjects(&self) -> Vec<(VariantId, ShapeName)> {
        let measured = self.session.measurements();
        subjects(measured.phase(), measured.plan(), self.session.judgement(), measured.quantities())
    }

    /// Explains the variant in use at the objective's shape, with a summary for the other shapes. None if no variant is
    /// selected.
    ///
    /// # Errors
    /// A report of ncu is damaged.
    pub fn in_use(&self) -> Result<Option<Explanation>, JudgeError> {
        let subjects = self.subjects();
        let Some(((variant, shape), others)) = subjects.split_first() else { return Ok(None) };
        let mut first = self.explain(variant, shape)?;
        first.task.space = mutation_space(self.session, shape, &Resampler::default());
        for (variant, shape) in others {
            let other = self.explain(variant, shape)?;
            first.elsewhere.push(ShapeCause {
                variant: other.variant,
                shape: other.shape,
                outcome: other.outcome,
                saving: other.bottleneck.as_ref().and_then(|row| Some(row.saving.as_ref()?.words.clone())),
                cause: other.bottleneck.map(|row| row.heading()),
            });
        }
        Ok(Some(first))
    }

    /// Pairs the lines of one variant with those of another. None unless both have a deep profile with common lines.
    pub fn beside(&self, variant: &VariantId, other: &VariantId, shape: &ShapeName) -> Option<PairedLines> {
        let run = self.session.measurements().run();
        let sampled = |id: &'_ VariantId| {
            let measured = run.measured_as(id);
            let said = self.observations.iter().find(|said| &said.variant == measured && &said.shape == shape)?;
            Some((said, self.seen.read(id, shape, "duration").value()))
        };
        let of = |id: &VariantId| sampled(id).map(|(said, duration)| (id.to_string(), said, duration));
        let ((own, said, duration), (label, theirs, their_duration)) = (of(variant)?, of(other)?);
        pair(
            SampledVariant { label: &own, said, duration },
            SampledVariant { label: &label, said: theirs, duration: their_duration },
        )
    }

    /// How often each rule holds among all variants.
    ///
    /// # Errors
    /// A report of ncu is damaged.
    pub fn answers(&self) -> Result<Vec<RuleAnswers>, JudgeError> {
        answers(self.session, &self.seen)
    }

    fn latency(&self, variant: &VariantId, shape: &ShapeName) -> Option<f64> {
        let read = |metric: &str| self.seen.read(variant, shape, metric).value().filter(|v| v.is_finite());
        read("latency_p50").or_else(|| read("duration").map(|ns| ns / 1e3))
    }

    fn task(&self, variant: &VariantId, shape: &ShapeName) -> TaskContext {
        let (measured, judgement) = (self.session.measurements(), self.session.judgement());
        let phase = measured.phase();
        let planned = measured.plan().variant(variant);
        let dims = phase.workload.shapes.iter().find(|known| &known.name == shape).map(|known| known.dims.clone());
        let open = judgement.gates.iter().filter(|g| g.level == Level::Required && g.verdict != Verdict::Pass);
        let kernel = planned.and_then(|variant| match &variant.method {
            ncugate_phase::plan::Method::Kernel(kernel) => {
                Some(format!("{} ({})", kernel.source.display(), kernel.entries().join(", ")))
            }
            ncugate_phase::plan::Method::Function(_)
            | ncugate_phase::plan::Method::Command(_)
            | ncugate_phase::plan::Method::Captured(_) => None,
        });
        TaskContext {
            phase: (&phase.name).into(),
            objective: Some(format!("{} at {}", phase.objective.metric, phase.objective.shape).into()),
            dims: dims.into_iter().flatten().collect(),
            kernel: kernel.map(CleanText::from),
            params: planned
                .into_iter()
                .flat_map(|variant| &variant.params)
                .map(|(name, value)| (name.into(), value.to_string().into()))
                .collect(),
            space: MutationSpace::default(),
            open_gates: open.map(|gate| format!("{}: {}", gate.name, gate.reason).into()).collect(),
        }
    }

    /// The fastest proven variants of this run at the shape, and the variants that it is compared with.
    fn bests(&self, shape: &ShapeName) -> Vec<HistoricalBest> {
        let measured = self.session.measurements();
        let proven = |id: &VariantId| {
            measured.correctness().get(id).is_some_and(|proof| matches!(proof, Correctness::Proven { .. }))
        };
        let own = measured.plan().variants.iter().filter(|variant| proven(&variant.id));
        let own = own.filter_map(|variant| {
            let microseconds = measured.quantities().read(&variant.id, shape, "latency_p50").value()?;
            Some(HistoricalBest { variant: variant.id.0.clone(), microseconds })
        });
        let earlier = self.session.references().comparison_runs();
        let earlier = earlier.iter().filter_map(|run| {
            let microseconds = run.quantities.read(run.variant, shape, "latency_p50").value()?;
            Some(HistoricalBest { variant: format!("{} ({})", run.variant, run.what).into(), microseconds })
        });
        let mut bests: Vec<HistoricalBest> = own.chain(earlier).filter(|best| best.microseconds.is_finite()).collect();
        bests.sort_by(|a, b| a.microseconds.total_cmp(&b.microseconds));
        bests.truncate(BESTS);
        bests
    }
}

impl Explanation {
    /// Whether the time is known and at most 40 % of the rules lack counters.
    pub fn is_mostly_asked(&self) -> bool {
        self.microseconds.is_some()
            && self.not_asked.as_ref().is_none_or(|lacks| is_mostly_asked(lacks.rules, lacks.of))
    }
}

/// Explains a launch of a report.
fn of_launch(report: &str, launch: &DiagnosedLaunch) -> Explanation {
    let shape = ShapeName(format!("launch {}", launch.id).into());
    let row = DiagnosisRow::of_launch(launch);
    let rows = launch.findings.iter().map(|finding| FindingRow::of(finding, &shape)).collect();
    let microseconds = launch.duration.map(|ns| ns / 1e3);
    let ncu = quoted(launch);
    Explanation {
        task: TaskContext { phase: report.into(), ..TaskContext::default() },
        ncu,
        ..explanation(row, microseconds, rows, launch.busiest.clone())
    }
}

fn explanation(
    row: DiagnosisRow,
    microseconds: Option<f64>,
    mut rows: Vec<FindingRow>,
    busiest: Option<String>,
) -> Explanation {
    let at = rows.iter().position(FindingRow::is_cause);
    let bottleneck = at.map(|at| rows.remove(at));
    let is_unsure = bottleneck.as_ref().is_none_or(|row| row.confidence == Confidence::Low);
    let advice = bottleneck.as_ref().map(|row| row.advice.clone()).filter(|advice| !advice.is_empty());
    let collect = || row.not_asked.as_ref().and_then(|not_asked| not_asked.command.clone());
    Explanation {
        task: TaskContext::default(),
        bests: Vec::new(),
        next_experiment: advice.or_else(|| collect().filter(|_| row.outcome == DiagnosisOutcome::NotJudged)),
        variant: row.variant,
        shape: row.shape,
        kernel: None,
        microseconds,
        busiest: busiest.filter(|_| is_unsure).map(CleanText::from),
        bottleneck,
        outcome: row.outcome,
        says: row.sentence,
        not_asked: row.not_asked,
        insights: rows,
        ncu: Vec::new(),
        ablations: Vec::new(),
        elsewhere: Vec::new(),
    }
}

/// `612.2 µs`, or text for an unknown time.
fn time(microseconds: Option<f64>) -> String {
    microseconds.map_or_else(|| "time not known".to_owned(), |us| number::in_sentence(us, "us"))
}
