//! Many runs: what each phase measured over time, as a page, and where a set of phases stands, as Markdown.
//!
//! A [`HistoryEntry`] is one judged run; a [`History`] orders them by phase and date. Pure: finding, judging and writing runs
//! are the command's.

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
