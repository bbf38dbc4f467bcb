//! Comparisons across runs: other runs, and the leaderboard in `profiles/<phase>/leaderboard.jsonl`.
//!
//! A stored run is reduced to a [`LeaderboardEntry`]: one variant, its values, its samples, and its measurement
//! conditions. [`ReferenceRuns`] are the comparison runs of a judgement. This module detects differing conditions;
//! [`crate`] defines the meaning of a comparison.

mod conditions;
mod entry;
mod finder;
mod leaderboard;
mod noise;
mod promotion;
mod reference_set;
mod request;
#[cfg(test)]
mod tests;

pub use conditions::Conditions;
pub use entry::{EntrySource, LatencySamples, LeaderboardEntry, ObjectiveValue, StoredValue, confirmed};
pub use finder::entry_of_run;
pub use leaderboard::{BEST, Leaderboard, Lookup, MEDIAN_OF, phases_with_entries};
pub use noise::{Calibration, NoiseBook, RunSpread, ShapeNoise};
pub use promotion::{Change, Promotion, Refusal, RegressionPolicy, unfit};
pub use reference_set::{ComparisonRun, ReferenceRuns};
pub use request::{MismatchPolicy, ReferenceRequest};
