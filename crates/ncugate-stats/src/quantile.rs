//! Statistics of one sample.

use std::str::FromStr;

/// Why a statistic cannot be computed.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
pub enum StatsError {
    /// No samples at all.
    #[error("no samples")]
    Empty,
    /// A sample is NaN or infinite.
    #[error("sample {index} is {value}")]
    NotFinite {
        /// Its index, from 0.
        index: usize,
        value: f64,
    },
    /// Too few samples for an interval of this statistic to reach its level.
    #[error("{have} samples; at least {needed} are needed")]
    TooFew { have: usize, needed: usize },
}

/// A number that summarises a sample.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Statistic {
    /// A quantile from 0 (minimum) to 1 (maximum).
    Quantile(f64),
    Mean,
}

impl Statistic {
    pub const MEDIAN: Self = Self::Quantile(0.5);
    /// The 90th percentile.
    pub const P90: Self = Self::Quantile(0.9);
    pub const MINIMUM: Self = Self::Quantile(0.0);

    /// Whether it is a quantile at least as extreme as the 90th percentile.
    ///
    /// A machine's noise is known for the median and the 90th percentile; farther out it is at least as large.
    pub fn is_tail(self) -> bool {
        matches!(self, Self::Quantile(q) if q >= 0.9)
    }

    /// Its value for a non-empty sample of finite values.
    pub fn of(self, samples: &[f64]) -> Result<f64, StatsError> {
        match self {
            Self::Quantile(q) => quantile(samples, q),
            Self::Mean => {
                finite(samples)?;
                Ok(samples.iter().sum::<f64>() / samples.len() as f64)
            }
        }
    }

    /// Fewest samples with which an interval of this level can bracket it.
    ///
    /// `n` samples all lie below the `q` quantile with probability `q^n` and all above it with `(1-q)^n`. If either
    /// exceeds half of one minus the level, no interval between samples errs that rarely on that side (H. A. David and
    /// H. N. Nagaraja, "Order Statistics", 2003, section 7.1). Mean and extremes require as many as the median.
    pub fn fewest(self, level: f64) -> usize {
        let q = match self {
            Self::Quantile(q) if q > 0.0 && q < 1.0 => q.max(1.0 - q),
            _ => 0.5,
        };
        (2..10_000).find(|&n| q.powi(n) <= (1.0 - level) / 2.0).map_or(10_000, |n| n as usize)
    }
}

impl FromStr for Statistic {
    type Err = String;

    /// `mean`, `min`, `max`, or a percentile between 0 and 100: `p50`, `p99.9`.
    fn from_str(text: &str) -> Result<Self, String> {
        let percent = |text: &str| text.strip_prefix('p')?.parse::<f64>().ok().filter(|p| *p > 0.0 && *p < 100.0);
        match text {
            "mean" => Ok(Self::Mean),
            "min" => Ok(Self::MINIMUM),
            "max" => Ok(Self::Quantile(1.0)),
            _ => percent(text).map(|p| Self::Quantile(p / 100.0)).ok_or_else(|| {
                format!("`{text}` is not a statistic; use mean, min, max, or a percentile such as p50 or p99.9")
            }),
        }
    }
}

pub fn median(samples: &[f64]) -> Result<f64, StatsError> {
    quantile(samples, 0.5)
}

/// The `q` quantile by linear interpolation between order statistics (type 7 of R. J.
/// Hyndman and Y. Fan, "Sample quantiles in statistical packages", The American Statistician 50, 1996).
pub fn quantile(samples: &[f64], q: f64) -> Result<f64, StatsError> {
    Ok(between(&sorted(samples)?, q))
}

/// Two samples between which the `q` quantile lies with probability `level`, whatever the distribution of independent
/// samples. The number of samples below the quantile is binomial, and each side errs in at most half of one minus the
/// level (H. A. David and H. N. Nagaraja, "Order Statistics", 2003, section 7.1).
///
/// # Errors
///
/// There are too few samples, or one is not finite.
pub fn order_limits(samples: &[f64], q: f64, level: f64) -> Result<(f64, f64), StatsError> {
    let sorted = sorted(samples)?;
    let (n, tail) = (sorted.len(), (1.0 - level) / 2.0);
    let too_few = || StatsError::TooFew { have: n, needed: Statistic::Quantile(q).fewest(level) };
    if !(q > 0.0 && q < 1.0) || n < Statistic::Quantile(q).fewest(level) {
        return Err(too_few());
    }
    // logarithms: a probability of a long sample may be smaller than any float
    let mut logarithm = n as f64 * (1.0 - q).ln();
    let mut sum = 0.0;
    let at_most = (0..n).map(|below| {
        sum += logarithm.exp();
        logarithm += ((n - below) as f64 / (below + 1) as f64 * q / (1.0 - q)).ln();
        sum
    });
    let below: Vec<f64> = at_most.collect();
    let low = below.iter().take_while(|&&probability| probability <= tail).count().checked_sub(1);
    let high = below.iter().position(|&probability| probability >= 1.0 - tail);
    let (low, high) = low.zip(high).ok_or_else(too_few)?;
    Ok((sorted[low], sorted[high]))
}

