//! Changes between matched variants: means of both sides, bootstrap intervals and p-values.
//!
//! P-values come from flipping the signs of the differences (R. A. Fisher, "The Design of Experiments", 1935). They are
//! adjusted for the number of tests: S. Holm, "A simple sequentially rejective multiple test procedure", Scandinavian
//! Journal of Statistics 6, 1979; Y. Benjamini and Y. Hochberg, "Controlling the false discovery rate", Journal of the
//! Royal Statistical Society B 57, 1995.

use ncugate_model::stats::{Resampler, Statistic, Stream};
use serde::Serialize;

/// From this adjusted p-value on, a change is indistinguishable from noise.
const ALPHA: f64 = 0.05;

/// Whether a change can be told from none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Separation {
    /// Its adjusted p-value is below 5 %; without a p-value, its interval excludes zero.
    Clear,
    Noise,
}

/// The unit of a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ChangeUnit {
    /// Percent of the mean before.
    Percent,
    /// The unit of the metric; percentage points for a percentage.
    Metric,
}

/// A change over matched pairs with its interval.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct MatchedChange {
    /// The change, negative if the metric falls.
    pub by: f64,
    /// Lower end of its 95 % interval.
    pub low: f64,
    /// Upper end of its 95 % interval.
    pub high: f64,
    pub unit: ChangeUnit,
    /// Pairs of variants that were resampled, or groups of four for an interaction.
    pub pairs: usize,
    /// P-value, adjusted for all tested changes of the same kind; none for a metric that equal code reproduces exactly.
    pub p: Option<f64>,
    pub separation: Separation,
}

/// Values of matched variants, in the same order on both sides.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct MatchedPairs {
    pub before: Vec<f64>,
    pub after: Vec<f64>,
}

impl MatchedPairs {
    pub fn len(&self) -> usize {
        self.before.len()
    }

    /// At most `most` pairs, [spread] evenly.
    pub fn thinned(self, most: usize) -> Self {
        let of = |values: &[f64]| spread(values.len(), most).take(most).map(|at| values[at]).collect();
        Self { before: of(&self.before), after: of(&self.after) }
    }

    /// The same in the opposite direction.
    pub fn reversed(self) -> Self {
        Self { before: self.after, after: self.before }
    }

    /// Means before and after.
    pub fn means(&self) -> [f64; 2] {
        [&self.before, &self.after].map(|side| side.iter().sum::<f64>() / side.len() as f64)
    }

    fn differences(&self) -> Vec<f64> {
        self.before.iter().zip(&self.after).map(|(before, after)| after - before).collect()
    }

    /// The change of the means: their ratio, or their difference for percentages and values that can be zero.
    pub fn change(&self, metric_unit: &str, p: Option<f64>, resampler: &Resampler) -> MatchedChange {
        match metric_unit == "%" || self.before.iter().any(|value| *value <= 0.0) {
            true => self.changed(ChangeUnit::Metric, |before, after| after - before, p, resampler),
            false => self.changed(ChangeUnit::Percent, |before, after| 100.0 * (after / before - 1.0), p, resampler),
        }
    }

    /// The change between geometric means, for pairs of logarithms.
    pub fn logarithmic_change(&self, p: f64, resampler: &Resampler) -> MatchedChange {
        self.changed(ChangeUnit::Percent, |before, after| 100.0 * ((after - before).exp() - 1.0), Some(p), resampler)
    }

    /// Both sides are resampled with the same pairs.
    fn changed(
        &self,
        unit: ChangeUnit,
        change: impl Fn(f64, f64) -> f64,
        p: Option<f64>,
        resampler: &Resampler,
    ) -> MatchedChange {
        let replicates = |side| resampler.replicates(side, Statistic::Mean, Stream::First);
        let interval = replicates(&self.before).and_then(|before| {
            let after = replicates(&self.after)?;
            resampler.interval(&before.iter().zip(&after).map(|(a, b)| change(*a, *b)).collect::<Vec<f64>>())
        });
        let [before, after] = self.means();
        let (low, high) = match &interval {
            _ if self.before == self.after => (0.0, 0.0),
            Ok(interval) => (interval.low, interval.high),
            Err(_) => (f64::NEG_INFINITY, f64::INFINITY),
        };
        let is_clear = interval.is_ok() && p.map_or(low * high > 0.0, |p| p < ALPHA);
        MatchedChange {
            by: change(before, after),
            low,
            high,
            unit,
            pairs: self.len(),
            p,
            separation: if is_clear { Separation::Clear } else { Separation::Noise },
        }
    }
}

