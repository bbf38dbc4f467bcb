//! Selects the points of a batch from a pool, by the model's expectations.

use super::encoding::Encoding;
use super::forest::{Forest, unit};
use ncugate_phase::plan::Point;
use rand_chacha::ChaCha8Rng;
use std::collections::HashSet;

/// Number of best points whose neighbourhood is searched.
const NEIGHBOURHOODS: usize = 3;

/// Region that a slot of a batch draws from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Region {
    Everywhere,
    /// Points that differ on at most one axis from one of the best.
    NearBest,
    /// Points with the axis value that is tried least relative to its share of the pool. This revisits values that
    /// the model rejected after a few points.
    Undertried,
}

/// Regions of the slots in turn, continued from batch to batch.
const TURNS: [Region; 4] = [Region::Everywhere, Region::NearBest, Region::Everywhere, Region::Undertried];

/// A forest's prediction for a point.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Expectation {
    /// The mean over trees.
    pub mean: f32,
    pub deviation: f32,
}

impl Expectation {
    /// The prediction for a row of features.
    pub fn of(forest: &Forest, row: &[f32]) -> Self {
        let n = forest.trees().max(1) as f32;
        let (mut sum, mut squares) = (0.0, 0.0);
        for value in (0..forest.trees()).map(|tree| forest.tree(tree, row)) {
            sum += value;
            squares += value * value;
        }
        let mean = sum / n;
        Self { mean, deviation: (squares / n - mean * mean).max(0.0).sqrt() }
    }
}

/// Untried points, and the data for choosing among them.
pub struct CandidatePool<'a> {
    pub points: &'a [Point],
    pub expected: &'a [Expectation],
    /// The points as features.
    pub encoding: &'a Encoding,
    pub tried: Vec<&'a Point>,
    /// The best points, best first.
    pub best: &'a [Point],
    /// Axes that are not tried at each of their values.
    pub idle: &'a HashSet<usize>,
}

impl CandidatePool<'_> {
    /// Indices of the points to try next. Each minimises `mean - k * deviation` over its region, with `k` drawn from
    /// the exponential distribution of mean 1: the slots of a batch differ in how much they trust the model.
    pub fn choose(&self, rng: &mut ChaCha8Rng, batch: usize) -> Vec<usize> {
        let mut chosen: Vec<usize> = Vec::new();
        for place in 0..batch.min(self.points.len()) {
            let trust = -(1.0 - unit(rng)).ln();
            let bound = |at: &usize| self.expected[*at].mean - trust * self.expected[*at].deviation;
            let region = TURNS[(self.tried.len() + place) % TURNS.len()];
            let holds = self.region(region, &chosen);
            let least = |within: &dyn Fn(&Point) -> bool| {
                let free = (0..self.points.len()).filter(|at| !chosen.contains(at) && within(&self.points[*at]));
                free.min_by(|a, b| bound(a).total_cmp(&bound(b)))
            };
            // An exhausted region falls back to everywhere.
            let Some(at) = least(&*holds).or_else(|| least(&|_| true)) else { break };
            chosen.push(at);
        }
        chosen
    }

    /// Whether a point lies in a region.
    fn region<'s>(&'s self, region: Region, chosen: &[usize]) -> Box<dyn Fn(&Point) -> bool + 's> {
        match region {
            Region::Everywhere => Box::new(|_| true),
            Region::NearBest => Box::new(|point| {
                let near = |best: &Point| point.distance(best) <= 1;
                self.best.iter().take(NEIGHBOURHOODS).any(near)
            }),
            Region::Undertried => {
                let (axis, value) = self.undertried(chosen);
                Box::new(move |point| point.0.get(axis) == Some(&value))
            }
        }
    }

    /// The axis and value with the largest difference between the share in the pool and the share among tried and
    /// chosen points; the first of equals. Idle axes are skipped.
    fn undertried(&self, chosen: &[usize]) -> (usize, u32) {
        let available = self.shares(self.points.iter());
        let tried = self.shares(self.tried.iter().copied().chain(chosen.iter().map(|at| &self.points[*at])));
        let mut most = (0, 0, f32::NEG_INFINITY);
        let axes = available.iter().zip(&tried).enumerate().filter(|(axis, _)| !self.idle.contains(axis));
        for (axis, (available, tried)) in axes {
            for (value, (available, tried)) in (0..).zip(available.iter().zip(tried)) {
                if available - tried > most.2 {
                    most = (axis, value, available - tried);
                }
            }
        }
        (most.0, most.1)
    }

    /// The share of the points that has each value, by axis.
    fn shares<'p>(&self, points: impl Iterator<Item = &'p Point>) -> Vec<Vec<f32>> {
        let mut counts: Vec<Vec<f32>> = self.encoding.scales().iter().map(|scale| vec![0.0; scale.len()]).collect();
        let mut all = 0.0_f32;
        for point in points {
            all += 1.0;
            for (counts, value) in counts.iter_mut().zip(&point.0) {
                if let Some(count) = counts.get_mut(*value as usize) {
                    *count += 1.0;
                }
            }
        }
        counts.iter_mut().flatten().for_each(|count| *count /= all.max(1.0));
        counts
    }
}

