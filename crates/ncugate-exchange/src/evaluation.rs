//! The result of a variant at a shape in the terms of other projects: one status each.

use super::exported_run::ExportedRun;
use super::kernel_results::is_correct;
use ncugate_cuda::host::HUNG;
use ncugate_judge::{Correctness, JudgedRun};
use ncugate_model::{BuildOutcome, CheckOutcome, Differences, LatencyOutcome, ShapeName, VariantId};
use ncugate_phase::config::ProblemOrigin;
use serde_json::{Map, Value, json};
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

    const fn word(&self) -> &'static str {
        match self {
            Self::Timed(_) => "timed",
            Self::Untimed(_) => "untimed",
            Self::Wrong(_) => "wrong",
            Self::Cheats(_) => "cheats",
            Self::Crashed(_) => "crashed",
            Self::TimedOut(_) => "timed_out",
            Self::NotBuilt(_) => "not_built",
            Self::NotRun(_) => "not_run",
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

/// A run with every candidate at every shape, from which the Python package writes the formats of other projects.
pub fn evaluations(run: &ExportedRun<'_>) -> Value {
    let (phase, manifest) = (&run.run.phase, &run.run.run.manifest);
    let (candidates, omitted) = run.candidates();
    let imported = phase.imported.as_ref();
    let shapes = &phase.workload.shapes;
    let table = |pairs: &[(String, String)]| -> Map<String, Value> {
        pairs.iter().map(|(name, text)| (name.clone(), json!(text))).collect()
    };
    let origin = |origin: &ProblemOrigin| {
        let (format, ranking) = (origin.format.word(), origin.ranking.word());
        json!({ "format": format, "problem": origin.problem, "ranking": ranking, "workloads": table(&origin.workloads) })
    };
    let candidate = |id: &VariantId| {
        let case = |shape: &ShapeName| {
            let CaseEvaluation { ending, differences, .. } = run.evaluated(id, shape);
            let differences = differences.map(|found| {
                let (max_abs, rel_l2) = (number(found.max_abs), number(found.rel_l2));
                json!({ "max_abs": max_abs, "rel_l2": rel_l2, "compared": found.compared, "nonfinite": found.nonfinite })
            });
            let (status, reason, samples) = (ending.word(), ending.reason(), ending.samples());
            json!({ "status": status, "reason": reason, "samples_us": samples, "differences": differences })
        };
        let cases: Map<String, Value> =
            shapes.iter().map(|shape| (shape.name.0.to_string(), case(&shape.name))).collect();
        json!({
            "variant": id.0,
            "solution": imported.and_then(|imported| imported.solution(&id.0)).unwrap_or(&id.0),
            "correct": is_correct(run, id),
            "doubt": run.doubt(id),
            "software": manifest.software.get(id.0.as_str()).into_iter().flatten().collect::<std::collections::BTreeMap<_, _>>(),
            "cases": cases,
        })
    };
    let shape = |shape: &ncugate_phase::config::Shape| {
        let dims: Map<String, Value> = shape.dims.iter().map(|(name, extent)| (name.clone(), json!(extent))).collect();
        json!({ "name": shape.name, "dims": dims })
    };
    let read = phase.workload.buffers.iter().filter(|buffer| buffer.role.is_read());
    let tools = [
        ("ncugate", Some(&manifest.ncugate)),
        ("driver", manifest.fingerprint.driver.as_ref()),
        ("ncu", manifest.fingerprint.ncu.as_ref()),
        ("nvcc", manifest.fingerprint.nvcc.as_ref()),
    ];
    let tools: Map<String, Value> =
        tools.into_iter().filter_map(|(name, version)| Some((name.to_owned(), json!(version?)))).collect();
    let reference: Map<String, Value> =
        shapes.iter().map(|shape| (shape.name.0.to_string(), json!(run.reference(&shape.name)))).collect();
    json!({
        "phase": phase.name,
        "run": manifest.run,
        "ncugate": manifest.ncugate,
        "ended": manifest.finished.unwrap_or(manifest.started).to_string(),
        "hardware": run.hardware,
        "tools": tools,
        "imported": imported.map(origin),
        "inputs": read.map(|buffer| &buffer.name).collect::<Vec<_>>(),
        "shapes": shapes.iter().map(shape).collect::<Vec<_>>(),
        "timed": phase.bench.shapes,
        "objective": phase.objective.shape,
        "selected": run.session.selected(),
        "reference_us": reference,
        "candidates": candidates.iter().map(|variant| candidate(&variant.id)).collect::<Vec<_>>(),
        "omitted": omitted,
    })
}

/// A number as JSON; a non-finite number as the text that JSON does not have for it.
fn number(value: f64) -> Value {
    match value {
        value if value.is_nan() => json!("NaN"),
        value if value.is_infinite() => json!("Infinity"),
        value => json!(value),
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
