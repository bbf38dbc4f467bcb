//! What is submitted, in what steps, and as which jobs.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::path::PathBuf;

/// A step of a submission; each needs the one before.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SubmissionStage {
    /// Variants are compiled into the shared cache, on a node without a GPU.
    Build,
    /// Shards are measured, each by a task of an array.
    Measure,
    /// Shards are put together.
    Merge,
    /// What was selected is confirmed on one GPU, and judged.
    Judge,
}

impl SubmissionStage {
    pub const ALL: [Self; 4] = [Self::Build, Self::Measure, Self::Merge, Self::Judge];

    /// Its name, of scripts and outputs too.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Build => "build",
            Self::Measure => "measure",
            Self::Merge => "merge",
            Self::Judge => "judge",
        }
    }

    /// Whether it runs on a GPU.
    pub const fn on_gpu(self) -> bool {
        match self {
            Self::Measure | Self::Judge => true,
            Self::Build | Self::Merge => false,
        }
    }
}

impl fmt::Display for SubmissionStage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[derive(Debug, Clone)]
pub struct Work {
    pub phase: String,
    /// Its file, absolute.
    pub config: PathBuf,
    /// The folder that its paths are relative to.
    pub root: PathBuf,
    pub program: PathBuf,
    /// Into how many shards it is cut.
    pub shards: u32,
    /// What it is built for, before a GPU is there; none where each shard builds its own.
    pub arch: Option<String>,
    /// The compile cache that all nodes share.
    pub cache: PathBuf,
    pub profiles: PathBuf,
    pub reports: PathBuf,
}

impl Work {
    pub fn stages(&self) -> impl Iterator<Item = SubmissionStage> + '_ {
        SubmissionStage::ALL.into_iter().filter(|stage| *stage != SubmissionStage::Build || self.arch.is_some())
    }
}

/// The number that an engine gave to a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct ClusterJob(pub u64);

impl fmt::Display for ClusterJob {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
