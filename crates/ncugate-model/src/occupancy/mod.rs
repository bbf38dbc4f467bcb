//! Theoretical occupancy: how many blocks of a kernel a multiprocessor holds, and what stops it from holding more.
//!
//! Pure arithmetic over a chip's limits and a kernel's demands; where the demands come from (a cubin, a report) is the
//! caller's business.

mod chip;
mod step;
mod theoretical;

pub use chip::{Chip, REGISTERS_PER_SM, WARP};
pub use step::{CurveStep, NextStep, curve, next_steps};
pub use theoretical::{BlockLimits, Demand, Limiter, Occupancy, tail_fraction, theoretical, waves};
