//! Correctness, then latency, in a worker process that a crash takes down alone.
//!
//! The parent plans jobs and keeps what comes back; the worker (this program under a hidden subcommand) owns the CUDA
//! context. Neither judges: they measure.

mod record;

pub use record::{CheckOutcome, CheckRecord, Differences, LatencyOutcome, LatencyRecord};
