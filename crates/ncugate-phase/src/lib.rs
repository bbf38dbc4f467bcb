//! A phase file: its keys, resolved and checked, and the plan of variants, shapes and launches that it makes.
//!
//! Deliberately absent: compilers, the GPU.

pub mod config;
pub mod draft;
#[cfg(any(test, feature = "fixtures"))]
#[allow(clippy::unwrap_used, reason = "tests alone have it")]
pub mod fixtures;
pub mod plan;
