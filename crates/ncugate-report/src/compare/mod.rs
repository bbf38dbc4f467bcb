//! Two runs, recordings or ncu reports side by side: the changes, their size, and whether noise explains them.
//!
//! A [`ComparedSide`] holds measurements by name; a [`RunComparison`] pairs the names of two sides. Pure: the command
//! reads, judges and writes.

mod comparison;
mod document;
mod metric_filter;
mod renamed;
mod side;
mod times;
mod totals;

pub use comparison::{ComparedPair, GateChange, RunComparison};
pub use metric_filter::MetricFilterError;
pub use side::{ComparedSide, ComparedSubject, LaunchedKernel, MeasurementSetup, SideSummary};
pub use times::{ComparedTime, SidePresence};

#[cfg(test)]
mod tests;
