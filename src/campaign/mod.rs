//! Measures a plan, stage by stage: build, check and time, profile. Every record is kept as it comes, so that a
//! campaign that ends early goes on where it stopped.
//!
//! Judges nothing: what a run holds is read back by [`crate::store`] and judged elsewhere.

mod aa_test;
mod cubins;
mod deep_profile;
mod error;
mod more_rounds;
mod profile;
mod progress;
mod provenance;
mod stages;
mod targets;
mod tools;
pub mod wanted;

pub use aa_test::{AaSamples, aa_test, built};
pub use deep_profile::DeepProfiler;
pub use error::CampaignError;
pub use more_rounds::{MoreRounds, TimedCases};
pub use progress::{Progress, Silent, Terminal};
pub use provenance::{manifest, sources};
pub use stages::Campaign;
pub use tools::{Tools, device, gpu};
