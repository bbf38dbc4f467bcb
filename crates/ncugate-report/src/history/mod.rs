//! Many runs: the measurements of each phase over time, as a page, and the state of a set of phases, as Markdown.
//!
//! A [`HistoryEntry`] is one judged run; a [`History`] orders them by phase and date. Pure: the command finds, judges
//! and writes runs.

mod charts;
mod document;
mod entry;
mod phases;
pub(crate) mod shape_comparison;

pub use document::{LatestRun, summary};
pub use entry::{GateValue, HistoryEntry, RunSummary};
pub use phases::{History, KernelPair, PhaseHistory};
pub use shape_comparison::{ShapeComparison, TimedVariant};

#[cfg(test)]
mod tests;
