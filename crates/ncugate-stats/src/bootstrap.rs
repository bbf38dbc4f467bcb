//! The bootstrap: how a statistic would vary if the rounds were drawn again.
//!
//! A resample is a list of rounds. Samples of the same stream and length are resampled with the same rounds, so that
//! a disturbance of a round affects both sides of a ratio alike (interleaved A/B). A resampled quantile is found by
//! counting how often each rank was drawn, without sorting.
//!
//! Rounds that both sides share are redrawn from the rounds near them ([`NEARBY`]): a drift is the same in every
//! resample, as it was for both sides, and only the remaining variation counts as noise. Redrawing from all rounds
//! counts the drift itself as noise, which is right if the other side did not go through it.
//!
//! The method is the percentile bootstrap (B. Efron, "Bootstrap methods: another look at the jackknife", Annals of
//! Statistics 7, 1979; B. Efron and R. Tibshirani, "An Introduction to the Bootstrap", 1993, chapter 13). Redrawing a
//! round from its neighbours is known as the local bootstrap (S. G. Shi, "Local bootstrap", Annals of the Institute
//! of Statistical Mathematics 43, 1991; E. Paparoditis and D. Politis, same journal, 52, 2000).
//! `benches/statistics.rs` measures the coverage of both.

use super::quantile::{Statistic, StatsError, finite, position};
use super::student::normal_quantile;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

/// A range that holds the true value with a given probability.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Interval {
    pub low: f64,
    pub high: f64,
    /// Probability, 0 to 1.
    pub level: f64,
}

impl Interval {
    /// Half its width: the smallest difference that it can resolve.
    pub fn resolution(&self) -> f64 {
        (self.high - self.low) / 2.0
    }

    /// The interval of another level around the same value, as far as noise is normal. Percentiles of resamples do not
    /// reach levels whose error is smaller than one resample.
    #[must_use]
    pub fn at_level(self, value: f64, level: f64) -> Self {
        let factor = normal_quantile((1.0 + level) / 2.0) / normal_quantile((1.0 + self.level) / 2.0);
        let reach = |distance: f64| factor * distance.max(0.0);
        Self { low: value - reach(value - self.low), high: value + reach(self.high - value), level }
    }
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Resampling {
    pub resamples: usize,
    /// Level of intervals, 0 to 1.
    pub level: f64,
    pub seed: u64,
}

impl Default for Resampling {
    fn default() -> Self {
        Self { resamples: 2000, level: 0.95, seed: 0x6e63_7567 }
    }
}

/// The draws for resampling a sample: equal streams are paired by round, different ones are independent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Stream {
    /// Rounds shared by all compared samples: each is redrawn from nearby rounds.
    Shared,
    /// Rounds of one side alone: each is redrawn from all rounds.
    First,
    /// Rounds of the other side alone: each is redrawn from all rounds.
    Second,
}

/// Width of the window that a shared round is redrawn from, in rounds on each side.
///
/// The window is wide enough to keep most of the spread (its variance is 14/15 of it), and narrow enough that drift
/// within it is small. With fewer rounds than a window, each is redrawn from all of them.
pub const NEARBY: usize = 7;

type Draws = Arc<[u32]>;

/// Resamples samples; draws are cached by stream and length.
#[derive(Debug, Default)]
pub struct Resampler {
    settings: Resampling,
    draws: Mutex<HashMap<(usize, Stream), Draws>>,
}

impl Resampler {
    pub fn new(settings: Resampling) -> Self {
        Self { settings, draws: Mutex::default() }
    }

    pub fn settings(&self) -> &Resampling {
        &self.settings
    }

    /// The statistic of every resample, in the order of the draws.
    pub fn replicates(&self, samples: &[f64], statistic: Statistic, stream: Stream) -> Result<Vec<f64>, StatsError> {
        finite(samples)?;
        let needed = statistic.fewest(self.settings.level);
        if samples.len() < needed {
            return Err(StatsError::TooFew { have: samples.len(), needed });
        }
        let draws = self.draws(samples.len(), stream);
        Ok(match statistic {
            Statistic::Quantile(q) => quantiles(samples, q, &draws),
            Statistic::Mean => means(samples, &draws),
        })
    }

