//! A script about to be submitted.

use super::stage::{SubmissionStage, Work};
use std::path::{Path, PathBuf};

/// A script about to be submitted.
#[derive(Debug)]
pub struct Script<'a> {
    pub stage: SubmissionStage,
    pub work: &'a Work,
    pub folder: &'a Path,
    /// The shards of an array; none of other stages.
    pub shards: Vec<u32>,
}

impl Script<'_> {
    pub fn path(&self) -> PathBuf {
        self.folder.join(format!("{}.sh", self.stage))
    }

    pub fn logs(&self) -> PathBuf {
        self.folder.join("logs")
    }
}
