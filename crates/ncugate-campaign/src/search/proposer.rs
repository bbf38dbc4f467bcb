//! Proposes the next points from the trials so far: a function of the seed and of the trials, so that a killed search
//! resumes with the same proposals.

use super::acquisition::{CandidatePool, Expectation};
use super::candidates::PointSource;
use super::duplicates::{idle_axes, without_duplicates};
use super::encoding::Encoding;
use super::forest::{Forest, ForestSettings, Samples, unit};
use super::trial::{SearchTrial, least_cost, ranked};
use ncugate_phase::config::SearchStrategy;
use ncugate_phase::plan::Point;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;
use std::collections::HashSet;

/// Trials before the first model, spread at random.
const SPREAD: usize = 16;

/// Candidates drawn for each of the spread points; the one farthest from the earlier points is taken.
const DRAWN: usize = 16;

/// Trees of the model.
const FOREST: ForestSettings = ForestSettings { trees: 48, leaf: 1, features: 0.5 };

/// Cost limit relative to the best: slower trials and failures count as this much. How bad a bad trial is tells
/// nothing about the best ones.
const WORST: f64 = 3.0;

/// Number of best points whose neighbours are always candidates.
const BEST: usize = 8;

/// Weight of other facts of a trial (registers, counters) relative to its cost when the model splits.
const FACTS: f32 = 0.25;

/// A point to try, and the model's expectation for it.
#[derive(Debug, Clone, PartialEq)]
pub struct Proposal {
    pub point: Point,
    /// The cost that the model expects (a harmonic mean over trees); `None` without a model.
    pub expected: Option<f64>,
}

/// Proposes points of a space.
pub struct Proposer<'a> {
    pub candidates: &'a dyn PointSource,
    /// Encodes its points as features.
    pub encoding: &'a Encoding,
    /// Points to try before all others.
    pub first: &'a [Point],
    pub strategy: SearchStrategy,
    /// Seed of the random draws.
    pub seed: u64,
}

impl Proposer<'_> {
    /// The next `batch` untried points; fewer if the space runs out.
    pub fn propose(&self, trials: &[SearchTrial], batch: usize) -> Vec<Proposal> {
        let mut tried: HashSet<&Point> = trials.iter().map(|trial| &trial.point).collect();
        let first: Vec<&Point> = self.first.iter().filter(|point| tried.insert(point)).take(batch).collect();
        let unexpected = |point| Proposal { point, expected: None };
        let mut proposals: Vec<Proposal> = first.iter().copied().cloned().map(unexpected).collect();
        let batch = batch - proposals.len();
        if batch == 0 {
            return proposals;
        }
        let mut rng = ChaCha8Rng::seed_from_u64(self.seed);
        rng.set_stream(trials.len() as u64 + 1);
        match self.strategy {
            SearchStrategy::Exhaustive => {
                proposals.extend(self.candidates.in_order(&tried, batch).into_iter().map(unexpected));
            }
            SearchStrategy::Random => {
                proposals.extend(self.candidates.draw(&mut rng, batch, &tried).into_iter().map(unexpected));
            }
            SearchStrategy::Model if trials.len() < SPREAD => {
                let count = batch.min(SPREAD - trials.len());
                proposals.extend(self.spread(&mut rng, &tried, count).into_iter().map(unexpected));
            }
            SearchStrategy::Model => proposals.extend(self.modelled(&mut rng, trials, &tried, batch)),
        }
        proposals
    }

    /// Importance of each axis in the model's splits; sums to 1. `None` if too little is known.
    pub fn importance(&self, trials: &[SearchTrial]) -> Option<Vec<f64>> {
        let samples = self.samples(trials)?;
        let forest = Forest::fit(&samples, ForestSettings { trees: 200, features: 1.0, ..FOREST }, self.seed);
        let mut shares = vec![0.0; self.encoding.scales().len()];
        for (feature, share) in forest.importance().iter().enumerate() {
            let axes = self.encoding.axes_of(feature);
            axes.iter().for_each(|axis| shares[*axis] += f64::from(*share) / axes.len() as f64);
        }
        Some(shares)
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

    /// The points with the best predictions; each slot has its own trust in the model and its own region of the
    /// space.
    fn modelled(
        &self,
        rng: &mut ChaCha8Rng,
        trials: &[SearchTrial],
        tried: &HashSet<&Point>,
        batch: usize,
    ) -> Vec<Proposal> {
        let Some(samples) = self.samples(trials) else {
            let drawn = self.candidates.draw(rng, batch, tried);
            return drawn.into_iter().map(|point| Proposal { point, expected: None }).collect();
        };
        let forest = Forest::fit(&samples, FOREST, u64::from(unit(rng).to_bits()));
        let best: Vec<Point> = ranked(trials).into_iter().take(BEST).map(|trial| trial.point.clone()).collect();
        let idle = idle_axes(trials);
        let points = without_duplicates(self.candidates.pool(rng, &best, tried), trials, &idle);
        let expected: Vec<Expectation> =
            points.iter().map(|point| Expectation::of(&forest, &self.encoding.row(point))).collect();
        let tried = trials.iter().map(|trial| &trial.point).collect();
        let pool = CandidatePool {
            points: &points,
            expected: &expected,
            encoding: self.encoding,
            tried,
            best: &best,
            idle: &idle,
        };
        let least = least_cost(trials);
        let proposal = |at: usize| {
            let expected = least.map(|least| least / f64::from(-expected[at].mean));
            Proposal { point: points[at].clone(), expected }
        };
        pool.choose(rng, batch).into_iter().map(proposal).collect()
    }

    /// The training samples: the performance of each trial relative to the best one, negated, so that less is better.
    /// `None` if fewer than two trials have a cost.
    fn samples(&self, trials: &[SearchTrial]) -> Option<Samples> {
        let costs: Vec<f64> = trials.iter().filter_map(|trial| trial.cost).collect();
        let best = least_cost(trials)?;
        if costs.len() < 2 {
            return None;
        }
        let worst = costs.iter().copied().fold(0.0, f64::max).min(best * WORST);
        let rows = trials.iter().map(|trial| self.encoding.row(&trial.point)).collect();
        let target = |trial: &SearchTrial| (-best / trial.cost.unwrap_or(worst).min(worst)) as f32;
        let mut targets: Vec<Vec<f32>> = trials.iter().map(|trial| vec![target(trial)]).collect();
        facts(trials, &mut targets);
        Some(Samples { rows, targets })
    }
}

