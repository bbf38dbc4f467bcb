//! Results in the form of KernelBench's `eval_results.json`.

use super::evaluation::{CaseEvaluation, EvaluationStatus, mean_ms};
use super::exported_run::ExportedRun;
use ncugate_judge::Correctness;
use ncugate_model::VariantId;
use ncugate_phase::config::ImportFormat;
use ncugate_phase::plan::Variant;
use serde_json::{Value, json};

/// KernelBench's value for a missing time.
const NOT_TIMED: f64 = -1.0;

/// The number of a problem: the number at the start of its name, as in KernelBench's files (`23_Softmax`).
pub fn problem_number(run: &ExportedRun<'_>) -> Option<u64> {
    let imported = run.run.phase.imported.as_ref();
    let name =
        imported.filter(|imported| imported.format == ImportFormat::KernelBench).map(|imported| &imported.problem);
    let name = name.unwrap_or(&run.run.phase.name);
    let digits: String = name.chars().take_while(char::is_ascii_digit).collect();
    digits.parse().ok()
}

/// The entries of a run, one per sample, and notes on omitted results.
pub fn kernel_results(run: &ExportedRun<'_>) -> (Vec<Value>, Vec<String>) {
    let (candidates, left_out) = run.candidates();
    (candidates.iter().enumerate().map(|(at, variant)| entry(run, variant, at)).collect(), left_out)
}

fn entry(run: &ExportedRun<'_>, variant: &Variant, sample: usize) -> Value {
    let shape = &run.run.phase.objective.shape;
    let CaseEvaluation { status, reason, samples, right, .. } = run.evaluated(&variant.id, shape);
    let correct = is_correct(run, &variant.id);
    let mut metadata = json!({
        "hardware": run.hardware,
        "variant": variant.id.0,
        "ncugate": run.run.run.manifest.ncugate,
        "run": run.run.run.manifest.run,
        "correctness_trials": format!("({} / {})", right.0, right.1),
    });
    let issue = match status {
        EvaluationStatus::Timed => None,
        EvaluationStatus::Untimed => Some("error_during_performance"),
        EvaluationStatus::Wrong | EvaluationStatus::Cheats => Some("correctness_issue"),
        EvaluationStatus::Crashed | EvaluationStatus::TimedOut | EvaluationStatus::NotRun => Some("runtime_error"),
        EvaluationStatus::NotBuilt => Some("compilation_error"),
    };
    if let Some(issue) = issue {
        metadata[issue] = json!(reason);
    } else if !correct {
        metadata["correctness_issue"] = json!("it is wrong at another shape of the phase");
    }
    if let Some(doubt) = run.doubt(&variant.id) {
        metadata["doubt"] = json!(doubt);
    }
    let samples = samples.filter(|_| correct);
    let reference = run.reference(shape);
    json!({
        "sample_id": sample,
        "compiled": status != EvaluationStatus::NotBuilt,
        "correctness": correct,
        "metadata": metadata,
        "runtime": samples.as_deref().map_or(NOT_TIMED, mean_ms),
        "runtime_stats": samples.map_or_else(|| json!({}), |samples| statistics(&samples, &run.hardware)),
        "ref_runtime": reference.as_deref().map_or(NOT_TIMED, mean_ms),
        "ref_runtime_stats": reference.map_or_else(|| json!({}), |samples| statistics(&samples, &run.hardware)),
    })
}

/// Right at every shape and seed of the phase, including timed launches.
pub(super) fn is_correct(run: &ExportedRun<'_>, variant: &VariantId) -> bool {
    let proof = run.session.measurements().correctness().get(variant);
    matches!(proof, Some(Correctness::Proven { .. }))
}

/// Mean, standard deviation (population, as in `numpy.std`), minimum and maximum, in milliseconds.
fn statistics(samples: &[f64], hardware: &str) -> Value {
    let ms: Vec<f64> = samples.iter().map(|us| us / 1e3).collect();
    let mean = mean_ms(samples);
    let variance = ms.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / ms.len() as f64;
    json!({
        "mean": mean,
        "std": variance.sqrt(),
        "min": ms.iter().copied().fold(f64::INFINITY, f64::min),
        "max": ms.iter().copied().fold(f64::NEG_INFINITY, f64::max),
        "num_trials": ms.len(),
        "hardware": hardware,
    })
}
