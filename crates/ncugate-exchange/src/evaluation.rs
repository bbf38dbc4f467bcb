//! The result of a variant at a shape in the terms of other projects: one status each.

use ncugate_cuda::host::HUNG;
use ncugate_judge::{Correctness, JudgedRun};
use ncugate_model::{BuildOutcome, CheckOutcome, Differences, LatencyOutcome, ShapeName, VariantId};
use std::sync::Arc;

/// The status of a variant at a shape.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum EvaluationStatus {
    /// Right under every seed, and timed: microseconds per launch, in order.
    Timed(Arc<[f64]>),
    /// Right under every seed, but without a time.
    Untimed(String),
    /// Wrong answer.
    Wrong(String),
    /// Right in the checks, but wrong in timed launches.
    Cheats(String),
    /// It failed while it ran.
    Crashed(String),
    /// It exceeded its time limit.
    TimedOut(String),
    /// It was not built.
    NotBuilt(String),
    /// It was not run.
    NotRun(String),
}

/// A variant at a shape.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct CaseEvaluation {
    pub ending: EvaluationStatus,
    /// The largest differences of its answers, if they were compared.
    pub differences: Option<Differences>,
    /// Seeds under which it was right, and the seeds of the phase.
    pub right: (usize, usize),
}

impl EvaluationStatus {
    pub(super) fn samples(&self) -> Option<&[f64]> {
        match self {
            Self::Timed(samples) => Some(samples),
            _ => None,
        }
    }

    /// Why it is not better.
    pub(super) fn reason(&self) -> &str {
        match self {
            Self::Timed(_) => "",
            Self::Untimed(reason)
            | Self::Wrong(reason)
            | Self::Cheats(reason)
            | Self::Crashed(reason)
            | Self::TimedOut(reason)
            | Self::NotBuilt(reason)
            | Self::NotRun(reason) => reason,
        }
    }
}

/// Evaluates a variant at a shape.
pub(super) fn evaluated(session: &JudgedRun<'_>, variant: &VariantId, shape: &ShapeName) -> CaseEvaluation {
    let measurements = session.measurements();
    let (run, phase) = (measurements.run(), measurements.phase());
    let build = run.builds.iter().find(|build| build.variant == *variant).map(|build| &build.outcome);
    match build {
        Some(BuildOutcome::Failed { message }) => return without(EvaluationStatus::NotBuilt(message.clone())),
        Some(BuildOutcome::Refused { reasons, .. }) => return without(EvaluationStatus::Crashed(reasons.join("; "))),
        Some(BuildOutcome::Built { .. } | BuildOutcome::NotNeeded) => {}
        None => return without(EvaluationStatus::NotRun("it was not built".to_owned())),
    }
    let measured = run.measured_as(variant);
    let (mut differences, mut right, mut worst): (Option<Differences>, usize, Option<EvaluationStatus>) =
        (None, 0, None);
    for &seed in &phase.workload.seeds {
        let own = |check: &&ncugate_model::CheckRecord| {
            check.variant == *measured && check.shape == *shape && check.seed == seed
        };
        let outcomes: Vec<CheckOutcome> =
            run.checks.iter().filter(own).map(|check| check.outcome.judged_by(&phase.workload.tolerance)).collect();
        if outcomes.is_empty() {
            worst.get_or_insert_with(|| EvaluationStatus::NotRun(format!("seed {seed} was not checked")));
        }
        let mut all_right = !outcomes.is_empty();
        for outcome in outcomes {
            let (found, ending) = check_status(outcome);
            all_right &= ending.is_none();
            differences = worse(differences, found);
            if worst.is_none() {
                worst = ending;
            }
        }
        right += usize::from(all_right);
    }
    let right = (right, phase.workload.seeds.len());
    if let Some(ending) = worst {
        return CaseEvaluation { ending, differences, right };
    }
    let ending = match measurements.correctness().get(variant) {
        Some(Correctness::Cheats { reason }) => EvaluationStatus::Cheats(reason.clone()),
        Some(Correctness::Unproven { reason }) => EvaluationStatus::NotRun(reason.clone()),
        _ if right.1 == 0 => EvaluationStatus::NotRun("the phase has no seed".to_owned()),
        _ => timed(session, variant, shape),
    };
    CaseEvaluation { ending, differences, right }
}

/// The samples, or why there are no samples.
fn timed(session: &JudgedRun<'_>, variant: &VariantId, shape: &ShapeName) -> EvaluationStatus {
    let measurements = session.measurements();
    if let Some(samples) = measurements.quantities().samples(variant, shape).filter(|samples| !samples.is_empty()) {
        return EvaluationStatus::Timed(Arc::clone(samples));
    }
    let run = measurements.run();
    let measured = run.measured_as(variant);
    let record = run.latencies.iter().find(|record| record.variant == *measured && record.shape == *shape);
    match record.map(|record| &record.outcome) {
        Some(LatencyOutcome::Failed { reason }) if reason.contains(HUNG) => EvaluationStatus::TimedOut(reason.clone()),
        Some(LatencyOutcome::Failed { reason }) => EvaluationStatus::Untimed(reason.clone()),
        _ => EvaluationStatus::Untimed("it was not timed at this shape".to_owned()),
    }
}

const fn without(ending: EvaluationStatus) -> CaseEvaluation {
    CaseEvaluation { ending, differences: None, right: (0, 0) }
}

/// The differences of a checked case, and its status if it is not right.
fn check_status(outcome: CheckOutcome) -> (Option<Differences>, Option<EvaluationStatus>) {
    match outcome {
        CheckOutcome::Correct { differences } => (Some(differences), None),
        CheckOutcome::Wrong { differences, reason, .. } => (Some(differences), Some(EvaluationStatus::Wrong(reason))),
        CheckOutcome::Crashed { reason } if reason.contains(HUNG) => (None, Some(EvaluationStatus::TimedOut(reason))),
        CheckOutcome::Crashed { reason } => (None, Some(EvaluationStatus::Crashed(reason))),
        CheckOutcome::Skipped { reason } => (None, Some(EvaluationStatus::NotRun(reason))),
    }
}

/// The differences with the larger elementwise error; NaN is the largest.
fn worse(one: Option<Differences>, other: Option<Differences>) -> Option<Differences> {
    match (one, other) {
        (Some(one), Some(other)) if other.max_abs.is_nan() || other.max_abs > one.max_abs => Some(other),
        (Some(one), _) => Some(one),
        (None, other) => other,
    }
}

/// Mean of samples, in milliseconds.
pub(super) fn mean_ms(samples: &[f64]) -> f64 {
    samples.iter().sum::<f64>() / samples.len() as f64 / 1e3
}
