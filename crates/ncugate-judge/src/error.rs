//! Why a run could not be judged.

use crate::frame::launches::FrameError;
use crate::store::StoreError;
use ncugate_phase::config::ConfigErrors;
use ncugate_phase::plan::{PlanErrors, SubsetError};
use std::path::PathBuf;

/// Why a run could not be judged.
#[derive(Debug, thiserror::Error)]
pub enum JudgeError {
    /// The phase's file is wrong.
    #[error(transparent)]
    Config(#[from] ConfigErrors),
    /// The phase cannot be unrolled.
    #[error(transparent)]
    Plan(#[from] PlanErrors),
    /// The run measured a part of its phase that the phase does not have.
    #[error("the run says that it measured a part of its phase, which its phase does not have: {0}")]
    Narrow(#[from] SubsetError),
    /// A run cannot be read.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A report's numbers cannot be made into a frame.
    #[error(transparent)]
    Frame(#[from] FrameError),
    /// A recording does not hold what the phase asks for.
    #[error("the recording in {} does not hold what the phase asks for; it has:{}\nmeasure again on a GPU, then keep the run with `ncugate record`", folder.display(), lacks.iter().map(|l| format!("\n  {l}")).collect::<String>())]
    Recording { folder: PathBuf, lacks: Vec<String> },
    /// Two measurements cannot be compared.
    #[error("cannot compare with {label}:{}\nmeasure both alike, or compare all the same with --allow-mismatch", differences.iter().map(|d| format!("\n  {d}")).collect::<String>())]
    Unlike {
        /// What it would be compared with.
        label: String,
        /// In what they differ.
        differences: Vec<String>,
    },
    /// A stored run has nothing that others can be compared with.
    #[error("cannot compare with the run in {}: {reason}", folder.display())]
    NoReference { folder: PathBuf, reason: String },
    /// Reports of another program hold no launch of a variant.
    #[error("{0}")]
    NoLaunch(String),
    /// A launch is of more than one variant.
    #[error("{0}")]
    Overlap(String),
    /// What was named is not there.
    #[error("{0}")]
    NotFound(String),
}
