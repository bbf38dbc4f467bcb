//! Two runs, recordings or ncu reports side by side: what changed, by how much, and whether noise explains it.
//!
//! A [`ComparedSide`] is what was measured, by name; a [`RunComparison`] pairs the names of two sides. Pure: reading,
//! judging and writing are the command's.

mod comparison;
mod html;
mod markdown;
mod side;
mod terminal;
mod totals;

pub use comparison::{ComparedPair, GateChange, RunComparison};
pub use html::html;
pub use markdown::markdown;
pub use side::{ComparedSide, ComparedSubject, LaunchedKernel, MeasurementSetup, SideError, SideSummary};
pub use terminal::terminal;

#[cfg(test)]
mod tests;
