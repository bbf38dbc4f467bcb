//! Theoretical occupancy: the number of blocks of a kernel that a multiprocessor holds, and the resource that limits it.
//!
//! Pure arithmetic over a chip's limits and a kernel's demands; the caller gets the demands from a cubin or a report.

mod chip;
mod step;
mod theoretical;

pub use chip::{Chip, REGISTERS_PER_SM, SCHEDULERS, WARP};
pub use step::{CurveStep, NextStep, curve, next_steps};
pub use theoretical::{BlockLimits, Demand, Limiter, Occupancy, tail_fraction, theoretical, waves};
