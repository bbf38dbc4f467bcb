//! The result of a variant at a shape in the terms of other projects: one status each.

use super::exported_run::ExportedRun;
use super::kernel_results::is_correct;
use ncugate_cuda::host::HUNG;
use ncugate_judge::{Correctness, JudgedRun};
use ncugate_model::{BuildOutcome, CheckOutcome, Differences, LatencyOutcome, ShapeName, VariantId};
use serde::Serialize;
use serde_json::{Map, Value, json};

/// The status of a variant at a shape.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum EvaluationStatus {
    /// Right under every seed, and timed.
    Timed,
    /// Right under every seed, but without a time.
    Untimed,
    /// Wrong answer.
    Wrong,
    /// Right in the checks, but wrong in timed launches.
    Cheats,
    /// It failed while it ran.
    Crashed,
    /// It exceeded its time limit.
    TimedOut,
    NotBuilt,
    NotRun,
}

/// A variant at a shape.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct CaseEvaluation {
    pub status: EvaluationStatus,
    /// Why it is not timed.
    pub reason: String,
    /// Microseconds per launch, in order, if it is timed.
    pub samples: Option<Vec<f64>>,
    /// The largest differences of its answers, if they were compared.
    pub differences: Option<Differences>,
    /// Seeds under which it was right, and the seeds of the phase.
    pub right: (usize, usize),
}

/// A run with every candidate at every shape, from which the Python package writes the formats of other projects.
pub fn evaluations(run: &ExportedRun<'_>) -> Value {
    let (phase, manifest) = (&run.run.phase, &run.run.run.manifest);
    let (candidates, omitted) = run.candidates();
    let imported = phase.imported.as_ref();
    let shapes = &phase.workload.shapes;
    let candidate = |id: &VariantId| {
        let case = |shape: &ShapeName| {
            let case = run.evaluated(id, shape);
            let differences = case.differences.map(|found| {
                let (max_abs, rel_l2) = (number(found.max_abs), number(found.rel_l2));
                json!({ "max_abs": max_abs, "rel_l2": rel_l2, "compared": found.compared, "nonfinite": found.nonfinite })
            });
            json!({ "status": case.status, "reason": case.reason, "samples_us": case.samples, "differences": differences })
        };
        json!({
            "variant": id.0,
            "solution": imported.and_then(|imported| imported.solution(&id.0)).unwrap_or(&id.0),
            "correct": is_correct(run, id),
            "doubt": run.doubt(id),
            "software": table(manifest.software.get(id.0.as_str()).into_iter().flatten().map(|(name, text)| (name, json!(text)))),
            "cases": table(shapes.iter().map(|shape| (&shape.name, case(&shape.name)))),
        })
    };
    let read = phase.workload.buffers.iter().filter(|buffer| buffer.role.is_read());
    let tools = [
        ("ncugate", Some(&manifest.ncugate)),
        ("driver", manifest.fingerprint.driver.as_ref()),
        ("ncu", manifest.fingerprint.ncu.as_ref()),
        ("nvcc", manifest.fingerprint.nvcc.as_ref()),
    ];
    json!({
        "phase": phase.name,
        "run": manifest.run,
        "ncugate": manifest.ncugate,
        "ended": manifest.finished.unwrap_or(manifest.started).to_string(),
        "hardware": run.hardware,
        "tools": table(tools.into_iter().filter_map(|(name, version)| Some((name, json!(version?))))),
        "imported": imported.map(|origin| json!({
            "format": origin.format.word(),
            "problem": origin.problem,
            "ranking": origin.ranking.word(),
            "workloads": table(origin.workloads.iter().map(|(name, text)| (name, json!(text)))),
        })),
        "inputs": read.map(|buffer| &buffer.name).collect::<Vec<_>>(),
        "shapes": table(shapes.iter().map(|shape| {
            (&shape.name, table(shape.dims.iter().map(|(name, extent)| (name, json!(extent)))))
        })),
        "timed": phase.bench.shapes,
        "objective": phase.objective.shape,
        "selected": run.session.selected(),
        "reference_us": table(shapes.iter().map(|shape| (&shape.name, json!(run.reference(&shape.name))))),
        "candidates": candidates.iter().map(|variant| candidate(&variant.id)).collect::<Vec<_>>(),
        "omitted": omitted,
    })
}

