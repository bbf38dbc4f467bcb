//! What a run is compared with across runs: other runs, and the leaderboard in `profiles/<phase>/leaderboard.jsonl`.
//!
//! A stored run is reduced to an [`LeaderboardEntry`]: one variant, its values and its samples, and the conditions they were
//! measured under. [`ReferenceRuns`] are those that a judgement compares
//! with. Other conditions are found here; what a comparison means is [`crate`]'s.

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
