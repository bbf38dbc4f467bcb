//! Measures a plan stage by stage (build, check and time, profile), and searches over variants. Each record is on
//! disk before the next measurement starts, so that an interrupted campaign can resume.
//!
//! Deliberately absent: printing, rules of judging.

pub mod search;

mod aa_test;
mod ablation;
mod absent_files;
mod activity;
mod base;
mod confirmation;
mod counter_collection;
mod counter_probe;
mod cubins;
mod deep_choice;
mod deep_profile;
mod error;
#[cfg(test)]
mod fixtures;
mod git;
mod gpu_choice;
mod gpu_turn;
mod live_run;
mod manifest;
mod prestart;
mod profile;
mod program_profile;
mod progress;
mod reference_cubin;
mod sanitizer;
mod shards;
mod stages;
mod static_check;
mod targets;
mod tools;

pub use aa_test::{CalibrationError, calibrate};
pub use ablation::{AblatedVariant, AblationEffort};
pub use absent_files::{absent_aids, absent_programs, prove_files};
pub use activity::cupti;
pub use base::{BaseCheckout, BaseError, difference, with_base};
pub use confirmation::{Confirmation, ConfirmationPass, TimedCases};
pub use counter_probe::count_once;
pub use cubins::cubins;
pub use deep_choice::{DeepChoice, UnknownChoice};
pub use deep_profile::DeepProfiler;
pub use error::CampaignError;
pub use gpu_choice::{ChosenGpu, GpuChoice, is_of};
pub use gpu_turn::{GpuTurn, GpuWait};
pub use live_run::{LiveError, LiveRun, MeasuredRun, ResumePolicy};
pub use manifest::{manifest, measured_manifest, shard_manifest};
pub use prestart::PrestartedProcesses;
pub use program_profile::{ProgramProfile, ProgramProfileError};
pub use progress::{NoProgress, Progress};
pub use reference_cubin::{ReferenceCubin, reference_cubin};
pub use stages::Campaign;
pub use static_check::{build_for, reference_problem, target, unbuilt};
pub use tools::{Tools, device, gpu};
