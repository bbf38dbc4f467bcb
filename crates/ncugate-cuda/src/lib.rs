//! What measures on the GPU: compiles, launches, proves answers right, times.
//!
//! Deliberately absent: verdicts, tables, pages.

pub mod build;
pub mod gpu;
pub mod host;
pub mod prove;
pub mod time;
