//! Nsight Compute as a subprocess: its command line, its failures as types, and the groups of metrics to collect.
//!
//! Deliberately absent: reading its reports, which `ncu_rep` does.

mod batch;
#[cfg(test)]
mod batch_tests;
mod command;
mod failure;
mod group;
mod job;
mod pass_book;
pub mod preflight;
mod prestarted;
mod session;
mod subject;
mod tool;
mod unit;

// The fixtures refer to this crate by name, because the main program's tests share them.
#[cfg(test)]
extern crate self as ncugate_ncu;

pub use batch::{Profiler, Sink};
pub use command::{
    CacheControl, ClockControl, Knobs, LaunchSelection, LifeSampling, NcuSession, Processes, ProfileDetail, ReplayMode,
};
pub use failure::{FailureScope, NcuFailure};
pub use group::{Effort, Group, NcuMetric, PROBES, plan_groups};
pub use job::Job;
pub use pass_book::{CounterConditions, PassBook, PassCount, cache_folder};
pub use prestarted::PrestartedSessions;
pub use session::{Runner, SessionOutcome};
pub use subject::{
    Contents, LaunchExpectation, ProfileError, ProfiledCase, ProfiledMetrics, ProfilingSummary, ReportReader, Subject,
    Target, TrialFailure,
};
pub use tool::{Ncu, NcuVersion, ToolError};
