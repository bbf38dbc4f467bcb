//! Compares the median of the samples with ncu's duration of the same launch.
//!
//! The two measure different things. A sample is the mean over the launches of a graph that run one after the other,
//! on buffers that may still be in L2. ncu runs one launch at a time, cold, and includes the front end's launch
//! latency. The band has a margin on both sides of the values in the recordings in `profiles/`: of 926 pairs on an
//! H200 and an H100, from 2.6 us to 69 ms, none has a duration longer than `1.3 * latency + 0.8 us + cold` (`cargo test --lib
//! honest_variants -- --nocapture` prints the range):
//!
//! ```text
//! latency / 2 - 3 us  <=  duration * clock  <=  1.3 * latency + 2 us + cold
//! ```
//!
//! An evaluation of several launches is allowed 1 us more for each further launch, and more time for its fills and
//! copies. Launches that may overlap (`pdl`) count with the minimum time of two neighbours. `clock` is the clock
//! under ncu divided by the chip's maximum, at most 1, because an idle chip starts slowly. `cold` is the DRAM time
//! for bytes that the timed launches find in L2.

use ncugate_model::number::short;
use schemars::JsonSchema;
use serde::Serialize;
use std::fmt;

/// The two durations of an evaluation, and its limit under the profiler, in microseconds.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct WitnessBand {
    /// Undisturbed: the median of the samples, or of those of the confirmation if that is shorter.
    pub latency_us: f64,
    /// Under the profiler, all launches together.
    pub profiled_us: f64,
    /// Maximum accepted duration under the profiler.
    pub allowed_us: f64,
    /// Source of the duration under the profiler.
    pub profiler: DurationSource,
    /// Whether a saving as large as the latency could hide in the band; such a band confirms nothing.
    pub too_wide: bool,
}

/// Source of the duration of a launch under the profiler.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum DurationSource {
    /// Nsight Compute.
    Ncu,
    /// CUPTI's activity records.
    Cupti,
}

impl fmt::Display for WitnessBand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let profiler = match self.profiler {
            DurationSource::Ncu => "ncu",
            DurationSource::Cupti => "CUPTI",
        };
        let [latency, profiled, allowed] = [self.latency_us, self.profiled_us, self.allowed_us].map(short);
        write!(f, "{latency} µs undisturbed, {profiled} µs under {profiler}, allowed up to {allowed} µs")?;
        if self.too_wide { f.write_str(" (too wide to be a witness)") } else { Ok(()) }
    }
}

/// Two durations of a launch that do not match.
#[derive(Debug, Clone, PartialEq)]
pub struct Disagreement {
    /// The ratio of ncu's duration to the sample; 1 for a sample that is too long, which proves no cheat.
    pub factor: f64,
    /// Both durations and their ratio.
    pub numbers: String,
}

/// Maximum ratio of an evaluation's duration under ncu to its undisturbed duration.
const LONGER: f64 = 1.3;
/// Additional microseconds for the front end, once.
const FRONT_END_US: f64 = 2.0;
/// Additional microseconds for each further launch.
const FURTHER_US: f64 = 1.0;
/// Maximum ratio of an undisturbed evaluation to one under ncu: clocks fall under load.
const SLOWER: f64 = 2.0;
/// Additional microseconds for the gap between evaluations, once.
const GAP_US: f64 = 6.0;
/// If the allowed duration exceeds the latency by this factor, it cannot confirm the latency: a saving of that size
/// could go unnoticed.
const NO_WITNESS: f64 = 2.5;

/// The two durations of an evaluation, and the explanations for a difference, in microseconds.
#[derive(Debug, Clone, Copy)]
pub struct Durations {
    /// Undisturbed duration.
    pub latency_us: f64,
    /// Duration under ncu, for all launches together.
    pub counted_us: f64,
    /// The minimum part of the counted duration that an evaluation takes.
    pub least_us: f64,
    /// Time explained by cold caches.
    pub cold_us: f64,
    /// Time of fills and copies, which no counter covers.
    pub uncounted_us: f64,
    /// The clock under ncu divided by the chip's maximum.
    pub clock: f64,
    /// Number of launches in an evaluation.
    pub launches: u32,
}

impl Durations {
    /// Durations for the given number of consecutive launches, with caches and clocks as under ncu.
    pub fn plain(latency_us: f64, counted_us: f64, launches: u32) -> Self {
        Self { latency_us, counted_us, least_us: counted_us, cold_us: 0.0, uncounted_us: 0.0, clock: 1.0, launches }
    }

    fn further_us(&self) -> f64 {
        FURTHER_US * f64::from(self.launches.saturating_sub(1))
    }

    /// The maximum of the evaluation's minimum time under ncu, at the highest clock.
    fn most_us(&self) -> f64 {
        LONGER * self.latency_us + FRONT_END_US + self.further_us() + self.cold_us
    }

    /// The maximum total duration of all launches under ncu.
    pub fn allowed_us(&self) -> f64 {
        self.most_us() / self.clock * (self.counted_us / self.least_us)
    }

    /// Whether the band is too wide for the duration to confirm the latency.
    pub fn is_wide(&self) -> bool {
        self.most_us() > NO_WITNESS * self.latency_us
    }

    /// The durations with their limit.
    pub fn band(&self, profiler: DurationSource) -> WitnessBand {
        WitnessBand {
            latency_us: self.latency_us,
            profiled_us: self.counted_us,
            allowed_us: self.allowed_us(),
            profiler,
            too_wide: self.is_wide(),
        }
    }

    /// The mismatch; `None` if the durations match.
    pub fn disagreement(&self) -> Option<Disagreement> {
        let latency_us = self.latency_us;
        let at_full_clock = self.least_us * self.clock;
        let too_short = at_full_clock > self.most_us();
        let too_long = latency_us > SLOWER * self.counted_us + GAP_US + self.further_us() + self.uncounted_us;
        let ratio = self.counted_us / latency_us;
        (too_short || too_long).then(|| Disagreement {
            factor: if too_short { (at_full_clock - self.cold_us) / latency_us } else { 1.0 },
            numbers: format!(
                "{} µs undisturbed, {} µs under the profiler: a factor of {}",
                short(latency_us),
                short(self.counted_us),
                short(ratio.max(1.0 / ratio))
            ),
        })
    }
}

/// The minimum time of consecutive launches. A marked launch may begin before the previous one has ended. A launch
/// can overlap only with a neighbour, so the longer of two neighbours remains, and each launch is in at most one such
/// pair.
pub fn least_of(launches: &[(f64, bool)]) -> f64 {
    let (mut before, mut hidden) = (0.0, 0.0);
    for pair in launches.windows(2) {
        let with = if pair[1].1 { before + pair[0].0.min(pair[1].0) } else { before };
        (before, hidden) = (hidden, f64::max(hidden, with));
    }
    launches.iter().map(|(us, _)| us).sum::<f64>() - hidden
}
