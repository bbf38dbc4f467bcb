//! Two runs, recordings or ncu reports side by side: what changed, by how much, and whether noise explains it.
//!
//! A [`Side`] is what was measured, by name; a [`Comparison`] pairs the names of two sides. Pure: reading, judging and
//! writing are the command's.

mod comparison;
mod html;
mod markdown;
mod side;
mod terminal;

pub use comparison::{Comparison, GateChange, Latency, Pair, Row, Summary};
pub use html::html;
pub use markdown::markdown;
pub use side::{Gate, Side, SideError, Subject};
pub use terminal::terminal;

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
