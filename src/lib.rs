//! `ncugate` builds every variant of a CUDA kernel that a phase describes, proves each one correct, times it
//! undisturbed, profiles it under Nsight Compute, judges the phase's gates and renders reports.
//!
//! A folder is a stage; data flows one way:
//!
//! ```text
//! config -> plan -> build -> prove -> time -> ncu -> ncu_rep -> frame -> gate -> insight -> report
//! ```
//!
//! Left of [`ncu_rep`] is the world: processes, the GPU, the disk. From there on everything is a pure function of
//! what [`store`] holds, so that a stored run is judged and rendered on any machine by the same code.

pub mod baseline;
pub mod build;
pub mod campaign;
pub mod chart;
pub mod cli;
pub mod commands;
pub mod config;
pub mod disk;
pub mod exit;
pub mod explain;
pub mod expr;
pub mod frame;
pub mod gpu;
pub mod host;
pub mod judge;
pub mod metric;
pub mod model;
pub mod ncu;
pub mod number;
pub mod occupancy;
pub mod plan;
pub mod process;
pub mod prove;
pub mod report;
pub mod stats;
pub mod store;
pub mod time;
