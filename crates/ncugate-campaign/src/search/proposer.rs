//! Proposes the next points from the trials so far: a function of the seed and of the trials, so that a killed search
//! resumes with the same proposals.

use super::candidates::PointSource;
use super::duplicates::idle_axes;
use super::trial::{SearchTrial, ranked};
use ncugate_phase::config::SearchStrategy;
use ncugate_phase::plan::Point;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use std::collections::HashSet;

/// Batches before the first mutation, spread at random: a small budget has small batches.
const SPREAD: usize = 3;

/// Candidates drawn for each of the spread points; the one farthest from the earlier points is taken.
const DRAWN: usize = 16;

/// Number of best points that are mutated.
const ELITES: usize = 8;

/// Chance that a mutation starts from the next elite instead, the best one first.
const NEXT: f32 = 0.6;

/// Chance that a mutation changes one more axis.
const MORE: f32 = 0.3;

/// Share of the points that are drawn from the whole space, which leaves the surroundings of the elites.
const FRESH: f32 = 0.05;

/// Most mutations for each point of a batch: those that were tried or that the space excludes are drawn again.
const PATIENCE: usize = 64;

/// Proposes points of a space.
pub struct Proposer<'a> {
    pub candidates: &'a dyn PointSource,
    /// Points to try before all others.
    pub first: &'a [Point],
    pub strategy: SearchStrategy,
    /// Seed of the random draws.
    pub seed: u64,
}

impl Proposer<'_> {
    /// The next `batch` untried points; fewer if the space runs out.
    pub fn propose(&self, trials: &[SearchTrial], batch: usize) -> Vec<Point> {
        let mut tried: HashSet<&Point> = trials.iter().map(|trial| &trial.point).collect();
        let first: Vec<&Point> = self.first.iter().filter(|point| tried.insert(point)).take(batch).collect();
        let mut points: Vec<Point> = first.into_iter().cloned().collect();
        let spread = SPREAD * batch;
        let batch = batch - points.len();
        let mut rng = ChaCha8Rng::seed_from_u64(self.seed);
        rng.set_stream(trials.len() as u64 + 1);
        points.extend(match self.strategy {
            _ if batch == 0 => Vec::new(),
            SearchStrategy::Exhaustive => self.candidates.in_order(&tried, batch),
            SearchStrategy::Random => self.candidates.draw(&mut rng, batch, &tried),
            SearchStrategy::Elites if trials.len() < spread => {
                self.spread(&mut rng, &tried, batch.min(spread - trials.len()))
            }
            SearchStrategy::Elites => self.mutants(&mut rng, trials, &tried, batch),
        });
        points
    }

    /// Points far from one another and from the tried ones.
    fn spread(&self, rng: &mut ChaCha8Rng, tried: &HashSet<&Point>, count: usize) -> Vec<Point> {
        let mut chosen: Vec<Point> = Vec::new();
        while chosen.len() < count {
            let mut drawn = self.candidates.draw(rng, DRAWN, tried);
            drawn.retain(|point| !chosen.contains(point));
            let known = || tried.iter().copied().chain(&chosen);
            let apart = |point: &Point| known().map(|other| point.distance(other)).min().unwrap_or(usize::MAX);
            // The first of those that are equally far.
            let Some(best) = drawn.into_iter().rev().max_by_key(apart) else { break };
            chosen.push(best);
        }
        chosen
    }

    /// Mutations of the best points. What is missing, because nothing was timed or the surroundings of the elites are
    /// tried, is drawn from the whole space.
    fn mutants(
        &self,
        rng: &mut ChaCha8Rng,
        trials: &[SearchTrial],
        tried: &HashSet<&Point>,
        batch: usize,
    ) -> Vec<Point> {
        let elites: Vec<&Point> = ranked(trials).into_iter().take(ELITES).map(|trial| &trial.point).collect();
        let (extents, idle) = (self.candidates.extents(), idle_axes(trials));
        let axes: Vec<usize> = (0..extents.len()).filter(|axis| extents[*axis] > 1 && !idle.contains(axis)).collect();
        let mut counts: Vec<Vec<usize>> = extents.iter().map(|extent| vec![0; *extent as usize]).collect();
        for point in tried {
            let places = counts.iter_mut().zip(&point.0);
            places.filter_map(|(counts, at)| counts.get_mut(*at as usize)).for_each(|count| *count += 1);
        }
        let fresh = (0..batch).filter(|_| unit(rng) < FRESH).count();
        let mut chosen: Vec<Point> = Vec::new();
        let tries = if elites.is_empty() || axes.is_empty() { 0 } else { batch * PATIENCE };
        for _ in 0..tries {
            if chosen.len() >= batch - fresh {
                break;
            }
            let point = mutant(rng, &elites, &axes, &counts);
            if !tried.contains(&point) && !chosen.contains(&point) && self.candidates.contains(&point) {
                chosen.push(point);
            }
        }
        if chosen.len() < batch {
            let known = tried.iter().copied().chain(&chosen).collect();
            let drawn = self.candidates.draw(rng, batch - chosen.len(), &known);
            chosen.extend(drawn);
        }
        chosen
    }
}

/// One of the elites with other values on some of the axes: the one below, the one above, any, or the one that was tried
/// least, which one bad trial may have hidden. `counts` are the trials of each value, by axis.
fn mutant(rng: &mut ChaCha8Rng, elites: &[&Point], axes: &[usize], counts: &[Vec<usize>]) -> Point {
    let mut elite = 0;
    while elite + 1 < elites.len() && unit(rng) < NEXT {
        elite += 1;
    }
    let mut point = elites[elite].clone();
    loop {
        let axis = axes[below(rng, axes.len())];
        let (at, counts) = (point.0[axis] as usize, &counts[axis]);
        let value = match below(rng, 4) {
            0 => at.saturating_sub(1),
            1 => (at + 1).min(counts.len() - 1),
            2 => below(rng, counts.len()),
            _ => (0..counts.len()).min_by_key(|value| counts[*value]).unwrap_or(at),
        };
        point.0[axis] = value as u32;
        if unit(rng) >= MORE {
            return point;
        }
    }
}

