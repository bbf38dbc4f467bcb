//! Compares two measurements: the change of a metric, its direction, and whether noise explains it.
//!
//! Used for the deltas of a report and for the comparison of two runs.

use super::metric_column::{MetricColumn, titled};
use ncugate_model::CleanText;
use ncugate_model::metric::{Catalogue, MetricKind};
use ncugate_model::number::{self, Number};
use ncugate_model::stats::{self, Pairing, Resampler, StatsError};
use schemars::JsonSchema;
use serde::Serialize;

/// A metric of two measurements.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct MetricChange {
    /// Its name in gates and results.
    pub metric: CleanText,
    /// Its title.
    pub title: CleanText,
    /// Its unit.
    pub unit: CleanText,
    /// The value it is compared with.
    #[serde(rename = "other")]
    pub before: Number,
    /// The value that is compared: of the selected variant, or of the second side.
    #[serde(rename = "selected")]
    pub after: Number,
    /// Change from the one to the other: percent, percentage points, or a factor.
    pub change: CleanText,
    /// 95 % interval of the ratio, where both have latency samples.
    #[serde(rename = "ratio")]
    pub interval: Option<RatioInterval>,
    /// Direction of the change.
    pub judged: ChangeDirection,
}

/// Ends of the 95 % interval of a ratio of medians, by bootstrap.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct RatioInterval(pub f64, pub f64);

impl RatioInterval {
    /// Whether noise explains the change: the interval includes 1.
    pub fn holds_one(self) -> bool {
        self.0 <= 1.0 && self.1 >= 1.0
    }

    /// `+1.2 % to +1.9 %`.
    pub fn text(self) -> String {
        format!("{} to {}", number::change(self.0), number::change(self.1))
    }
}

/// Which way a metric changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
pub enum ChangeDirection {
    /// For the better.
    #[serde(rename = "better")]
    Better,
    /// For the worse.
    #[serde(rename = "worse")]
    Worse,
    /// Noise explains the change.
    #[serde(rename = "within noise")]
    WithinNoise,
    /// Not at all, or neither way is better.
    #[serde(rename = "")]
    Neither,
}

impl ChangeDirection {
    /// `better`, `worse`, `within noise`, or nothing.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Better => "better",
            Self::Worse => "worse",
            Self::WithinNoise => "within noise",
            Self::Neither => "",
        }
    }
}

/// How noise explains a change.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum ChangeNoise {
    /// The noise is unknown: the difference is shown but not called better or worse.
    Unspread,
    /// The interval of the ratio of medians.
    Interval(RatioInterval),
    /// The ranges of repeated measurements overlap.
    Overlap,
    /// The ranges do not overlap.
    Apart,
}

impl ChangeNoise {
    fn explains(self) -> bool {
        match self {
            Self::Unspread | Self::Apart => false,
            Self::Interval(interval) => interval.holds_one(),
            Self::Overlap => true,
        }
    }
}

impl MetricChange {
    /// The change of a metric from one value to another.
    pub fn new(metric: &MetricColumn, before: f64, after: f64, noise: ChangeNoise) -> Self {
        let judged = match metric.better.improved(before, after) {
            _ if noise == ChangeNoise::Unspread => ChangeDirection::Neither,
            _ if before != after && noise.explains() => ChangeDirection::WithinNoise,
            Some(true) => ChangeDirection::Better,
            Some(false) => ChangeDirection::Worse,
            None => ChangeDirection::Neither,
        };
        Self {
            metric: (&metric.name).into(),
            title: (&metric.title).into(),
            unit: (&metric.unit).into(),
            before: Number::new(before),
            after: Number::new(after),
            change: number::changed(before, after, &metric.unit).into(),
            interval: match noise {
                ChangeNoise::Interval(interval) => Some(interval),
                ChangeNoise::Unspread | ChangeNoise::Overlap | ChangeNoise::Apart => None,
            },
            judged,
        }
    }

    /// Its title with the unit in brackets: `DRAM throughput (%)`.
    pub fn heading(&self) -> String {
        titled(&self.title, &self.unit)
    }

    /// The change with its direction: `+3.2 %, worse`.
    pub fn words(&self) -> String {
        match self.judged.word() {
            "" => self.change.to_string(),
            word => format!("{}, {word}", self.change),
        }
    }

    /// Distance of the values: the absolute logarithm of their ratio; infinite across zero.
    pub fn distance(&self) -> f64 {
        match (self.before.value, self.after.value) {
            (a, b) if a == b => 0.0,
            (a, b) if a == 0.0 || b == 0.0 || (a < 0.0) != (b < 0.0) => f64::INFINITY,
            (a, b) => (b / a).ln().abs(),
        }
    }
}

/// Median latency of one set of samples over that of another.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct LatencyChange {
    /// Median before, in microseconds.
    pub before: f64,
    /// Median after, in microseconds.
    pub after: f64,
    /// Ratio of the medians.
    pub ratio: f64,
    /// 95 % bootstrap interval of the ratio.
    pub interval: RatioInterval,
    /// Samples on each side.
    pub samples: (usize, usize),
}

