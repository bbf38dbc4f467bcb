//! Many runs: the measurements of each phase over time, as a page, and the state of a set of phases, as Markdown.
//!
//! A [`HistoryEntry`] is one judged run; a [`History`] orders them by phase and date. Pure: the command finds, judges
//! and writes runs.

mod charts;
mod entry;
mod html;
mod shape_comparison;
mod summary;

pub use entry::{History, HistoryEntry, PhaseHistory};
pub use html::html;
pub use shape_comparison::{ShapeComparison, TimedVariant};
pub use summary::summary;

#[cfg(test)]
mod tests;
