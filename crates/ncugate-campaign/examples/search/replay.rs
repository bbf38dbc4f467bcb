//! Replays a search strategy on spaces measured before, without a GPU.

use super::recorded_space::RecordedSpace;
use ncugate_campaign::search::{Proposer, SearchTrial};
use ncugate_phase::config::SearchStrategy;
use rayon::prelude::*;
use serde::Serialize;

/// Settings of a replay.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReplaySettings {
    pub strategy: SearchStrategy,
    /// Points tried in one search, failures included.
    pub evaluations: usize,
    /// Points proposed together.
    pub batch: usize,
    /// Searches, each with a different seed.
    pub repeats: u32,
    /// The first seed.
    pub seed: u64,
}

/// Score of a strategy on one space.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ReplayScore {
    pub space: String,
    pub points: usize,
    /// Optimum divided by the best cost found, averaged over repeats, after a quarter, half and all of the
    /// evaluations.
    pub fraction: [f64; 3],
    /// Tenth percentile of that fraction after all evaluations: nine of ten repeats reach at least this.
    pub worst_tenth: f64,
    /// Repeats that found a point within 1 % of the optimum.
    pub within_percent: u32,
    /// Progress from random search (0) to the optimum at the first evaluation (1), averaged over evaluations.
    pub score: f64,
}

/// Replays a strategy on a space.
pub fn replay(space: &RecordedSpace, settings: ReplaySettings) -> ReplayScore {
    let evaluations = settings.evaluations.min(space.costs.len()).max(1);
    let found: Vec<Vec<f64>> = (0..u64::from(settings.repeats.max(1)))
        .into_par_iter()
        .map(|repeat| search(space, settings, settings.seed.wrapping_add(repeat), evaluations))
        .collect();
    let optimum = space.optimum();
    let at = |count: usize| -> Vec<f64> {
        let mut fractions: Vec<f64> = found.iter().map(|best| optimum / best[count.max(1) - 1]).collect();
        fractions.sort_by(f64::total_cmp);
        fractions
    };
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
    let last = at(evaluations);
    let within = last.iter().filter(|fraction| **fraction >= 1.0 / 1.01).count();
    ReplayScore {
        space: space.name.clone(),
        points: space.costs.len(),
        fraction: [mean(&at(evaluations / 4)), mean(&at(evaluations / 2)), mean(&last)],
        worst_tenth: last[last.len() / 10],
        within_percent: u32::try_from(within).unwrap_or(u32::MAX),
        score: score(&found, &expected_of_random(space, evaluations), optimum),
    }
}

/// The best cost after each evaluation; infinite while all failed.
fn search(space: &RecordedSpace, settings: ReplaySettings, seed: u64, evaluations: usize) -> Vec<f64> {
    let proposer = Proposer { candidates: &space.points, first: &[], strategy: settings.strategy, seed };
    let mut trials: Vec<SearchTrial> = Vec::with_capacity(evaluations);
    while trials.len() < evaluations {
        let batch = proposer.propose(&trials, settings.batch.max(1).min(evaluations - trials.len()));
        if batch.is_empty() {
            break;
        }
        trials.extend(batch.into_iter().map(|point| SearchTrial { cost: space.cost(&point), point, code: None }));
    }
    let mut best = f64::INFINITY;
    let mut found: Vec<f64> = trials
        .iter()
        .map(|trial| {
            best = best.min(trial.cost.unwrap_or(f64::INFINITY));
            best
        })
        .collect();
    found.resize(evaluations, best);
    found
}

/// Expected best cost of random search without repetition after each evaluation; failures count as the worst cost
/// (Willemsen et al. 2024, doi 10.1016/j.future.2024.05.021, section 3.3): the best of `n` draws is the `k`-th of all
/// with probability `C(N - k, n - 1) / C(N, n)`.
fn expected_of_random(space: &RecordedSpace, evaluations: usize) -> Vec<f64> {
    let worst = space.costs.iter().flatten().copied().fold(0.0, f64::max);
    let mut costs: Vec<f64> = space.costs.iter().map(|cost| cost.unwrap_or(worst)).collect();
    costs.sort_by(f64::total_cmp);
    let all = costs.len();
    (1..=evaluations)
        .map(|drawn| {
            // The probability that none of the best `k` is drawn, updated from one `k` to the next.
            let (mut missed, mut expected) = (1.0, 0.0);
            for (k, cost) in costs.iter().enumerate() {
                let left = all - k;
                if left < drawn {
                    break;
                }
                let hit = drawn as f64 / left as f64;
                expected += missed * hit * cost;
                missed *= 1.0 - hit;
                if missed < 1e-15 {
                    break;
                }
            }
            expected
        })
        .collect()
}

/// Mean of `(random - found) / (random - optimum)` over the evaluations at which random search has not reached the
/// optimum.
fn score(found: &[Vec<f64>], random: &[f64], optimum: f64) -> f64 {
    let mut parts = Vec::new();
    for (at, random) in random.iter().enumerate().filter(|(_, random)| **random > optimum) {
        let bests = found.iter().map(|best| best[at].min(random * 10.0));
        let mean = bests.sum::<f64>() / found.len() as f64;
        parts.push((random - mean) / (random - optimum));
    }
    parts.iter().sum::<f64>() / parts.len().max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use ncugate_phase::plan::Point;

    fn bowl() -> RecordedSpace {
        let points: Vec<Point> = (0..20).flat_map(|a| (0..20).map(move |b| Point(vec![a, b]))).collect();
        let cost = |point: &Point| 1.0 + (f64::from(point.0[0]) - 13.0).abs() + (f64::from(point.0[1]) - 4.0).abs();
        let costs = points.iter().map(|point| (point.0[0] != 19).then(|| cost(point))).collect();
        RecordedSpace::new("bowl".to_owned(), points, costs).unwrap()
    }

    fn settings(strategy: SearchStrategy) -> ReplaySettings {
        ReplaySettings { strategy, evaluations: 60, batch: 8, repeats: 20, seed: 0 }
    }

    #[test]
    fn mutation_is_better_than_random_search_whose_score_is_about_zero() {
        let random = replay(&bowl(), settings(SearchStrategy::Random));
        let elites = replay(&bowl(), settings(SearchStrategy::Elites));
        assert!(random.score.abs() < 0.15, "{random:?}");
        assert!(elites.score > 0.25 && elites.fraction[2] > random.fraction[2] + 0.2, "{elites:?}");
    }

    #[test]
    fn random_search_over_all_points_is_expected_to_find_the_optimum() {
        let space = bowl();
        let expected = expected_of_random(&space, space.costs.len());
        assert!((expected[space.costs.len() - 1] - space.optimum()).abs() < 1e-9);
        let costs: Vec<f64> = space.costs.iter().flatten().copied().collect();
        let worst = costs.iter().copied().fold(0.0, f64::max);
        let mean = (costs.iter().sum::<f64>() + worst * 20.0) / 400.0;
        assert!((expected[0] - mean).abs() < 1e-9, "one draw is the mean of all");
    }

    #[test]
    fn a_search_over_everything_finds_the_optimum() {
        let all = ReplaySettings { evaluations: 400, repeats: 1, ..settings(SearchStrategy::Exhaustive) };
        let score = replay(&bowl(), all);
        assert_eq!((score.fraction[2], score.within_percent), (1.0, 1));
    }
}