/// All places of a list: in order if it has at most `most`, else so that the first ones are spread evenly over the list
/// and over each of its periods. The list of a full sweep has a period for each parameter.
pub fn spread(len: usize, most: usize) -> impl Iterator<Item = usize> {
    let golden = (len as f64 * 0.618_034) as usize;
    let step = if len <= most { 1 } else { (golden..).find(|step| greatest_divisor(*step, len) == 1).unwrap_or(1) };
    (0..len).map(move |at| at * step % len)
}

fn greatest_divisor(a: usize, b: usize) -> usize {
    if b == 0 { a } else { greatest_divisor(b, a % b) }
}

/// Tests of means by random signs, the same for all tests.
pub struct SignFlips<'r> {
    resampler: &'r Resampler,
    /// For each pair, whether its sign is flipped, by draw.
    signs: Vec<Vec<bool>>,
}

impl<'r> SignFlips<'r> {
    pub fn new(resampler: &'r Resampler) -> Self {
        Self { resampler, signs: Vec::new() }
    }

    /// Two-sided p-value of the mean difference: the share of sign vectors that give one as large. It is exact if all
    /// differences agree in sign, because only equal signs give a mean as large.
    pub fn p(&mut self, pairs: &MatchedPairs) -> f64 {
        let mut differences = pairs.differences();
        differences.retain(|difference| *difference != 0.0);
        if differences.is_empty() {
            return 1.0;
        }
        if differences.iter().all(|d| *d > 0.0) || differences.iter().all(|d| *d < 0.0) {
            return 0.5f64.powi(differences.len() as i32 - 1);
        }
        for at in self.signs.len()..differences.len() {
            self.signs.push(self.resampler.normal(at as u64).map(|normal| normal < 0.0).collect());
        }
        let sum: f64 = differences.iter().sum();
        let mut sums = vec![0.0; self.resampler.settings().resamples];
        for (difference, signs) in differences.iter().zip(&self.signs) {
            for (sum, negative) in sums.iter_mut().zip(signs) {
                *sum += if *negative { -difference } else { *difference };
            }
        }
        // counts sums that are equal up to rounding
        let large = sums.iter().filter(|other: &&f64| other.abs() >= sum.abs() * (1.0 - 1e-12)).count();
        (1 + large) as f64 / (1 + sums.len()) as f64
    }
}

/// Holm's adjusted p-values, in the order given: the probability of one false effect among all.
pub fn holm(plain: &[f64]) -> Vec<f64> {
    let mut adjusted = vec![1.0; plain.len()];
    let mut least = 0.0f64;
    for (rank, at) in ascending(plain).into_iter().enumerate() {
        least = least.max((plain.len() - rank) as f64 * plain[at]).min(1.0);
        adjusted[at] = least;
    }
    adjusted
}

/// Benjamini's and Hochberg's adjusted p-values, in the order given: the share of false effects among those found.
pub fn false_discovery_rate(plain: &[f64]) -> Vec<f64> {
    let mut adjusted = vec![1.0; plain.len()];
    let mut most = 1.0f64;
    for (rank, at) in ascending(plain).into_iter().enumerate().rev() {
        most = most.min(plain.len() as f64 / (rank + 1) as f64 * plain[at]);
        adjusted[at] = most;
    }
    adjusted
}

