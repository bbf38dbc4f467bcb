//! gpu-mode's ranking: one score per submission over all benchmarks of a task.

use super::evaluation::mean_ms;
use super::exported_run::ExportedRun;
use super::kernel_results::is_correct;
use ncugate_model::ShapeName;
use ncugate_phase::config::{ImportFormat, ProblemOrigin, Ranking};
use ncugate_phase::plan::Variant;
use serde_json::{Value, json};

/// The score over the means of the benchmarks, in their order; `None` without benchmarks.
fn score(ranking: Ranking, means: &[f64]) -> Option<f64> {
    let count = means.len() as f64;
    match ranking {
        Ranking::Last => means.last().copied(),
        _ if means.is_empty() => None,
        Ranking::Mean => Some(means.iter().sum::<f64>() / count),
        Ranking::Geom => Some((means.iter().map(|mean| mean.ln()).sum::<f64>() / count).exp()),
    }
}

/// A submission with its mean at every benchmark, in seconds, or why it is not scored.
struct Submission<'r> {
    variant: &'r Variant,
    means: Result<Vec<f64>, String>,
}

/// The submissions of a run, best first, and notes on omitted ones. A submission is not scored if it is wrong
/// anywhere, has no time at a benchmark, or has a rejected latency.
pub fn ranking(run: &ExportedRun<'_>) -> (String, Vec<String>) {
    let phase = &run.run.phase;
    let imported = phase.imported.as_ref().filter(|imported| imported.format == ImportFormat::GpuMode);
    let by = imported.map_or(Ranking::Last, |imported| imported.ranking);
    let (candidates, left_out) = run.candidates();
    let benchmarks = &phase.bench.shapes;
    let submissions = candidates.iter().map(|variant| Submission { variant, means: means(run, variant, benchmarks) });
    let mut scored: Vec<(Option<f64>, Submission<'_>)> = submissions
        .map(|submission| {
            let means = submission.means.as_ref().ok();
            (means.and_then(|means| score(by, means)).filter(|score| score.is_finite()), submission)
        })
        .collect();
    scored.sort_by(|(a, _), (b, _)| a.unwrap_or(f64::INFINITY).total_cmp(&b.unwrap_or(f64::INFINITY)));
    let entries = scored.iter().enumerate().map(|(at, (score, submission))| {
        let id = &submission.variant.id.0;
        let means = submission.means.as_ref().map_or(Value::Null, |means| {
            let of = |(shape, mean): (&ShapeName, &f64)| json!({ "benchmark": shape.0, "mean": mean });
            benchmarks.iter().zip(means).map(of).collect()
        });
        json!({
            "rank": score.map(|_| at + 1),
            "submission": imported.and_then(|imported| imported.solution(id)).unwrap_or(id),
            "variant": id,
            "score": score,
            "benchmarks": means,
            "reason": submission.means.as_ref().err(),
        })
    });
    let text = json!({
        "problem": imported.map_or(&phase.name, |imported: &ProblemOrigin| &imported.problem),
        "ranking_by": by.word(),
        "unit": "s",
        "hardware": run.hardware,
        "run": run.run.run.manifest.run,
        "submissions": entries.collect::<Vec<_>>(),
    });
    (format!("{text:#}\n"), left_out)
}

fn means(run: &ExportedRun<'_>, variant: &Variant, benchmarks: &[ShapeName]) -> Result<Vec<f64>, String> {
    if !is_correct(run, variant) {
        let wrong = run.run.phase.workload.shapes.iter().map(|shape| run.evaluated(&variant.id, &shape.name).ending);
        let reason = wrong.map(|ending| ending.reason().to_owned()).find(|reason| !reason.is_empty());
        return Err(reason.unwrap_or_else(|| "it is not proven correct".to_owned()));
    }
    if let Some(doubt) = run.doubt(&variant.id) {
        return Err(doubt.to_owned());
    }
    let mean = |shape: &ShapeName| {
        let ending = run.evaluated(&variant.id, shape).ending;
        let samples = ending.samples().filter(|samples| !samples.is_empty());
        samples.map(|samples| mean_ms(samples) / 1e3).ok_or_else(|| format!("{shape}: {}", ending.reason()))
    };
    benchmarks.iter().map(mean).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_score_is_of_the_last_benchmark_or_a_mean_over_all() {
        let means = [1e-6, 4e-6, 16e-6];
        assert_eq!(score(Ranking::Last, &means), Some(16e-6));
        assert_eq!(score(Ranking::Mean, &means), Some(7e-6));
        assert!(score(Ranking::Geom, &means).is_some_and(|score| (score - 4e-6).abs() < 1e-15));
        for ranking in [Ranking::Last, Ranking::Mean, Ranking::Geom] {
            assert_eq!(score(ranking, &[]), None);
        }
    }
}
