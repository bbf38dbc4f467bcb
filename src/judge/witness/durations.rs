//! The median of the samples against the duration that ncu gives the same launch.
//!
//! They measure different things. A sample is the mean over launches of a graph that run one after the other, on buffers
//! that may still be in L2. ncu runs one launch at a time, cold, and counts the front end's launch latency. Over all
//! recordings in `profiles/` (244 pairs on an H200, kernels of 4.5 to 1464 us) duration over median goes from 0.906 to
//! 1.618, and everything over 1.27 belongs to kernels under 7 us, where it is at most 3.3 us more. The band has a margin
//! on both sides:
//!
//! ```text
//! latency / 2 - 3 us  <=  duration * clock  <=  1.5 * latency + 4 us + cold
//! ```
//!
//! An evaluation of several launches has the 3 and the 4 us once a launch, and more time for its fills and copies.
//!
//! `clock` is the clock that ran under ncu over the highest of the chip, at most 1: an idle chip starts slowly. `cold` is the
//! time that DRAM takes for bytes which the timed launches find in L2.
//! `cargo test --lib honest_variants -- --nocapture` prints the range.

use crate::number::short;

/// Two durations of a launch that do not fit.
#[derive(Debug, Clone, PartialEq)]
pub struct Disagreement {
    /// How much shorter the sample is than what ncu saw; 1 for a sample that is too long, which proves no cheat.
    pub factor: f64,
    /// Both durations and their ratio.
    pub numbers: String,
}

/// A launch under ncu may take this much longer than an undisturbed one.
const LONGER: f64 = 1.5;
/// And this many microseconds for the front end.
const FRONT_END_US: f64 = 4.0;
/// An undisturbed launch may take this much longer than one under ncu: under load the clocks fall.
const SLOWER: f64 = 2.0;
/// And this many microseconds for the gap between launches.
const GAP_US: f64 = 6.0;

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

    /// How they disagree; none where they fit. Front end and gaps are granted for each launch.
    pub fn disagreement(&self) -> Option<Disagreement> {
        let (latency_us, launches) = (self.latency_us, f64::from(self.launches.max(1)));
        let at_full_clock = self.least_us * self.clock;
        let too_short = at_full_clock > LONGER * latency_us + FRONT_END_US * launches + self.cold_us;
        let too_long = latency_us > SLOWER * self.counted_us + GAP_US * launches + self.uncounted_us;
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
