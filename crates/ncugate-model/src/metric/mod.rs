//! The catalogue of logical metrics: the names for gates, and the source of each value on a chip.
//!
//! Defines collection and computation; `ncugate_ncu` collects, and `ncugate_judge::frame` fills the tables.

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
pub use signal::{SIGNALS, asked_signals, known_chips, outside_full_set, signal_counter, signal_counters};
pub use transfer::{TransferCost, TransferEffect};