/// A number in `[0, 1)`.
fn unit(rng: &mut ChaCha8Rng) -> f32 {
    (rng.next_u32() >> 8) as f32 / (1_u32 << 24) as f32
}

/// A whole number below `limit`, which must be positive.
pub fn below(rng: &mut ChaCha8Rng, limit: usize) -> usize {
    ((u64::from(rng.next_u32()) * limit as u64) >> 32) as usize
}

#[cfg(test)]
mod tests {
    use super::super::candidates::PointList;
    use super::*;

    const STRATEGIES: [SearchStrategy; 3] =
        [SearchStrategy::Elites, SearchStrategy::Random, SearchStrategy::Exhaustive];

    fn space() -> PointList {
        PointList::new((0..16).flat_map(|a| (0..16).map(move |b| Point(vec![a, b]))).collect())
    }

    fn cost(point: &Point) -> Option<f64> {
        let (a, b) = (f64::from(point.0[0]), f64::from(point.0[1]));
        // A corner does not build.
        (a + b < 28.0).then_some(1.0 + (a - 11.0).powi(2) + (b - 4.0).powi(2))
    }

    fn trial(point: Point) -> SearchTrial {
        SearchTrial { cost: cost(&point), point, code: None }
    }

    fn run(strategy: SearchStrategy, seed: u64, budget: usize) -> Vec<SearchTrial> {
        let candidates = space();
        let proposer = Proposer { candidates: &candidates, first: &[], strategy, seed };
        let mut trials = Vec::new();
        while trials.len() < budget {
            let batch = proposer.propose(&trials, 8);
            assert!(!batch.is_empty());
            trials.extend(batch.into_iter().map(trial));
        }
        trials
    }

    fn best(trials: &[SearchTrial]) -> f64 {
        trials.iter().filter_map(|trial| trial.cost).fold(f64::INFINITY, f64::min)
    }

    #[test]
    fn no_strategy_proposes_a_point_twice() {
        for strategy in STRATEGIES {
            let trials = run(strategy, 3, 256);
            let points: HashSet<&Point> = trials.iter().map(|trial| &trial.point).collect();
            assert_eq!((points.len(), trials.len()), (256, 256));
        }
    }

    #[test]
    fn what_is_known_is_tried_first_by_every_strategy_and_once() {
        let candidates = space();
        let first = [Point(vec![9, 2]), Point(vec![3, 3]), Point(vec![9, 2])];
        for strategy in STRATEGIES {
            let proposer = Proposer { candidates: &candidates, first: &first, strategy, seed: 2 };
            let mut points: Vec<Point> = Vec::new();
            for batch in [1, 7] {
                let trials: Vec<SearchTrial> = points.iter().cloned().map(trial).collect();
                points.extend(proposer.propose(&trials, batch));
            }
            assert_eq!((&points[..2], points.len()), (&first[..2], 8), "{strategy:?}");
            assert_eq!(points.iter().collect::<HashSet<_>>().len(), 8, "{strategy:?}");
        }
    }

    #[test]
    fn elites_find_the_best_of_a_bowl_in_a_third_of_it() {
        let found = (0..8).filter(|seed| best(&run(SearchStrategy::Elites, *seed, 88)) <= 1.0).count();
        assert!(found >= 7, "found by {found} of 8 seeds");
    }

    #[test]
    fn equal_seeds_propose_alike_and_a_search_goes_on_where_it_stopped() {
        let whole = run(SearchStrategy::Elites, 5, 48);
        assert_eq!(whole, run(SearchStrategy::Elites, 5, 48));
        let candidates = space();
        let proposer = Proposer { candidates: &candidates, first: &[], strategy: SearchStrategy::Elites, seed: 5 };
        let then: Vec<Point> = whole[32..40].iter().map(|trial| trial.point.clone()).collect();
        assert_eq!(proposer.propose(&whole[..32], 8), then);
    }

    #[test]
    fn trials_that_all_fail_leave_a_search_at_random() {
        let candidates = space();
        let proposer = Proposer { candidates: &candidates, first: &[], strategy: SearchStrategy::Elites, seed: 1 };
        let failed = |point: Point| SearchTrial { point, cost: None, code: None };
        let mut trials: Vec<SearchTrial> = proposer.propose(&[], 24).into_iter().map(failed).collect();
        trials.extend(proposer.propose(&trials, 8).into_iter().map(failed));
        assert_eq!(trials.len(), 32);
    }

    #[test]
    fn an_axis_that_changes_no_machine_code_is_not_mutated() {
        let of = |a: u32, b: u32| SearchTrial { code: Some(b.to_string()), ..trial(Point(vec![a, b])) };
        let trials: Vec<SearchTrial> = (0..4).flat_map(|b| (0..6).map(move |a| of(a, b))).collect();
        let elites: HashSet<u32> = ranked(&trials).iter().take(ELITES).map(|trial| trial.point.0[0]).collect();
        let candidates = space();
        let proposer = Proposer { candidates: &candidates, first: &[], strategy: SearchStrategy::Elites, seed: 1 };
        let proposed = proposer.propose(&trials, 8);
        let mutated = proposed.iter().filter(|point| elites.contains(&point.0[0])).count();
        assert!(mutated >= 6, "{proposed:?}");
    }
}
