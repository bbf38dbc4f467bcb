//! Extremely randomised trees (Geurts, Ernst and Wehenkel 2006, doi 10.1007/s10994-006-6226-1) with several targets.
//!
//! A random split is drawn for each feature and the best of the drawn splits is taken, so that trees differ although
//! each sees every sample. With several targets, a good split separates all of them (weighted). Targets known only
//! for measured variants (counters, registers) shape the tree; the prediction is the first target.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

/// Settings of a forest.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ForestSettings {
    pub trees: usize,
    /// Minimum number of samples in a leaf.
    pub leaf: usize,
    /// Features drawn for a split, as a share of all.
    pub features: f32,
}

/// Training samples: a row of features and the targets of each. The first target is predicted.
#[derive(Debug, Clone, Default)]
pub struct Samples {
    /// Features, a row per sample.
    pub rows: Vec<Vec<f32>>,
    /// Targets, a row per sample; each target is scaled to its weight.
    pub targets: Vec<Vec<f32>>,
}

#[derive(Debug, Clone)]
pub struct Forest {
    trees: Vec<Vec<Node>>,
    importance: Vec<f32>,
}

#[derive(Debug, Clone, Copy)]
enum Node {
    Split { feature: u32, threshold: f32, right: u32 },
    Leaf(f32),
}

impl Forest {
    /// Fits a forest to at least one sample.
    pub fn fit(samples: &Samples, settings: ForestSettings, seed: u64) -> Self {
        let width = samples.rows.first().map_or(0, Vec::len);
        let mut importance = vec![0.0; width];
        let trees = (0..settings.trees)
            .map(|tree| {
                let mut rng = ChaCha8Rng::seed_from_u64(seed);
                rng.set_stream(tree as u64 + 1);
                let mut growing =
                    TreeBuilder { samples, settings, rng, nodes: Vec::new(), importance: &mut importance };
                let mut all: Vec<u32> = (0..u32::try_from(samples.rows.len()).unwrap_or(u32::MAX)).collect();
                growing.grow(&mut all);
                growing.nodes
            })
            .collect();
        let total: f32 = importance.iter().sum();
        if total > 0.0 {
            importance.iter_mut().for_each(|share| *share /= total);
        }
        Self { trees, importance }
    }

    pub fn trees(&self) -> usize {
        self.trees.len()
    }

    /// The prediction of one tree for a row.
    pub fn tree(&self, tree: usize, row: &[f32]) -> f32 {
        let nodes = &self.trees[tree];
        let mut at = 0;
        loop {
            match nodes[at] {
                Node::Leaf(value) => return value,
                Node::Split { feature, threshold, right } => {
                    at = if row[feature as usize] < threshold { at + 1 } else { right as usize };
                }
            }
        }
    }

    /// Share of the variance reduction of each feature, over all trees; sums to 1 if anything was split.
    pub fn importance(&self) -> &[f32] {
        &self.importance
    }
}

struct TreeBuilder<'a> {
    samples: &'a Samples,
    settings: ForestSettings,
    rng: ChaCha8Rng,
    nodes: Vec<Node>,
    importance: &'a mut [f32],
}

struct Split {
    feature: usize,
    threshold: f32,
    gain: f32,
}

