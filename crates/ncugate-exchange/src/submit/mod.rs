//! A phase on a cluster: scripts for a scheduler, dependent jobs, and their finished stages.
//!
//! Nothing is scheduled here. The scripts record finished stages as files in the folder of the submission, so that a
//! follower can stop and resume without the scheduler's database.

mod folder;
mod follow;
mod scheduler;
mod script;

pub use folder::SubmitFolder;
pub use follow::{Follower, SubmissionOutcome};
pub use scheduler::{Gres, Scheduler};
pub use script::script;

use serde::{Deserialize, Serialize};
use std::fmt;
use std::io;
use std::path::PathBuf;

/// A step of a submission; each needs the one before.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SubmissionStage {
    /// Variants are compiled into the shared cache, on a node without a GPU.
    Build,
    /// Shards are measured, each by a task of an array.
    Measure,
    /// The shards are merged.
    Merge,
    /// The selected variant is confirmed on one GPU, and judged.
    Judge,
}

impl SubmissionStage {
    /// Whether it runs on a GPU.
    pub const fn on_gpu(self) -> bool {
        matches!(self, Self::Measure | Self::Judge)
    }
}

impl fmt::Display for SubmissionStage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Build => "build",
            Self::Measure => "measure",
            Self::Merge => "merge",
            Self::Judge => "judge",
        })
    }
}

/// The submitted phase. Its paths are absolute.
#[derive(Debug, Clone)]
pub struct Work {
    pub phase: String,
    pub config: PathBuf,
    /// The folder that paths of the phase are relative to.
    pub root: PathBuf,
    pub program: PathBuf,
    pub shards: u32,
    /// The architecture to build for before a GPU is available; `None` if each shard builds its own.
    pub arch: Option<String>,
    /// The compile cache that all nodes share.
    pub cache: PathBuf,
    pub profiles: PathBuf,
    pub reports: PathBuf,
}

impl Work {
    pub fn stages(&self) -> impl Iterator<Item = SubmissionStage> {
        use SubmissionStage::{Build, Judge, Measure, Merge};
        self.arch.as_ref().map(|_| Build).into_iter().chain([Measure, Merge, Judge])
    }
}

/// The number of a job in its scheduler.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct ClusterJob(pub u64);

impl fmt::Display for ClusterJob {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Why a phase cannot be submitted or followed.
#[derive(Debug, thiserror::Error)]
pub enum SubmitError {
    /// A scheduler command cannot be started, or fails.
    #[error("{command}: {reason}")]
    Scheduler { command: String, reason: String },
    #[error("cannot {action} {}", path.display())]
    File { action: &'static str, path: PathBuf, source: io::Error },
    #[error("a script cannot contain the path `{path}`: {reason}")]
    Path { path: String, reason: &'static str },
    #[error("{owner} already follows {}", folder.display())]
    Held { folder: PathBuf, owner: String },
    /// A stage has failed too often, or permanently.
    #[error("{stage} failed: {reason}; its output is in {}", logs.display())]
    Stage { stage: SubmissionStage, reason: String, logs: PathBuf },
    #[error("interrupted: jobs {jobs} were cancelled; the measurements are kept, so repeat the command to continue")]
    Interrupted { jobs: String },
}
