//! Errors that prevent a judgement.

use crate::frame::launches::FrameError;
use crate::store::StoreError;
use ncugate_phase::config::ConfigErrors;
use ncugate_phase::plan::{PlanErrors, SubsetError};
use std::path::PathBuf;

#[derive(Debug, thiserror::Error)]
pub enum JudgeError {
    /// The phase file is invalid.
    #[error(transparent)]
    Config(#[from] ConfigErrors),
    /// The phase cannot be unrolled.
    #[error(transparent)]
    Plan(#[from] PlanErrors),
    /// The measured part of the phase does not exist in the phase.
    #[error("the run measured a part that its phase does not have: {0}")]
    Narrow(#[from] SubsetError),
    /// A run cannot be read.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A report cannot be converted to a frame.
    #[error(transparent)]
    Frame(#[from] FrameError),
    /// A recording is missing data that the phase needs.
    #[error("the recording in {} does not match the phase; it has:{}\nmeasure again on a GPU, then keep the run with `ncugate tools record`", folder.display(), lacks.iter().map(|l| format!("\n  {l}")).collect::<String>())]
    Recording { folder: PathBuf, lacks: Vec<String> },
    /// Two measurements cannot be compared.
    /// `label`: the measurement on the other side of the comparison.
    /// `differences`: the conditions that differ.
    #[error("cannot compare with {label}:{}\nmeasure both under the same conditions, or compare anyway with --allow-mismatch", differences.iter().map(|d| format!("\n  {d}")).collect::<String>())]
    Unlike { label: String, differences: Vec<String> },
    /// A stored run has no result to compare with.
    #[error("cannot compare with the run in {}: {reason}", folder.display())]
    NoReference { folder: PathBuf, reason: String },
    /// Reports of another program contain no launch of a variant.
    #[error("{0}")]
    NoLaunch(String),
    /// A launch matches more than one variant.
    #[error("{0}")]
    Overlap(String),
    /// Launches of ncu reports do not compare: other GPUs, or other settings of ncu.
    #[error("{0}")]
    UnlikeLaunches(String),
    /// The named run or entry does not exist.
    #[error("{0}")]
    NotFound(String),
}