/// Adds the other facts of the trials as further targets, scaled so that together they have the scale of the cost
/// times [`FACTS`]. A missing fact takes its mean.
fn facts(trials: &[SearchTrial], targets: &mut [Vec<f32>]) {
    let spread = |values: &[f32]| {
        let mean = values.iter().sum::<f32>() / values.len().max(1) as f32;
        let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f32>() / values.len().max(1) as f32;
        (mean, variance.sqrt())
    };
    let (_, cost) = spread(&targets.iter().map(|target| target[0]).collect::<Vec<_>>());
    let count = trials.iter().map(|trial| trial.facts.len()).max().unwrap_or(0);
    let known = |fact: usize| trials.iter().map(move |trial| trial.facts.get(fact).copied().flatten());
    let varying: Vec<usize> = (0..count)
        .filter(|fact| {
            let values: Vec<f32> = known(*fact).flatten().map(|value| value as f32).collect();
            spread(&values).1 > 0.0
        })
        .collect();
    let weight = FACTS / (varying.len().max(1) as f32).sqrt();
    for fact in varying {
        let values: Vec<f32> = known(fact).flatten().map(|value| value as f32).collect();
        let (mean, deviation) = spread(&values);
        for (target, value) in targets.iter_mut().zip(known(fact)) {
            target.push(value.map_or(0.0, |value| (value as f32 - mean) / deviation * cost * weight));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::candidates::PointList;
    use super::super::encoding::AxisScale;
    use super::*;

    fn space() -> (PointList, Encoding) {
        let points = (0..16).flat_map(|a| (0..16).map(move |b| Point(vec![a, b]))).collect();
        let sizes: Vec<f64> = (1..=16).map(f64::from).collect();
        (PointList::new(points), Encoding::new(vec![AxisScale::of_numbers(&sizes), AxisScale::of_numbers(&sizes)]))
    }

    fn cost(point: &Point) -> Option<f64> {
        let (a, b) = (f64::from(point.0[0]), f64::from(point.0[1]));
        // A corner does not build.
        (a + b < 28.0).then_some(1.0 + (a - 11.0).powi(2) + (b - 4.0).powi(2))
    }

    fn run(strategy: SearchStrategy, seed: u64, budget: usize) -> Vec<SearchTrial> {
        let (candidates, encoding) = space();
        let proposer = Proposer { candidates: &candidates, encoding: &encoding, first: &[], strategy, seed };
        let mut trials = Vec::new();
        while trials.len() < budget {
            let batch = proposer.propose(&trials, 8);
            assert!(!batch.is_empty());
            trials.extend(batch.into_iter().map(|p| SearchTrial {
                cost: cost(&p.point),
                point: p.point,
                facts: Vec::new(),
                code: None,
            }));
        }
        trials
    }

    fn best(trials: &[SearchTrial]) -> f64 {
        trials.iter().filter_map(|trial| trial.cost).fold(f64::INFINITY, f64::min)
    }

    #[test]
    fn no_strategy_proposes_a_point_twice() {
        for strategy in [SearchStrategy::Model, SearchStrategy::Random, SearchStrategy::Exhaustive] {
            let trials = run(strategy, 3, 256);
            let points: HashSet<&Point> = trials.iter().map(|trial| &trial.point).collect();
            assert_eq!((points.len(), trials.len()), (256, 256));
        }
    }

    #[test]
    fn what_is_known_is_tried_first_by_every_strategy_and_once() {
        let (candidates, encoding) = space();
        let first = [Point(vec![9, 2]), Point(vec![3, 3]), Point(vec![9, 2])];
        for strategy in [SearchStrategy::Model, SearchStrategy::Random, SearchStrategy::Exhaustive] {
            let proposer = Proposer { candidates: &candidates, encoding: &encoding, first: &first, strategy, seed: 2 };
            let mut points: Vec<Point> = Vec::new();
            for batch in [1, 7] {
                let trials: Vec<SearchTrial> = points.iter().map(|point| trial(point.clone(), None)).collect();
                points.extend(proposer.propose(&trials, batch).into_iter().map(|proposal| proposal.point));
            }
            assert_eq!((&points[..2], points.len()), (&first[..2], 8), "{strategy:?}");
            assert_eq!(points.iter().collect::<HashSet<_>>().len(), 8, "{strategy:?}");
        }
    }

    fn trial(point: Point, code: Option<&str>) -> SearchTrial {
        SearchTrial { cost: cost(&point), point, facts: Vec::new(), code: code.map(str::to_owned) }
    }

    #[test]
    fn a_model_finds_the_best_of_a_bowl_in_a_quarter_of_it() {
        let found = (0..8).filter(|seed| best(&run(SearchStrategy::Model, *seed, 64)) <= 1.0).count();
        assert!(found >= 7, "found by {found} of 8 seeds");
    }

    #[test]
    fn equal_seeds_propose_alike_and_a_search_goes_on_where_it_stopped() {
        let whole = run(SearchStrategy::Model, 5, 48);
        assert_eq!(whole, run(SearchStrategy::Model, 5, 48));
        let (candidates, encoding) = space();
        let proposer = Proposer {
            candidates: &candidates,
            encoding: &encoding,
            first: &[],
            strategy: SearchStrategy::Model,
            seed: 5,
        };
        let next: Vec<Point> = proposer.propose(&whole[..32], 8).into_iter().map(|p| p.point).collect();
        let then: Vec<Point> = whole[32..40].iter().map(|trial| trial.point.clone()).collect();
        assert_eq!(next, then);
    }

    #[test]
    fn trials_that_all_fail_leave_a_search_at_random() {
        let (candidates, encoding) = space();
        let proposer = Proposer {
            candidates: &candidates,
            encoding: &encoding,
            first: &[],
            strategy: SearchStrategy::Model,
            seed: 1,
        };
        let failed = |p: Proposal| SearchTrial { point: p.point, cost: None, facts: Vec::new(), code: None };
        let mut trials: Vec<SearchTrial> = proposer.propose(&[], 16).into_iter().map(failed).collect();
        trials.extend(proposer.propose(&trials, 8).into_iter().map(failed));
        assert_eq!(trials.len(), 24);
        assert_eq!(proposer.importance(&trials), None);
    }

    #[test]
    fn importance_is_of_the_axis_that_decides() {
        let (candidates, encoding) = space();
        let proposer = Proposer {
            candidates: &candidates,
            encoding: &encoding,
            first: &[],
            strategy: SearchStrategy::Model,
            seed: 1,
        };
        let mut trials = run(SearchStrategy::Random, 1, 100);
        for trial in &mut trials {
            trial.cost = Some(1.0 + f64::from(trial.point.0[1]) / 8.0);
        }
        let shares = proposer.importance(&trials).unwrap_or_default();
        assert!(shares[1] > 0.7 && shares[0] < 0.3, "{shares:?}");
    }
}
