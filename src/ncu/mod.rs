//! Nsight Compute as a child: its command line, its failures as types, and the plan of what to collect.
//!
//! Reading what it wrote is [`crate::ncu_rep`]'s.

mod record;

pub use record::{ProfileOutcome, ProfileRecord};
