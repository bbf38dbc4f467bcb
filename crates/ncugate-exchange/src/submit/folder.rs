//! The folder of a submission: scripts, outputs, shards, and what has ended. It lies on the disk that all nodes share.

use super::engine::Engine;
use super::error::SubmitError;
use super::script::Script;
use super::stage::{ClusterJob, SubmissionStage, Work};
use super::text::text;
use ncugate_model::disk::{self, Durability, FileLock, LockAttempt, open};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

/// Most bytes that are read of a small file here.
const SMALL: u64 = 1 << 20;
/// Most bytes of what judging said that are shown.
const SAID: u64 = 1 << 20;
/// Bytes at the end of an output that are quoted.
const TAIL: u64 = 2000;

/// The jobs of a submission.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Submission {
    pub engine: String,
    /// The last job of each stage.
    pub jobs: BTreeMap<SubmissionStage, ClusterJob>,
    /// How often a stage was submitted again.
    pub again: BTreeMap<SubmissionStage, u32>,
}

/// The folder of a submission.
#[derive(Debug)]
pub struct SubmitFolder {
    path: PathBuf,
    /// One process follows.
    _lock: Option<FileLock>,
}

impl SubmitFolder {
    /// The folder as it would be named, for scripts that are only shown.
    pub fn preview(jobs: &Path, phase: &str, key: &str) -> Self {
        Self { path: jobs.join(phase).join(new_name(key)), _lock: None }
    }

    /// The newest folder of these files and settings whose phase is not judged yet; else a new one.
    ///
    /// # Errors
    /// It cannot be made, or another process follows the submission.
    pub fn open(jobs: &Path, phase: &str, key: &str, anew: bool) -> Result<Self, SubmitError> {
        let all = jobs.join(phase);
        let earlier = if anew { None } else { newest(&all, key) };
        let path = earlier.unwrap_or_else(|| all.join(new_name(key)));
        for part in ["logs", "shards", "done", "status"] {
            let part = path.join(part);
            std::fs::create_dir_all(&part).map_err(|source| SubmitError::File { what: "make", path: part, source })?;
        }
        let lock = path.join("follow.lock");
        match FileLock::take(&lock).map_err(|source| SubmitError::File { what: "lock", path: lock, source })? {
            LockAttempt::Acquired(lock) => Ok(Self { path, _lock: Some(lock) }),
            LockAttempt::HeldBy(owner) => Err(SubmitError::Held { folder: path, owner: owner.to_string() }),
        }
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    pub fn logs(&self) -> PathBuf {
        self.path.join("logs")
    }

    /// The jobs that were submitted; none of a new folder.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn submission(&self) -> Result<Option<Submission>, SubmitError> {
        let path = self.path.join("submission.json");
        let failed = |source| SubmitError::File { what: "read", path: path.clone(), source };
        let Some(text) = open::text_if_there(&path, SMALL).map_err(failed)? else { return Ok(None) };
        serde_json::from_str(&text).map(Some).map_err(|error| failed(io::Error::other(error)))
    }

    /// Keeps the jobs that were submitted.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn keep(&self, submission: &Submission) -> Result<(), SubmitError> {
        let text = serde_json::to_vec_pretty(submission).map_err(io::Error::other);
        self.write("submission.json", text.map(|text| (text, Durability::Synced)))
    }

    /// Writes a script.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn write_script(&self, script: &Script<'_>, engine: &dyn Engine) -> Result<(), SubmitError> {
        let text = text(script, engine)?;
        self.write(&format!("{}.sh", script.stage), Ok((text.into_bytes(), Durability::Cached)))
    }

    /// Notes that the phase is judged: the next submission is a new one.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn close(&self) -> Result<(), SubmitError> {
        self.write("judged", Ok((b"judged\n".to_vec(), Durability::Synced)))
    }

    fn write(&self, name: &str, text: io::Result<(Vec<u8>, Durability)>) -> Result<(), SubmitError> {
        let path = self.path.join(name);
        text.and_then(|(text, durability)| disk::replace(&path, &text, durability))
            .map_err(|source| SubmitError::File { what: "write", path, source })
    }

    /// The status that the job of a stage ended with, once it has.
    pub fn status(&self, stage: SubmissionStage, job: ClusterJob) -> Option<u8> {
        let path = self.path.join("status").join(format!("{stage}.{job}"));
        let bytes = open::bytes(&path, SMALL).ok()?;
        std::str::from_utf8(&bytes).ok()?.trim().parse().ok()
    }

    /// Shards that are not measured yet.
    pub fn missing(&self, work: &Work) -> Vec<u32> {
        let done = |shard: &u32| open::regular(&self.path.join("done").join(format!("shard-{shard}")), SMALL).is_ok();
        (1..=work.shards).filter(|shard| !done(shard)).collect()
    }

    /// What judging said on standard output.
    pub fn judge_output(&self, job: ClusterJob) -> String {
        let bytes = open::bytes(&self.path.join(format!("said.{job}")), SAID).unwrap_or_default();
        String::from_utf8_lossy(&bytes).into_owned()
    }

    /// The end of the output of a stage, or of a shard of it.
    pub fn tail(&self, stage: SubmissionStage, job: ClusterJob, shard: Option<u32>) -> Option<String> {
        let name = match shard {
            Some(shard) => format!("{stage}-{job}-{shard}.txt"),
            None => format!("{stage}-{job}.txt"),
        };
        let bytes = open::end(&self.logs().join(name), TAIL).ok()?;
        let text = String::from_utf8_lossy(&bytes);
        let line = text.lines().rev().find(|line| line.contains("error")).or(text.lines().last())?;
        Some(ncugate_model::number::text::clip(&ncugate_model::number::text::line(line), 300))
    }
}

fn new_name(key: &str) -> String {
    format!("{key}-{}", jiff::Timestamp::now().strftime("%Y%m%dT%H%M%SZ"))
}

/// The newest folder with this key that is not closed.
fn newest(all: &Path, key: &str) -> Option<PathBuf> {
    let entries = std::fs::read_dir(all).ok()?.filter_map(Result::ok).map(|entry| entry.path());
    let ours = |path: &PathBuf| {
        let name = path.file_name().and_then(|name| name.to_str());
        name.and_then(|name| name.strip_prefix(key)).is_some_and(|rest| rest.starts_with('-'))
            && disk::open::folder(path).is_ok()
    };
    entries.filter(ours).max().filter(|path| !path.join("judged").exists())
}
