//! What a run is compared with across runs: other runs, and the leaderboard in `profiles/<phase>/leaderboard.jsonl`.
//!
//! A stored run is reduced to an [`Entry`]: one variant, its values and its samples, and the conditions they were
//! measured under. Unlike conditions are told apart here; what a comparison means is [`crate::judge`]'s.

mod conditions;
mod entry;
mod leaderboard;
mod noise;
mod promotion;
#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;

pub use conditions::Conditions;
pub use entry::{Entry, Reading, Samples, Score, Subject};
pub use leaderboard::{BEST, Leaderboard, Lookup};
pub use noise::{Calibration, NoiseBook, ShapeNoise};
pub use promotion::{Change, Promotion, Refusal, Worse};
