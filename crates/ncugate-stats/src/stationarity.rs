//! Tests whether rounds are alike: independent of each other, with the same distribution in the first half as in the
//! second.
//!
//! A bootstrap that redraws rounds assumes independence. A variant that wanders or switches between modes has fewer
//! independent rounds than rounds, so its interval is too narrow. Two tests detect that and widen the interval.
//!
//! - The lag-1 autocorrelation of each round's contribution, by ranks, so that single spikes do not mask it. If it
//!   exceeds the level of one independent series in ten, the interval is that of the effective sample size of an
//!   autoregressive process of order one (G. V. Bayley and J. M. Hammersley, "The 'effective' number of independent
//!   observations in an autocorrelated time series", Journal of the Royal Statistical Society, supplement 8, 1946),
//!   by Student's t. The estimate is corrected for its bias (F. H. C. Marriott and J. A. Pope, Biometrika 41, 1954)
//!   and taken one standard error higher, since too low an estimate costs more than too high a one.
//! - The medians of parts of the rounds: halves and thirds. If two differ by more than chance allows, the interval is
//!   widened to hold those of all parts, and the rounds are reported as not alike.

use super::quantile::median;
use super::student::{normal_quantile, t_quantile};
use super::{Estimate, Interval};

/// Share of independent series that are falsely classified as autocorrelated.
const FALSE_AUTOCORRELATION: f64 = 0.10;
/// Share of independent series that are falsely reported as not alike.
pub const FALSE_ALARM: f64 = 0.01;
/// Fewest rounds to test.
pub const FEWEST_TESTED: usize = 12;

/// The result of the tests.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Stationarity {
    /// Lag-1 autocorrelation of the rounds' contributions; 0 if it is within chance.
    pub autocorrelation: f64,
    /// The smallest and the largest median of a part, relative to the median of all rounds, if parts differ by more
    /// than chance allows.
    pub parts: Option<(f64, f64)>,
    pub rounds: usize,
}

impl Stationarity {
    /// Tests the rounds' contributions, in order.
    pub fn of(rounds: &[f64]) -> Self {
        let mut found = Self { autocorrelation: 0.0, parts: None, rounds: rounds.len() };
        if rounds.len() < FEWEST_TESTED || rounds.iter().any(|value| !value.is_finite()) {
            return found;
        }
        let n = rounds.len() as f64;
        let lag1 = autocorrelation(&ranks(rounds));
        if lag1 > normal_quantile(1.0 - FALSE_AUTOCORRELATION) / n.sqrt() {
            let error = ((1.0 - lag1 * lag1) / n).sqrt();
            found.autocorrelation = (lag1 + (1.0 + 3.0 * lag1) / n + error).min(1.0 - 2.0 / n);
        }
        found.parts = parts(rounds);
        found
    }

    /// Number of independent rounds with the same information: at least two.
    pub fn effective_rounds(&self) -> f64 {
        let r = self.autocorrelation;
        (self.rounds as f64 * (1.0 - r) / (1.0 + r)).max(2.0)
    }

    /// Factor for standard errors.
    pub fn inflation(&self) -> f64 {
        (self.rounds as f64 / self.effective_rounds()).max(1.0).sqrt()
    }

    /// The interval for these rounds, from one that assumes independence.
    pub fn widened(&self, estimate: Estimate) -> Interval {
        let Estimate { value, interval } = estimate;
        let level = interval.level;
        let factor = match self.autocorrelation > 0.0 {
            true => {
                self.inflation() * t_quantile(level, self.effective_rounds() - 1.0)
                    / normal_quantile((1.0 + level) / 2.0)
            }
            false => 1.0,
        };
        let (below, above) = (factor * (value - interval.low).max(0.0), factor * (interval.high - value).max(0.0));
        let (least, greatest) = self.parts.unwrap_or((0.0, 0.0));
        // a part has fewer rounds, so its own interval is wider by the square root of their ratio
        let apart = if self.parts.is_some() { std::f64::consts::SQRT_2 } else { 1.0 };
        Interval { low: value + least.min(0.0) - apart * below, high: value + greatest.max(0.0) + apart * above, level }
    }
}

/// Ranks from 0; ties get their mean rank.
fn ranks(values: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_unstable_by(|&a, &b| values[a].total_cmp(&values[b]));
    let mut ranks = vec![0.0; values.len()];
    for tied in order.chunk_by(|&a, &b| values[a] == values[b]) {
        let first = order.iter().position(|at| *at == tied[0]).unwrap_or(0);
        let mean = first as f64 + (tied.len() - 1) as f64 / 2.0;
        tied.iter().for_each(|&at| ranks[at] = mean);
    }
    ranks
}

