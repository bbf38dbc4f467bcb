//! Many runs: what each phase measured over time, as a page, and where a set of phases stands, as Markdown.
//!
//! A [`HistoryEntry`] is one judged run; a [`History`] orders them by phase and date. Pure: finding, judging and writing runs
//! are the command's.

mod beside;
mod charts;
mod entry;
mod html;
mod summary;

pub use beside::{ShapeComparison, TimedVariant};
pub use entry::{History, HistoryEntry, PhaseHistory};
pub use html::html;
pub use summary::summary;

#[cfg(test)]
mod tests;