impl TreeBuilder<'_> {
    /// Adds the tree over these samples; returns the index of its root.
    fn grow(&mut self, at: &mut [u32]) -> usize {
        let node = self.nodes.len();
        self.nodes.push(Node::Leaf(self.mean(at)));
        if at.len() < 2 * self.settings.leaf {
            return node;
        }
        let Some(split) = self.split(at) else { return node };
        self.importance[split.feature] += split.gain;
        let rows = &self.samples.rows;
        at.sort_unstable_by_key(|sample| (rows[*sample as usize][split.feature] >= split.threshold, *sample));
        let middle = at.partition_point(|sample| rows[*sample as usize][split.feature] < split.threshold);
        let (left, right) = at.split_at_mut(middle);
        self.grow(left);
        let right = self.grow(right);
        self.nodes[node] = Node::Split {
            feature: u32::try_from(split.feature).unwrap_or(u32::MAX),
            threshold: split.threshold,
            right: u32::try_from(right).unwrap_or(u32::MAX),
        };
        node
    }

    fn mean(&self, at: &[u32]) -> f32 {
        let sum: f32 = at.iter().map(|sample| self.samples.targets[*sample as usize][0]).sum();
        sum / at.len().max(1) as f32
    }

    /// The best of one random split of each drawn feature; considers all features if no drawn one splits anything.
    fn split(&mut self, at: &[u32]) -> Option<Split> {
        let share = self.settings.features;
        let drawn: Vec<usize> =
            (0..self.importance.len()).filter(|_| share >= 1.0 || unit(&mut self.rng) < share).collect();
        let split = self.split_by(at, drawn.into_iter());
        if split.is_some() || share >= 1.0 { split } else { self.split_by(at, 0..self.importance.len()) }
    }

    fn split_by(&mut self, at: &[u32], features: impl Iterator<Item = usize>) -> Option<Split> {
        let mut best: Option<Split> = None;
        for feature in features {
            let Some(threshold) = self.threshold(at, feature) else { continue };
            let Some(gain) = self.gain(at, feature, threshold) else { continue };
            if best.as_ref().is_none_or(|best| gain > best.gain) {
                best = Some(Split { feature, threshold, gain });
            }
        }
        best.filter(|split| split.gain > 0.0)
    }

    /// A value between the minimum and the maximum; `None` if all are equal.
    fn threshold(&mut self, at: &[u32], feature: usize) -> Option<f32> {
        let values = || at.iter().map(|sample| self.samples.rows[*sample as usize][feature]);
        let low = values().fold(f32::INFINITY, f32::min);
        let high = values().fold(f32::NEG_INFINITY, f32::max);
        (low < high).then(|| {
            let threshold = low + (high - low) * unit(&mut self.rng);
            if threshold <= low { high } else { threshold }
        })
    }

    /// Variance reduction of a split, summed over targets; `None` if a side is too small.
    fn gain(&self, at: &[u32], feature: usize, threshold: f32) -> Option<f32> {
        let targets = self.samples.targets.first().map_or(0, Vec::len);
        let mut gain = 0.0;
        for target in 0..targets {
            let (mut left, mut right) = ((0.0_f32, 0.0_f32), (0.0_f32, 0.0_f32));
            for sample in at {
                let sample = *sample as usize;
                let side = if self.samples.rows[sample][feature] < threshold { &mut left } else { &mut right };
                side.0 += 1.0;
                side.1 += self.samples.targets[sample][target];
            }
            let least = self.settings.leaf.max(1) as f32;
            if left.0 < least || right.0 < least {
                return None;
            }
            let (n, sum) = (left.0 + right.0, left.1 + right.1);
            gain += left.1 * left.1 / left.0 + right.1 * right.1 / right.0 - sum * sum / n;
        }
        Some(gain)
    }
}

/// A number in `[0, 1)`.
pub fn unit(rng: &mut ChaCha8Rng) -> f32 {
    (rng.next_u32() >> 8) as f32 / (1_u32 << 24) as f32
}

/// A whole number below `limit`, which must be positive.
pub fn below(rng: &mut ChaCha8Rng, limit: usize) -> usize {
    ((u64::from(rng.next_u32()) * limit as u64) >> 32) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    const SETTINGS: ForestSettings = ForestSettings { trees: 32, leaf: 1, features: 1.0 };

    fn samples() -> Samples {
        let rows: Vec<Vec<f32>> = (0..64_u8).map(|at| vec![f32::from(at % 8), f32::from(at / 8)]).collect();
        let targets = rows.iter().map(|row| vec![row[0] * 10.0]).collect();
        Samples { rows, targets }
    }

    fn mean(forest: &Forest, row: &[f32]) -> f32 {
        (0..forest.trees()).map(|tree| forest.tree(tree, row)).sum::<f32>() / forest.trees() as f32
    }

    #[test]
    fn a_forest_learns_which_feature_decides() {
        let forest = Forest::fit(&samples(), SETTINGS, 1);
        assert!((mean(&forest, &[3.0, 5.0]) - 30.0).abs() < 5.0);
        assert!(forest.importance()[0] > 0.95, "{:?}", forest.importance());
    }

    #[test]
    fn equal_seeds_give_equal_forests_and_others_do_not() {
        let row = [2.5, 1.0];
        let of = |seed| mean(&Forest::fit(&samples(), SETTINGS, seed), &row);
        assert_eq!(of(7), of(7));
        assert_ne!(of(7), of(8));
    }

    #[test]
    fn a_forest_of_one_feature_splits_although_few_features_are_drawn() {
        let rows: Vec<Vec<f32>> = (0..16_u8).map(|at| vec![f32::from(at)]).collect();
        let targets = rows.clone();
        let forest = Forest::fit(&Samples { rows, targets }, ForestSettings { features: 0.1, ..SETTINGS }, 1);
        assert!((0..16_u8).all(|at| mean(&forest, &[f32::from(at)]) == f32::from(at)), "every leaf is one sample");
    }

    #[test]
    fn a_target_beside_the_first_shapes_the_tree() {
        let mut samples = samples();
        for (row, target) in samples.rows.iter().zip(&mut samples.targets) {
            *target = vec![0.0, row[1]];
        }
        assert!(Forest::fit(&samples, SETTINGS, 1).importance()[1] > 0.95);
    }
}
