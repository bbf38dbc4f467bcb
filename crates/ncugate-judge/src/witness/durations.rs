//! The median of the samples against the duration that ncu gives the same launch.
//!
//! They measure different things. A sample is the mean over launches of a graph that run one after the other, on buffers
//! that may still be in L2. ncu runs one launch at a time, cold, and counts the front end's launch latency. The band has a margin on both
//! sides of what the recordings in `profiles/` have: of 415 pairs on an H200, from 2.6 us to 69 ms, none has a duration longer than
//! `1.3 * latency + 0.6 us + cold` (`cargo test --lib honest_variants -- --nocapture` prints the range):
//!
//! ```text
//! latency / 2 - 3 us  <=  duration * clock  <=  1.3 * latency + 2 us + cold
//! ```
//!
//! An evaluation of several launches has 1 us more for each further launch, and more time for its fills and copies. Launches that may overlap
//! (`pdl`) count with what two neighbours take at least. `clock` is the clock that ran under ncu over the highest of the chip, at most 1: an
//! idle chip starts slowly. `cold` is the time that DRAM takes for bytes which the timed launches find in L2.

use ncugate_model::number::short;
use schemars::JsonSchema;
use serde::Serialize;
use std::fmt;

/// The two durations of an evaluation, and how long it may take under the profiler; microseconds.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct WitnessBand {
    /// Undisturbed: the median of the samples, or of those of the confirmation where it is shorter.
    pub latency_us: f64,
    /// Under the profiler, all launches together.
    pub profiled_us: f64,
    /// The longest that they may take there together.
    pub allowed_us: f64,
    /// Who took the second duration.
    pub profiler: DurationSource,
    /// Whether a saving as large as the latency itself could hide in the band: then it witnesses nothing.
    pub too_wide: bool,
}

/// Who takes the duration of a launch that is not timed.
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

/// Two durations of a launch that do not fit.
#[derive(Debug, Clone, PartialEq)]
pub struct Disagreement {
    /// How much shorter the sample is than what ncu saw; 1 for a sample that is too long, which proves no cheat.
    pub factor: f64,
    /// Both durations and their ratio.
    pub numbers: String,
}

/// An evaluation under ncu may take this much longer than an undisturbed one.
const LONGER: f64 = 1.3;
/// And this many microseconds for the front end, once.
const FRONT_END_US: f64 = 2.0;
/// And this many for each further launch.
const FURTHER_US: f64 = 1.0;
/// An undisturbed evaluation may take this much longer than one under ncu: under load the clocks fall.
const SLOWER: f64 = 2.0;
/// And this many microseconds for the gap between evaluations, once.
const GAP_US: f64 = 6.0;
/// A duration that may be so many times the latency is no witness of it: a saving of that size could hide.
const NO_WITNESS: f64 = 2.5;

/// The two durations of an evaluation, and what explains a difference; microseconds.
#[derive(Debug, Clone, Copy)]
pub struct Durations {
    /// Undisturbed.
    pub latency_us: f64,
    /// Under ncu, of all launches together.
    pub counted_us: f64,
    /// What of that an evaluation takes at least.
    pub least_us: f64,
    /// What cold caches explain.
    pub cold_us: f64,
    /// What no counter sees: fills and copies.
    pub uncounted_us: f64,
    /// The share of the highest clock that ran under ncu.
    pub clock: f64,
    /// Launches of an evaluation.
    pub launches: u32,
}

impl Durations {
    /// Those of so many launches that run one after the other, on caches and clocks as under ncu.
    pub fn plain(latency_us: f64, counted_us: f64, launches: u32) -> Self {
        Self { latency_us, counted_us, least_us: counted_us, cold_us: 0.0, uncounted_us: 0.0, clock: 1.0, launches }
    }

    fn further_us(&self) -> f64 {
        FURTHER_US * f64::from(self.launches.saturating_sub(1))
    }

    /// The longest that an evaluation may take under ncu at the highest clock, of what it takes at least.
    fn most_us(&self) -> f64 {
        LONGER * self.latency_us + FRONT_END_US + self.further_us() + self.cold_us
    }

    /// The longest that all launches together may take under ncu, as it counted them.
    pub fn allowed_us(&self) -> f64 {
        self.most_us() / self.clock * (self.counted_us / self.least_us)
    }

    /// Whether the band is too wide for the duration to be a witness.
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

    /// Why a duration with a wide band is no witness.
    pub fn no_witness(&self) -> String {
        format!(
            "no witness is near enough: {} µs undisturbed, and up to {} µs under the profiler would be allowed; `ncugate run` again takes samples without repeats",
            short(self.latency_us),
            short(self.allowed_us())
        )
    }

    /// How they disagree; none where they fit.
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

/// The least time of launches one after the other, where those that are marked may begin before the one before them has ended. A launch
/// hides at most behind its neighbour, so that of two neighbours the longer is left, and each launch is the neighbour of one.
pub fn least_of(launches: &[(f64, bool)]) -> f64 {
    let (mut before, mut hidden) = (0.0, 0.0);
    for pair in launches.windows(2) {
        let with = if pair[1].1 { before + pair[0].0.min(pair[1].0) } else { before };
        (before, hidden) = (hidden, f64::max(hidden, with));
    }
    launches.iter().map(|(us, _)| us).sum::<f64>() - hidden
}
