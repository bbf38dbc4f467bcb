//! A script about to be submitted.

use super::stage::{Stage, Work};
use std::path::{Path, PathBuf};

/// A script about to be submitted.
#[derive(Debug)]
pub struct Script<'a> {
    /// Its stage.
    pub stage: Stage,
    /// What is submitted.
    pub work: &'a Work,
    /// The folder of the submission.
    pub folder: &'a Path,
    /// The shards of an array; none of other stages.
    pub shards: Vec<u32>,
}

impl Script<'_> {
    /// Its file.
    pub fn path(&self) -> PathBuf {
        self.folder.join(format!("{}.sh", self.stage))
    }

    /// The folder of its output.
    pub fn logs(&self) -> PathBuf {
        self.folder.join("logs")
    }
}