fn table<N: ToString>(pairs: impl Iterator<Item = (N, Value)>) -> Value {
    pairs.map(|(name, value)| (name.to_string(), value)).collect::<Map<String, Value>>().into()
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
    use EvaluationStatus::{Cheats, Crashed, NotBuilt, NotRun};
    let measurements = session.measurements();
    let (run, phase) = (measurements.run(), measurements.phase());
    let mut case =
        CaseEvaluation { status: NotRun, reason: String::new(), samples: None, differences: None, right: (0, 0) };
    let ended =
        |case: CaseEvaluation, status, reason: &str| CaseEvaluation { status, reason: reason.to_owned(), ..case };
    match run.builds.iter().find(|build| build.variant == *variant).map(|build| &build.outcome) {
        Some(BuildOutcome::Failed { message }) => return ended(case, NotBuilt, message),
        Some(BuildOutcome::Refused { reasons, .. }) => return ended(case, Crashed, &reasons.join("; ")),
        Some(BuildOutcome::Built { .. } | BuildOutcome::NotNeeded) => {}
        None => return ended(case, NotRun, "it was not built"),
    }
    let measured = run.measured_as(variant);
    let mut worst: Option<(EvaluationStatus, String)> = None;
    case.right.1 = phase.workload.seeds.len();
    for &seed in &phase.workload.seeds {
        let own = |check: &&ncugate_model::CheckRecord| {
            check.variant == *measured && check.shape == *shape && check.seed == seed
        };
        let outcomes = run.checks.iter().filter(own).map(|check| check.outcome.judged_by(&phase.workload.tolerance));
        let cases: Vec<_> = outcomes.map(check_status).collect();
        if cases.is_empty() {
            worst.get_or_insert_with(|| (NotRun, format!("seed {seed} was not checked")));
        }
        case.right.0 += usize::from(!cases.is_empty() && cases.iter().all(|(_, failure)| failure.is_none()));
        for (differences, failure) in cases {
            case.differences = worse(case.differences, differences);
            worst = worst.or(failure);
        }
    }
    if let Some((status, reason)) = worst {
        return ended(case, status, &reason);
    }
    match measurements.correctness().get(variant) {
        Some(Correctness::Cheats { reason }) => ended(case, Cheats, reason),
        Some(Correctness::Unproven { reason }) => ended(case, NotRun, reason),
        _ if case.right.1 == 0 => ended(case, NotRun, "the phase has no seed"),
        _ => {
            let (status, reason, samples) = timed(session, variant, shape);
            CaseEvaluation { status, reason, samples, ..case }
        }
    }
}

/// The samples, or why there are no samples.
fn timed(
    session: &JudgedRun<'_>,
    variant: &VariantId,
    shape: &ShapeName,
) -> (EvaluationStatus, String, Option<Vec<f64>>) {
    use EvaluationStatus::{Timed, TimedOut, Untimed};
    let measurements = session.measurements();
    if let Some(samples) = measurements.quantities().samples(variant, shape).filter(|samples| !samples.is_empty()) {
        return (Timed, String::new(), Some(samples.to_vec()));
    }
    let run = measurements.run();
    let measured = run.measured_as(variant);
    let record = run.latencies.iter().find(|record| record.variant == *measured && record.shape == *shape);
    match record.map(|record| &record.outcome) {
        Some(LatencyOutcome::Failed { reason }) if reason.contains(HUNG) => (TimedOut, reason.clone(), None),
        Some(LatencyOutcome::Failed { reason }) => (Untimed, reason.clone(), None),
        _ => (Untimed, "it was not timed at this shape".to_owned(), None),
    }
}

/// The differences of a checked case, and its status with the reason if it is not right.
fn check_status(outcome: CheckOutcome) -> (Option<Differences>, Option<(EvaluationStatus, String)>) {
    use EvaluationStatus::{Crashed, NotRun, TimedOut, Wrong};
    match outcome {
        CheckOutcome::Correct { differences } => (Some(differences), None),
        CheckOutcome::Wrong { differences, reason, .. } => (Some(differences), Some((Wrong, reason))),
        CheckOutcome::Crashed { reason } if reason.contains(HUNG) => (None, Some((TimedOut, reason))),
        CheckOutcome::Crashed { reason } => (None, Some((Crashed, reason))),
        CheckOutcome::Skipped { reason } => (None, Some((NotRun, reason))),
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
