//! Analysis of a run: deep profiles, Pareto front, effects of parameters.
//!
//! Pure functions of the measurements. They advise; they never judge.

mod deep_profile;
mod matched_pairs;
mod observations;
mod pareto;
mod sweep;

pub use deep_profile::DeepProfiles;
pub use matched_pairs::{ChangeUnit, MatchedChange, Separation};
pub use observations::{Listings, observations};
pub use pareto::{FrontVariant, ObjectiveFront, ParetoAxis, objective_front};
pub use sweep::{FEWEST, Interaction, MainEffect, MetricEffect, RangeEdge, SweepAnalysis, SweptMetric, sweep};
