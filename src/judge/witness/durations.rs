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

/// How the two durations of a launch disagree, both in microseconds; none where they fit. `cold_us` is what cold caches
/// explain, `clock` the share of the highest clock that ran under ncu.
pub fn disagreement(latency_us: f64, duration_us: f64, cold_us: f64, clock: f64) -> Option<Disagreement> {
    let at_full_clock = duration_us * clock;
    let too_short = at_full_clock > LONGER * latency_us + FRONT_END_US + cold_us;
    let too_long = latency_us > SLOWER * duration_us + GAP_US;
    let ratio = duration_us / latency_us;
    (too_short || too_long).then(|| Disagreement {
        factor: if too_short { (at_full_clock - cold_us) / latency_us } else { 1.0 },
        numbers: format!(
            "{} µs undisturbed, {} µs under the profiler: a factor of {}",
            short(latency_us),
            short(duration_us),
            short(ratio.max(1.0 / ratio))
        ),
    })
}
