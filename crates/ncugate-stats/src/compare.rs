//! Compares two variants by their samples.
//!
//! Variants take turns in every round, so that a round is a block and two samples of a round are a pair: the
//! randomised block design of R. A. Fisher, "The Design of Experiments", 1935.

use super::{Interval, Resampler, Statistic, StatsError, Stream};

/// Whether two samples were taken in the same rounds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pairing {
    /// Sample `i` of both is from the same round: resampled together, from nearby rounds, so that a common drift
    /// cancels.
    Rounds,
    /// Different runs: resampled separately. This also applies if the sides have different numbers of rounds.
    Independent,
}

/// A value with its interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Estimate {
    /// The value for the original samples.
    pub value: f64,
    pub interval: Interval,
}

/// `a` against `b`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SampleComparison {
    /// Median of `a` over median of `b`.
    pub median_ratio: Estimate,
    /// 90th percentile of `a` over that of `b`; `None` if there are too few samples for it.
    pub p90_ratio: Option<Estimate>,
    /// Median of `a` minus median of `b`, in the unit of the samples.
    pub median_difference: Estimate,
}

/// Compares two samples; an error names the statistic that they do not allow.
pub fn compare(a: &[f64], b: &[f64], pairing: Pairing, resampler: &Resampler) -> Result<SampleComparison, StatsError> {
    let pair = Pair { a, b, pairing, resampler };
    Ok(SampleComparison {
        median_ratio: pair.estimate(Statistic::MEDIAN, |a, b| a / b)?,
        p90_ratio: match pair.estimate(Statistic::P90, |a, b| a / b) {
            Ok(estimate) => Some(estimate),
            Err(StatsError::TooFew { .. }) => None,
            Err(error) => return Err(error),
        },
        median_difference: pair.estimate(Statistic::MEDIAN, |a, b| a - b)?,
    })
}

struct Pair<'a> {
    a: &'a [f64],
    b: &'a [f64],
    pairing: Pairing,
    resampler: &'a Resampler,
}

impl Pair<'_> {
    fn estimate(&self, statistic: Statistic, of: impl Fn(f64, f64) -> f64) -> Result<Estimate, StatsError> {
        let (first, second) = match self.pairing {
            Pairing::Rounds if self.a.len() == self.b.len() => (Stream::Shared, Stream::Shared),
            Pairing::Rounds | Pairing::Independent => (Stream::First, Stream::Second),
        };
        let a = self.resampler.replicates(self.a, statistic, first)?;
        let b = self.resampler.replicates(self.b, statistic, second)?;
        let replicates: Vec<f64> = a.iter().zip(&b).map(|(&a, &b)| of(a, b)).collect();
        Ok(Estimate {
            value: of(statistic.of(self.a)?, statistic.of(self.b)?),
            interval: self.resampler.interval(&replicates)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_disturbance_of_both_cancels_when_rounds_are_paired() {
        let drift: Vec<f64> = (0..60).map(|i| 1.0 + 0.2 * f64::from(i) / 60.0).collect();
        let a: Vec<f64> = drift.iter().map(|d| 9.0 * d).collect();
        let b: Vec<f64> = drift.iter().map(|d| 10.0 * d).collect();
        let resampler = Resampler::default();
        let paired = compare(&a, &b, Pairing::Rounds, &resampler).unwrap();
        let apart = compare(&a, &b, Pairing::Independent, &resampler).unwrap();
        assert!((paired.median_ratio.value - 0.9).abs() < 1e-12);
        assert!(paired.median_ratio.interval.resolution() < 1e-9);
        assert!(apart.median_ratio.interval.resolution() > 0.01);
        assert!(paired.p90_ratio.is_some());
    }

    #[test]
    fn missing_samples_are_errors() {
        let resampler = Resampler::default();
        assert_eq!(compare(&[], &[1.0; 9], Pairing::Rounds, &resampler), Err(StatsError::Empty));
        assert!(compare(&[1.0; 9], &[f64::NAN; 9], Pairing::Rounds, &resampler).is_err());
        assert_eq!(compare(&[1.0; 9], &[1.0; 9], Pairing::Rounds, &resampler).unwrap().p90_ratio, None);
    }
}