impl LatencyChange {
    /// Compares samples; samples from the same rounds are paired.
    ///
    /// # Errors
    /// Too few samples on a side, or samples that are not finite.
    pub fn new(before: &[f64], after: &[f64], pairing: Pairing, resampler: &Resampler) -> Result<Self, StatsError> {
        let paired = pairing == Pairing::Rounds && before.len() == after.len();
        let pairing = if paired { Pairing::Rounds } else { Pairing::Independent };
        let ratio = stats::compare(after, before, pairing, resampler)?.median_ratio;
        Ok(Self {
            before: stats::median(before)?,
            after: stats::median(after)?,
            ratio: ratio.value,
            interval: RatioInterval(ratio.interval.low, ratio.interval.high),
            samples: (before.len(), after.len()),
        })
    }

    /// `slower`, `faster`, or `within noise`.
    pub fn word(&self) -> &'static str {
        match (self.interval.holds_one(), self.ratio < 1.0) {
            (true, _) => "within noise",
            (false, true) => "faster",
            (false, false) => "slower",
        }
    }
}

/// Two single values whose difference is below this number of standard deviations differ by noise.
const EXPLAINED: f64 = 3.0;

/// Whether the ranges of repeated measurements of a metric overlap. If a side has a single value, the spread in the
/// catalogue decides; without one the noise is unknown.
pub fn ranges(metric: &str, before: &[f64], after: &[f64]) -> ChangeNoise {
    if before.len() < 2 || after.len() < 2 {
        return spread(metric, before, after);
    }
    let range = |values: &[f64]| {
        values.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), v| (low.min(*v), high.max(*v)))
    };
    let ((a_low, a_high), (b_low, b_high)) = (range(before), range(after));
    if a_low <= b_high && b_low <= a_high { ChangeNoise::Overlap } else { ChangeNoise::Apart }
}

/// Greatest probability that launches of equal kernels have ranges that do not overlap.
const CHANCE: f64 = 0.05;

/// Noise of a metric of launches in two reports.
///
/// The spread of the catalogue is that of long kernels, and a short one varies by several percent: a difference within
/// it is noise, and a larger one of single launches is not judged. Ranges that do not overlap are judged if launches of
/// equal kernels have such ranges in at most 5 % of the cases. Facts of build and launch have no noise.
pub fn launches(metric: &str, before: &[f64], after: &[f64]) -> ChangeNoise {
    if explained(metric) == Some(0.0) {
        return ranges(metric, before, after);
    }
    match ranges(metric, before, after) {
        ChangeNoise::Apart if are_too_few(before.len(), after.len()) => ChangeNoise::Unspread,
        noise => noise,
    }
}

/// Whether separate ranges of these numbers of launches say nothing about a change.
pub fn are_too_few(before: usize, after: usize) -> bool {
    before.min(after) < 2 || chance(before, after) > CHANCE
}

/// Probability that ranges of `n` and `m` launches of equal kernels do not overlap: 2 n! m! / (n + m)!
fn chance(n: usize, m: usize) -> f64 {
    (1..=n.min(m)).fold(2.0, |chance, k| chance * k as f64 / (n.max(m) + k) as f64)
}

/// Noise of single launches according to the catalogue: facts of build and launch are exact, and a counter has its
/// spread.
fn spread(metric: &str, before: &[f64], after: &[f64]) -> ChangeNoise {
    let (Some(explained), Ok(a), Ok(b)) = (explained(metric), stats::median(before), stats::median(after)) else {
        return ChangeNoise::Unspread;
    };
    match explained > 0.0 && (b - a).abs() <= explained * a.hypot(b) {
        true => ChangeNoise::Overlap,
        false => ChangeNoise::Apart,
    }
}

/// The share of the size of two single values (the root of the sum of their squares) up to which noise explains their
/// difference: 0 for metrics that equal code and launch reproduce exactly. None if the catalogue has no spread.
pub fn explained(metric: &str) -> Option<f64> {
    let known = Catalogue::embedded().get(metric)?;
    match known.kind {
        MetricKind::Deterministic => Some(0.0),
        MetricKind::Counter | MetricKind::Timing => known.spread.map(|spread| EXPLAINED * spread),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn launches_are_judged_by_their_own_spread_alone() {
        let noise = |before: &[f64], after: &[f64]| launches("duration", before, after);
        // 5.82 and 5.95 us are launches of one kernel in one report
        assert_eq!(noise(&[5_824.0], &[5_952.0]), ChangeNoise::Unspread);
        assert_eq!(noise(&[5_824.0; 3], &[11_000.0]), ChangeNoise::Unspread);
        assert_eq!(noise(&[5_824.0; 2], &[5_952.0; 2]), ChangeNoise::Unspread, "a third of equal pairs look like this");
        assert_eq!(noise(&[5_824.0, 5_952.0], &[5_856.0, 5_888.0]), ChangeNoise::Overlap);
        assert_eq!(noise(&[5_824.0; 4], &[5_952.0; 4]), ChangeNoise::Apart);
        assert_eq!(launches("registers", &[40.0], &[41.0]), ChangeNoise::Apart, "a build has no noise");
        assert_eq!(noise(&[824_000.0], &[824_100.0]), ChangeNoise::Overlap, "a long kernel varies more");
        assert_eq!(launches("sm__no_such_counter.sum", &[40.0], &[41.0]), ChangeNoise::Unspread);
    }

    #[test]
    fn the_chance_of_separate_ranges_is_that_of_permutations() {
        for (n, m, expected) in [(1, 1, 1.0), (2, 2, 1.0 / 3.0), (3, 3, 0.1), (4, 4, 1.0 / 35.0), (2, 5, 2.0 / 21.0)] {
            assert!((chance(n, m) - expected).abs() < 1e-12 && chance(n, m) == chance(m, n), "{n} {m}");
        }
    }
}