#[cfg(test)]
mod tests {
    use super::super::encoding::AxisScale;
    use super::*;
    use rand_chacha::rand_core::SeedableRng;

    /// Two axes; all tried points have the first value of the second axis, and the model expects little of the other.
    fn chosen(batch: usize, points: &[Point]) -> Vec<Point> {
        let scales = vec![AxisScale::of_numbers(&[1.0, 2.0, 4.0, 8.0]), AxisScale::Categorical(2)];
        let expected: Vec<Expectation> = points
            .iter()
            .map(|point| Expectation { mean: (point.0[0] + 10 * point.0[1]) as f32, deviation: 0.1 })
            .collect();
        let best = [Point(vec![3, 0])];
        let pool = CandidatePool {
            points,
            expected: &expected,
            encoding: &Encoding::new(scales),
            tried: vec![&best[0]; 4],
            best: &best,
            idle: &HashSet::new(),
        };
        let chosen = pool.choose(&mut ChaCha8Rng::seed_from_u64(1), batch);
        chosen.into_iter().map(|at| points[at].clone()).collect()
    }

    #[test]
    fn one_place_in_four_is_near_the_best_and_one_where_little_was_tried() {
        let points: Vec<Point> = (0..3).flat_map(|a| (0..2).map(move |b| Point(vec![a, b]))).collect();
        let batch = chosen(4, &points);
        assert_eq!(batch[1].distance(&Point(vec![3, 0])), 1, "{batch:?}");
        assert_eq!(batch[3], Point(vec![0, 1]), "the best of those that the model gave up: {batch:?}");
    }

    #[test]
    fn an_axis_that_changes_nothing_is_not_undertried() {
        let points = [Point(vec![0, 0]), Point(vec![0, 1]), Point(vec![1, 1])];
        let encoding = Encoding::new(vec![AxisScale::Categorical(2), AxisScale::Categorical(2)]);
        let undertried = |idle: &[usize]| {
            let idle = idle.iter().copied().collect();
            let (best, tried) = (&points[..1], vec![&points[0]]);
            CandidatePool { points: &points, expected: &[], encoding: &encoding, tried, best, idle: &idle }
                .undertried(&[])
        };
        assert_eq!((undertried(&[]), undertried(&[1])), ((1, 1), (0, 1)));
    }

    #[test]
    fn a_region_of_which_nothing_is_left_is_everywhere() {
        let points = [Point(vec![0, 1]), Point(vec![1, 1])];
        let batch = chosen(4, &points);
        assert_eq!(batch, points, "nothing here is near the best, and nothing is proposed twice");
    }
}