fn ascending(values: &[f64]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|a, b| values[*a].total_cmp(&values[*b]));
    order
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pairs(pairs: &[(f64, f64)]) -> MatchedPairs {
        let (before, after) = pairs.iter().copied().unzip();
        MatchedPairs { before, after }
    }

    fn p(values: &[(f64, f64)]) -> f64 {
        SignFlips::new(&Resampler::default()).p(&pairs(values))
    }

    #[test]
    fn a_change_is_that_of_the_means() {
        let resampler = Resampler::default();
        let of = |values: [(f64, f64); 2]| pairs(&values.repeat(4));
        let ratio = of([(1.0, 2.0), (3.0, 4.0)]).change("us", Some(0.01), &resampler);
        assert_eq!((ratio.by, ratio.unit, ratio.separation), (50.0, ChangeUnit::Percent, Separation::Clear));
        assert!(100.0 / 3.0 < ratio.low && ratio.low < 50.0 && 50.0 < ratio.high && ratio.high < 100.0, "{ratio:?}");
        let points = of([(10.0, 20.0), (30.0, 60.0)]).change("%", Some(0.5), &resampler);
        assert_eq!((points.by, points.unit, points.separation), (20.0, ChangeUnit::Metric, Separation::Noise));
        let from_zero = of([(0.0, 4.0), (2.0, 6.0)]).change("inst", Some(0.01), &resampler);
        assert_eq!((from_zero.by, from_zero.unit), (4.0, ChangeUnit::Metric));
        let exact = |values| of(values).change("%", None, &resampler).separation;
        assert_eq!(exact([(10.0, 20.0), (30.0, 60.0)]), Separation::Clear);
        assert_eq!(exact([(10.0, 20.0), (60.0, 50.0)]), Separation::Noise);
        let equal = pairs(&[(8.0, 8.0); 5]).change("inst", None, &resampler);
        assert_eq!((equal.by, equal.low, equal.high, equal.separation), (0.0, 0.0, 0.0, Separation::Noise));
        let logarithms = of([(0.0, 4.0f64.ln()), (0.0, 0.0)]).logarithmic_change(0.01, &resampler);
        assert!((logarithms.by - 100.0).abs() < 1e-9, "{logarithms:?}");
    }

    #[test]
    fn a_value_that_is_not_finite_is_never_clear() {
        let change =
            pairs(&[(1.0, 2.0), (1.0, f64::INFINITY)].repeat(4)).change("us", Some(0.01), &Resampler::default());
        assert_eq!(change.separation, Separation::Noise);
        assert_eq!((change.low, change.high), (f64::NEG_INFINITY, f64::INFINITY));
    }

    #[test]
    fn the_p_value_of_equal_signs_is_exact() {
        assert_eq!(p(&[(1.0, 2.0); 5]), 1.0 / 16.0);
        assert_eq!(p(&[(2.0, 1.0); 9]), 1.0 / 256.0);
        assert_eq!(p(&[(1.0, 1.0); 9]), 1.0);
        assert_eq!(p(&[(1.0, 2.0), (1.0, 1.0)]), 1.0);
    }

    #[test]
    fn the_p_value_of_mixed_signs_is_the_share_of_sign_vectors() {
        // of the 16 sign vectors of 1, 1, 1, -0.5, the given one and (1, 1, 1, 0.5) give a sum as large, and their negatives
        let mixed = p(&[(0.0, 1.0), (0.0, 1.0), (0.0, 1.0), (0.5, 0.0)]);
        assert!((mixed - 0.25).abs() < 0.03, "{mixed}");
    }

    #[test]
    fn places_are_spread_over_every_period() {
        assert_eq!(spread(5, 5).collect::<Vec<_>>(), [0, 1, 2, 3, 4]);
        assert_eq!(spread(0, 5).count(), 0);
        let mut all: Vec<usize> = spread(4_000, 400).collect();
        for period in [2, 10, 20, 25] {
            let mut counts = vec![0; period];
            all[..400].iter().for_each(|at| counts[at % period] += 1);
            assert!(counts.iter().all(|count| *count == 400 / period), "{period}: {counts:?}");
        }
        all.sort_unstable();
        assert_eq!(all, (0..4_000).collect::<Vec<_>>());
    }

    #[test]
    fn holm_multiplies_the_least_by_all() {
        assert_eq!(holm(&[0.01, 0.04, 0.03]), [0.03, 0.06, 0.06]);
        assert_eq!(holm(&[0.5, 0.9]), [1.0, 1.0]);
        assert_eq!(holm(&[]), [0.0; 0]);
    }

    #[test]
    fn the_false_discovery_rate_of_equal_p_values_is_that_value() {
        assert_eq!(false_discovery_rate(&[0.02, 0.02, 0.02]), [0.02, 0.02, 0.02]);
        assert_eq!(false_discovery_rate(&[0.03, 0.01, 0.9]), [0.045, 0.03, 0.9]);
        assert_eq!(false_discovery_rate(&[]), [0.0; 0]);
    }
}
