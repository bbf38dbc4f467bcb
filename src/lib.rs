//! `ncugate` builds every variant of a CUDA kernel that a phase describes, proves each one correct, times it
//! undisturbed, profiles it under Nsight Compute, judges the phase's gates and renders reports.
//!
//! A folder is a stage; data flows one way:
//!
//! ```text
//! config -> plan -> build -> prove -> time -> profile -> decode -> frame -> judge -> explain -> report
//! (TOML)  variants  cubins  correct  clocks  counters  .ncu-rep  polars   verdict  findings  HTML, Markdown,
//!          x shapes                                                                          JUnit, JSON, ...
//! ```
//!
//! Left of `decode` is the world: processes, the GPU, the disk. It only writes a run, a folder of records and ncu reports.
//! From `decode` on everything is a pure function of a run's bytes, so that a stored run is judged and rendered on any
//! machine by the same code. That half is what this crate offers to others:
//!
//! - [`read_report`]: an ncu report as two polars frames; needs neither ncu nor a GPU,
//! - [`load_run`]: a run or a recording with the phase that it was measured by,
//! - [`judge`]: its verdicts,
//! - [`render`]: its report, as a page, Markdown, JSON or JUnit.
//!
//! The rest is public for the program, its tests and its benches alone, and changes without notice.

#[doc(hidden)]
pub mod bench;
#[doc(hidden)]
pub mod build;
#[doc(hidden)]
pub mod campaign;
#[doc(hidden)]
pub mod chart;
#[doc(hidden)]
pub mod cli;
#[doc(hidden)]
pub mod commands;
#[doc(hidden)]
pub mod config;
pub(crate) mod disk;
pub(crate) mod exit;
#[doc(hidden)]
pub mod explain;
#[doc(hidden)]
pub mod expr;
mod facade;
#[doc(hidden)]
pub mod frame;
#[doc(hidden)]
pub mod judge;
#[doc(hidden)]
pub mod metric;
#[doc(hidden)]
pub mod model;
#[doc(hidden)]
pub mod ncu;
#[doc(hidden)]
pub mod ncu_rep;
#[doc(hidden)]
pub mod number;
#[doc(hidden)]
pub mod occupancy;
#[doc(hidden)]
pub mod plan;
pub(crate) mod process;
#[doc(hidden)]
pub mod report;
#[doc(hidden)]
pub mod stats;
#[doc(hidden)]
pub mod store;

pub use facade::{Error, Rendering, judge, load_run, read_report, render};
pub use frame::launches::LaunchFrames;
pub use judge::{Judgement, PhaseRun, Session};
