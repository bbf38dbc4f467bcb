//! Results in the form of KernelBench's `eval_results.json`, and its score `fast_p`.

use super::evaluation::{CaseEvaluation, EvaluationStatus, mean_ms};
use super::exported_run::ExportedRun;
use ncugate_judge::Correctness;
use ncugate_phase::config::ImportFormat;
use ncugate_phase::plan::Variant;
use serde_json::{Map, Value, json};

/// KernelBench's value for a missing time.
const NOT_TIMED: f64 = -1.0;

/// The default thresholds of a score: those of KernelBench's analysis.
pub const THRESHOLDS: [f64; 6] = [0.0, 0.5, 0.8, 1.0, 1.5, 2.0];

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
    let CaseEvaluation { ending, right, .. } = run.evaluated(&variant.id, shape);
    let correct = is_correct(run, variant);
    let mut metadata = json!({
        "hardware": run.hardware,
        "variant": variant.id.0,
        "ncugate": run.run.run.manifest.ncugate,
        "run": run.run.run.manifest.run,
        "correctness_trials": format!("({} / {})", right.0, right.1),
    });
    let issue = match &ending {
        EvaluationStatus::Timed(_) => None,
        EvaluationStatus::Untimed(_) => Some("error_during_performance"),
        EvaluationStatus::Wrong(_) | EvaluationStatus::Cheats(_) => Some("correctness_issue"),
        EvaluationStatus::Crashed(_) | EvaluationStatus::TimedOut(_) | EvaluationStatus::NotRun(_) => {
            Some("runtime_error")
        }
        EvaluationStatus::NotBuilt(_) => Some("compilation_error"),
    };
    if let Some(issue) = issue {
        metadata[issue] = json!(ending.reason());
    } else if !correct {
        metadata["correctness_issue"] = json!("it is wrong at another shape of the phase");
    }
    if let Some(doubt) = run.doubt(&variant.id) {
        metadata["doubt"] = json!(doubt);
    }
    let samples = ending.samples().filter(|_| correct).map(<[f64]>::to_vec);
    let reference = run.reference(shape);
    json!({
        "sample_id": sample,
        "compiled": !matches!(ending, EvaluationStatus::NotBuilt(_)),
        "correctness": correct,
        "metadata": metadata,
        "runtime": samples.as_deref().map_or(NOT_TIMED, mean_ms),
        "runtime_stats": samples.map_or_else(|| json!({}), |samples| statistics(&samples, &run.hardware)),
        "ref_runtime": reference.as_deref().map_or(NOT_TIMED, mean_ms),
        "ref_runtime_stats": reference.map_or_else(|| json!({}), |samples| statistics(&samples, &run.hardware)),
    })
}

/// Right at every shape and seed of the phase, including timed launches.
pub(super) fn is_correct(run: &ExportedRun<'_>, variant: &Variant) -> bool {
    let proof = run.session.measurements().correctness().get(&variant.id);
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

/// A problem in a score.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum ProblemScore {
    /// Not compiled, or not measured to the end.
    Absent,
    /// Compiled, but not right.
    Incorrect,
    /// Right, with the speedup over the reference if both were timed.
    Correct(Option<f64>),
}

/// The score of a run's problem: by the selected candidate, else by the first.
pub fn scored(run: &ExportedRun<'_>) -> ProblemScore {
    let (candidates, _) = run.candidates();
    let selected = run.session.selected().and_then(|id| candidates.iter().find(|variant| variant.id == *id));
    let Some(variant) = selected.or(candidates.first()) else { return ProblemScore::Absent };
    let shape = &run.run.phase.objective.shape;
    let ending = run.evaluated(&variant.id, shape).ending;
    if matches!(ending, EvaluationStatus::NotBuilt(_)) {
        return ProblemScore::Absent;
    }
    if !is_correct(run, variant) {
        return ProblemScore::Incorrect;
    }
    ProblemScore::Correct(
        ending.samples().map(mean_ms).zip(run.reference_ms(shape)).map(|(own, reference)| reference / own),
    )
}

/// KernelBench's summary of many problems. `fast_p` is the share of all problems that are right and more than `p`
/// times as fast as the reference (Ouyang et al., KernelBench, 2025); a problem without a time is not fast.
pub fn score(problems: &[ProblemScore], thresholds: &[f64]) -> Value {
    let total = problems.len();
    let share = |count: usize| if total == 0 { 0.0 } else { count as f64 / total as f64 };
    let count = |holds: &dyn Fn(&ProblemScore) -> bool| problems.iter().filter(|problem| holds(problem)).count();
    let compiled = count(&|problem| !matches!(problem, ProblemScore::Absent));
    let correct = count(&|problem| matches!(problem, ProblemScore::Correct(_)));
    let speedups: Vec<f64> =
        problems.iter().filter_map(|p| if let ProblemScore::Correct(speedup) = p { *speedup } else { None }).collect();
    let mean = match speedups.len() {
        0 => 0.0,
        length => (speedups.iter().map(|speedup| speedup.ln()).sum::<f64>() / length as f64).exp(),
    };
    let fast: Map<String, Value> = thresholds
        .iter()
        .map(|p| (format!("{p:?}"), json!(share(speedups.iter().filter(|speedup| **speedup > *p).count()))))
        .collect();
    json!({
        "total_count": total,
        "compiled_count": compiled,
        "correct_count": correct,
        "compilation_rate": share(compiled),
        "correctness_rate": share(correct),
        "geo_mean_speedup": mean,
        "fast_p": fast,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fast_p_counts_over_all_problems_and_a_problem_without_a_time_is_not_fast() {
        let problems = [
            ProblemScore::Correct(Some(4.0)),
            ProblemScore::Correct(Some(1.0)),
            ProblemScore::Correct(None),
            ProblemScore::Incorrect,
            ProblemScore::Absent,
        ];
        let found = score(&problems, &[0.0, 1.0, 2.0]);
        assert_eq!(found["fast_p"], json!({ "0.0": 0.4, "1.0": 0.2, "2.0": 0.2 }));
        assert_eq!((found["total_count"].as_u64(), found["compiled_count"].as_u64()), (Some(5), Some(4)));
        assert_eq!((found["correct_count"].as_u64(), found["geo_mean_speedup"].as_f64()), (Some(3), Some(2.0)));
        assert_eq!(score(&[], &[1.0])["fast_p"], json!({ "1.0": 0.0 }));
    }
}