/// Lag-1 autocorrelation; 0 for a constant series.
fn autocorrelation(values: &[f64]) -> f64 {
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    let square: f64 = values.iter().map(|v| (v - mean).powi(2)).sum();
    let product: f64 = values.windows(2).map(|pair| (pair[0] - mean) * (pair[1] - mean)).sum();
    if square > 0.0 { product / square } else { 0.0 }
}

/// Range of the parts' medians relative to that of all rounds, if any two neighbours differ by more than chance
/// allows.
///
/// Mood's median test (A. M. Mood, "Introduction to the Theory of Statistics", 1950) counts the rounds of each part
/// above the median of all. For independent rounds that count is hypergeometric; its normal approximation is used.
fn parts(rounds: &[f64]) -> Option<(f64, f64)> {
    let centre = median(rounds).ok()?;
    let disagree = [2, 3].iter().any(|&count| {
        let limit = normal_quantile(1.0 - FALSE_ALARM / 2.0 / 3.0);
        let size = rounds.len() / count;
        (0..count).any(|part| surprise(rounds, part * size..(part + 1) * size, centre).abs() > limit)
    });
    let medians: Vec<f64> = rounds
        .chunks(rounds.len().div_ceil(3))
        .chain(rounds.chunks(rounds.len().div_ceil(2)))
        .filter_map(|part| median(part).ok())
        .map(|part| part - centre)
        .collect();
    let reach = |end: fn(f64, f64) -> f64| medians.iter().copied().fold(0.0, end);
    disagree.then(|| (reach(f64::min), reach(f64::max)))
}

/// Deviation of a part's count of rounds above the median of all from its expectation, in standard deviations.
fn surprise(rounds: &[f64], part: std::ops::Range<usize>, centre: f64) -> f64 {
    let n = rounds.len() as f64;
    let size = part.len() as f64;
    let above = rounds.iter().filter(|v| **v > centre).count() as f64;
    let here = rounds[part].iter().filter(|v| **v > centre).count() as f64;
    let variance = size * (above / n) * (1.0 - above / n) * (n - size) / (n - 1.0);
    if variance > 0.0 { (here - size * above / n) / variance.sqrt() } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A hash between -1 and 1, to look independent.
    fn noise(i: u64) -> f64 {
        let mut z = i.wrapping_add(7).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) >> 11) as f64 / (1_u64 << 52) as f64 - 1.0
    }

    fn estimate() -> Estimate {
        Estimate { value: 10.0, interval: Interval { low: 9.9, high: 10.1, level: 0.95 } }
    }

    #[test]
    fn independent_rounds_are_left_as_they_are() {
        let rounds: Vec<f64> = (0..60).map(|i| 10.0 + noise(i)).collect();
        let found = Stationarity::of(&rounds);
        assert_eq!((found.autocorrelation, found.parts), (0.0, None));
        assert_eq!(found.widened(estimate()), estimate().interval);
        assert_eq!(Stationarity::of(&[10.0; 60]).widened(estimate()), estimate().interval, "equal rounds are alike");
    }

    #[test]
    fn rounds_that_follow_one_another_are_worth_fewer() {
        let mut at = 0.0;
        let rounds: Vec<f64> = (0..60)
            .map(|i| {
                at = 0.7 * at + noise(i);
                at
            })
            .collect();
        let found = Stationarity::of(&rounds);
        assert!(found.effective_rounds() < 25.0, "{found:?}");
        assert!(found.widened(estimate()).resolution() > 0.15, "{found:?}");
    }

    #[test]
    fn standard_errors_grow_by_the_root_of_rounds_per_independent_round() {
        let found = |autocorrelation| Stationarity { autocorrelation, parts: None, rounds: 60 };
        assert_eq!((found(0.0).effective_rounds(), found(0.0).inflation()), (60.0, 1.0));
        assert!((found(0.5).effective_rounds() - 20.0).abs() < 1e-9);
        assert!((found(0.5).inflation() - 3.0_f64.sqrt()).abs() < 1e-9);
        // 20 independent rounds have 19 degrees of freedom: t is 2.093, where the normal quantile is 1.960
        let Interval { low, high, .. } = found(0.5).widened(estimate());
        let half = 0.1 * 3.0_f64.sqrt() * 2.093 / 1.960;
        assert!((high - 10.0 - half).abs() < 1e-4 && (10.0 - low - half).abs() < 1e-4, "{low} {high}");
    }

    #[test]
    fn halves_that_disagree_widen_the_interval_to_both() {
        let rounds: Vec<f64> = (0..60).map(|i| if i < 30 { 10.0 } else { 10.4 } + 0.01 * noise(i)).collect();
        let found = Stationarity::of(&rounds);
        let (least, greatest) = found.parts.unwrap();
        assert!(least < -0.15 && greatest > 0.15, "{found:?}");
        let wide = found.widened(estimate());
        assert!(wide.low < 9.8 && wide.high > 10.2, "{wide:?}");
    }
}