    /// The percentile interval of replicates; [`StatsError::NotFinite`] if one is not finite.
    pub fn interval(&self, replicates: &[f64]) -> Result<Interval, StatsError> {
        finite(replicates)?;
        let tail = (1.0 - self.settings.level) / 2.0;
        let mut values = replicates.to_vec();
        Ok(Interval {
            low: select(&mut values, tail),
            high: select(&mut values, 1.0 - tail),
            level: self.settings.level,
        })
    }

    pub fn of(&self, samples: &[f64], statistic: Statistic) -> Result<Interval, StatsError> {
        self.interval(&self.replicates(samples, statistic, Stream::First)?)
    }

    /// Standard normal numbers, one per resample, deterministic; different streams are independent.
    pub fn normal(&self, stream: u64) -> impl Iterator<Item = f64> + use<> {
        let mut rng =
            ChaCha8Rng::seed_from_u64(self.settings.seed ^ stream.wrapping_add(1).wrapping_mul(0xd6e8_feb8_6659_fd93));
        let mut uniform = move || (f64::from(rng.next_u32()) + 0.5) / 4_294_967_296.0;
        // G. E. P. Box and M. E. Muller, "A note on the generation of random normal deviates", 1958
        (0..self.settings.resamples)
            .map(move |_| (-2.0 * uniform().ln()).sqrt() * (std::f64::consts::TAU * uniform()).cos())
    }

    fn draws(&self, n: usize, stream: Stream) -> Draws {
        let mut made = self.draws.lock().unwrap_or_else(PoisonError::into_inner);
        made.entry((n, stream)).or_insert_with(|| draw(&self.settings, n, stream)).clone()
    }
}

