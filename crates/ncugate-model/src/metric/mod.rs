//! The catalogue of logical metrics: what a gate may name, and where its value comes from on a chip.
//!
//! Says what to collect and how to compute; collecting is `ncugate_ncu`'s, filling tables `ncugate_judge::frame`'s.

mod catalogue;
mod combination;
mod definition;
mod derivation;
mod family;
pub mod id;
mod known_metrics;
mod order;
mod peak;
mod settle;
mod signal;
mod transfer;

pub use catalogue::{Catalogue, LogicalMetric, MetricError, MetricKind, ShownIn};
pub use combination::Combination;
pub use definition::{Definition, Formula, ZeroShare};
pub use derivation::{
    BuildFact, CheckFact, Derivation, LatencyForm, LatencyMetric, LaunchFact, MetricSource, OccupancyFact,
};
pub use family::ChipFamily;
pub use known_metrics::{is_listed, nearest_listed};
pub use peak::most_operations;
pub use signal::{SIGNALS, asked_signals, outside_full_set, signal_counters};
pub use transfer::{TransferCost, TransferEffect};