/// Minimum, first quartile, median, third quartile and maximum: Tukey's five-number summary, with the quartiles of
/// [`quantile`].
///
/// # Errors
///
/// There are no samples, or one is not finite.
pub fn five_number_summary(samples: &[f64]) -> Result<[f64; 5], StatsError> {
    let sorted = sorted(samples)?;
    Ok([0.0, 0.25, 0.5, 0.75, 1.0].map(|q| between(&sorted, q)))
}

/// Sorts a non-empty sample of finite values.
fn sorted(samples: &[f64]) -> Result<Vec<f64>, StatsError> {
    finite(samples)?;
    let mut sorted = samples.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    Ok(sorted)
}

fn between(sorted: &[f64], q: f64) -> f64 {
    let (at, fraction) = position(sorted.len(), q);
    let next = (at + 1).min(sorted.len() - 1);
    sorted[at] + fraction * (sorted[next] - sorted[at])
}

/// Index of the lower order statistic, and the fractional position of the quantile between it and the next.
pub(super) fn position(n: usize, q: f64) -> (usize, f64) {
    let h = (n - 1) as f64 * q.clamp(0.0, 1.0);
    (h.floor() as usize, h.fract())
}

pub(super) fn finite(samples: &[f64]) -> Result<(), StatsError> {
    if samples.is_empty() {
        return Err(StatsError::Empty);
    }
    match samples.iter().position(|v| !v.is_finite()) {
        Some(index) => Err(StatsError::NotFinite { index, value: samples[index] }),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_type_seven() {
        let samples = [4.0, 1.0, 3.0, 2.0];
        assert_eq!(median(&samples), Ok(2.5));
        assert_eq!(quantile(&samples, 0.25), Ok(1.75));
        assert!((quantile(&samples, 0.9).unwrap() - 3.7).abs() < 1e-12);
        assert_eq!(quantile(&samples, 0.0), Ok(1.0));
        assert_eq!(quantile(&samples, 1.0), Ok(4.0));
        assert_eq!(median(&[7.0]), Ok(7.0));
        assert_eq!(Statistic::Mean.of(&samples), Ok(2.5));
    }

    #[test]
    fn a_summary_is_made_of_quantiles() {
        assert_eq!(five_number_summary(&[4.0, 1.0, 3.0, 2.0]), Ok([1.0, 1.75, 2.5, 3.25, 4.0]));
        assert_eq!(five_number_summary(&[7.0]), Ok([7.0; 5]));
        assert_eq!(five_number_summary(&[]), Err(StatsError::Empty));
    }

    #[test]
    fn the_median_of_no_samples_or_of_nan_is_an_error() {
        assert_eq!(median(&[]), Err(StatsError::Empty));
        assert!(matches!(median(&[1.0, f64::NAN]), Err(StatsError::NotFinite { index: 1, .. })));
        assert_eq!(Statistic::Mean.of(&[]), Err(StatsError::Empty));
    }

    #[test]
    fn an_interval_takes_samples_on_both_sides() {
        assert_eq!(Statistic::MEDIAN.fewest(0.95), 6);
        assert_eq!(Statistic::P90.fewest(0.95), 36);
        assert_eq!(Statistic::Quantile(0.95).fewest(0.95), 72);
    }

    #[test]
    fn order_limits_are_those_of_the_binomial_tables() {
        let ranks: Vec<f64> = (1..=60).map(f64::from).collect();
        // P(K <= 21) = 0.0137, P(K <= 22) = 0.0259 for 60 tosses of a coin
        assert_eq!(order_limits(&ranks, 0.5, 0.95), Ok((22.0, 39.0)));
        // P(K <= 48) = 0.0146, P(K <= 49) = 0.0342, P(K <= 57) = 0.9469, P(K <= 58) = 0.9862
        assert_eq!(order_limits(&ranks, 0.9, 0.95), Ok((49.0, 59.0)));
        assert_eq!(order_limits(&ranks[..36], 0.9, 0.95).map(|(_, high)| high), Ok(36.0));
        let long: Vec<f64> = (1..=4000).map(f64::from).collect();
        // 3600 below it, with a standard deviation of 19
        assert_eq!(order_limits(&long, 0.9, 0.95), Ok((3562.0, 3638.0)));
        assert_eq!(order_limits(&ranks[..35], 0.9, 0.95), Err(StatsError::TooFew { have: 35, needed: 36 }));
        assert!(order_limits(&[f64::NAN; 60], 0.9, 0.95).is_err());
    }

    #[test]
    fn statistics_are_read_by_name() {
        let read = |text: &str| text.parse::<Statistic>();
        assert_eq!(read("p50"), Ok(Statistic::MEDIAN));
        assert_eq!((read("p90"), read("p95")), (Ok(Statistic::P90), Ok(Statistic::Quantile(0.95))));
        assert_eq!((read("min"), read("mean")), (Ok(Statistic::MINIMUM), Ok(Statistic::Mean)));
        for odd in ["", "p", "p0", "p100", "p-1", "pNaN", "95", "median"] {
            assert!(read(odd).is_err(), "{odd}");
        }
        let tails = [Statistic::P90, Statistic::Quantile(0.95), Statistic::MEDIAN, Statistic::MINIMUM, Statistic::Mean];
        assert_eq!(tails.map(Statistic::is_tail), [true, true, false, false, false]);
    }
}