/// Rounds of every resample, one after the other.
fn draw(settings: &Resampling, n: usize, stream: Stream) -> Draws {
    let tag = match stream {
        Stream::First => 0,
        Stream::Second => 1_u64,
        Stream::Shared => 2,
    };
    let mix = (n as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ (tag << 32);
    let mut rng = ChaCha8Rng::seed_from_u64(settings.seed ^ mix);
    let mut below = |bound: usize| ((u64::from(rng.next_u32()) * bound as u64) >> 32) as usize;
    let window = 2 * NEARBY + 1;
    let redrawn = |round: usize| match stream {
        Stream::Shared if n > window => reflected(round + below(window), n),
        Stream::Shared | Stream::First | Stream::Second => below(n),
    };
    (0..settings.resamples).flat_map(|_| 0..n).map(redrawn).map(|round| round as u32).collect()
}

/// The round [`NEARBY`] before `ahead`, reflected at the first and the last of `n`, so that no round is drawn more often
/// than another.
fn reflected(ahead: usize, n: usize) -> usize {
    match ahead.checked_sub(NEARBY) {
        None => NEARBY - 1 - ahead,
        Some(round) if round < n => round,
        Some(round) => 2 * n - 1 - round,
    }
}

fn quantiles(samples: &[f64], q: f64, draws: &[u32]) -> Vec<f64> {
    let n = samples.len();
    let mut order: Vec<usize> = (0..n).collect();
    order.sort_unstable_by(|&a, &b| samples[a].total_cmp(&samples[b]));
    let mut rank = vec![0_u32; n];
    for (place, &round) in order.iter().enumerate() {
        rank[round] = place as u32;
    }
    let (at, fraction) = position(n, q);
    let mut counts = vec![0_u32; n];
    let value = |place: usize| samples[order[place]];
    draws
        .chunks_exact(n)
        .map(|resample| {
            counts.fill(0);
            for &round in resample {
                counts[rank[round as usize] as usize] += 1;
            }
            let (mut place, mut seen) = (0, counts[0] as usize);
            while seen <= at {
                place += 1;
                seen += counts[place] as usize;
            }
            let low = value(place);
            if fraction == 0.0 {
                return low;
            }
            while seen <= at + 1 {
                place += 1;
                seen += counts[place] as usize;
            }
            low + fraction * (value(place) - low)
        })
        .collect()
}

fn means(samples: &[f64], draws: &[u32]) -> Vec<f64> {
    let n = samples.len();
    draws.chunks_exact(n).map(|r| r.iter().map(|&round| samples[round as usize]).sum::<f64>() / n as f64).collect()
}

/// Quantile by selection; reorders `values`.
fn select(values: &mut [f64], q: f64) -> f64 {
    let (at, fraction) = position(values.len(), q);
    let (_, &mut low, above) = values.select_nth_unstable_by(at, f64::total_cmp);
    let next = above.iter().copied().min_by(f64::total_cmp).unwrap_or(low);
    low + fraction * (next - low)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wave(n: usize) -> Vec<f64> {
        (0..n).map(|i| 10.0 + ((i * 37) % 17) as f64 / 17.0).collect()
    }

    #[test]
    fn counting_gives_the_quantile_that_sorting_gives() {
        let samples = wave(61);
        let resampler = Resampler::new(Resampling { resamples: 200, ..Resampling::default() });
        for q in [0.0, 0.25, 0.5, 0.9, 1.0] {
            let replicates = resampler.replicates(&samples, Statistic::Quantile(q), Stream::Shared).unwrap();
            let draws = resampler.draws(61, Stream::Shared);
            for (replicate, rounds) in replicates.iter().zip(draws.chunks_exact(61)) {
                let drawn: Vec<f64> = rounds.iter().map(|&r| samples[r as usize]).collect();
                let sorted = crate::quantile(&drawn, q).unwrap();
                assert!((replicate - sorted).abs() < 1e-12, "{q}: {replicate} {sorted}");
            }
        }
    }

    #[test]
    fn the_interval_of_the_mean_is_near_the_normal_one() {
        let samples = wave(200);
        let mean = Statistic::Mean.of(&samples).unwrap();
        let variance = samples.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / 199.0;
        let half = 1.96 * (variance / 200.0).sqrt();
        let interval = Resampler::default().of(&samples, Statistic::Mean).unwrap();
        assert!((interval.resolution() / half - 1.0).abs() < 0.06, "{interval:?} {half}");
    }

    #[test]
    fn equal_seeds_give_equal_intervals_and_streams_differ() {
        let samples = wave(60);
        let (a, b) = (Resampler::default(), Resampler::default());
        assert_eq!(a.of(&samples, Statistic::MEDIAN), b.of(&samples, Statistic::MEDIAN));
        let [first, second, shared] = [Stream::First, Stream::Second, Stream::Shared].map(|stream| a.draws(60, stream));
        assert!(first != second && first != shared && second != shared);
        assert_eq!(shared, b.draws(60, Stream::Shared));
    }

    #[test]
    fn shared_rounds_are_redrawn_nearby_and_equally_often() {
        let resampler = Resampler::new(Resampling { resamples: 4000, ..Resampling::default() });
        let draws = resampler.draws(20, Stream::Shared);
        let mut counts = [0_u32; 20];
        for resample in draws.chunks_exact(20) {
            for (round, &drawn) in resample.iter().enumerate() {
                assert!(round.abs_diff(drawn as usize) <= NEARBY, "{round}: {drawn}");
                counts[drawn as usize] += 1;
            }
        }
        // 4000 draws each on average, with a standard deviation of 63
        assert!(counts.iter().all(|count| count.abs_diff(4000) < 300), "{counts:?}");
        let few = resampler.draws(15, Stream::Shared);
        assert!(few.chunks_exact(15).any(|resample| resample[0] == 14), "fewer than a window are drawn from all");
    }

    #[test]
    fn a_drift_is_no_noise_of_shared_rounds() {
        let drift: Vec<f64> = (0..60).map(|i| 10.0 + 0.01 * f64::from(i)).collect();
        let resampler = Resampler::default();
        let width = |stream| {
            let replicates = resampler.replicates(&drift, Statistic::MEDIAN, stream).unwrap();
            resampler.interval(&replicates).unwrap().resolution()
        };
        assert!(width(Stream::Shared) < 0.5 * width(Stream::First));
    }

    #[test]
    fn too_few_and_non_finite_samples_have_no_interval() {
        let resampler = Resampler::default();
        assert_eq!(resampler.of(&[], Statistic::MEDIAN), Err(StatsError::Empty));
        let few = resampler.of(&[1.0; 5], Statistic::MEDIAN);
        assert_eq!(few, Err(StatsError::TooFew { have: 5, needed: 6 }));
        assert_eq!(resampler.of(&wave(35), Statistic::P90), Err(StatsError::TooFew { have: 35, needed: 36 }));
        assert!(matches!(resampler.of(&[f64::INFINITY; 9], Statistic::MEDIAN), Err(StatsError::NotFinite { .. })));
    }
}
