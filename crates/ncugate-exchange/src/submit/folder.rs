//! The folder of a submission, on the shared disk of all nodes: scripts, outputs, shards, and the finished stages.

use super::scheduler::Scheduler;
use super::{ClusterJob, SubmissionStage, SubmitError, Work, script};
use ncugate_model::disk::{self, Durability, FileLock, LockAttempt, open};
use ncugate_model::number::text::{clip, line};
use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

/// Size limit of files read here, in bytes.
const MAX_BYTES: u64 = 1 << 20;
/// Bytes quoted from the end of an output.
const TAIL: u64 = 2000;

/// The last submitted job of each stage.
pub type StageJobs = BTreeMap<SubmissionStage, ClusterJob>;

#[derive(Debug)]
pub struct SubmitFolder {
    path: PathBuf,
    /// Only one process follows a submission.
    _lock: FileLock,
}

impl SubmitFolder {
    /// The path of a new folder, which is not created.
    pub fn name(jobs: &Path, phase: &str, key: &str) -> PathBuf {
        jobs.join(phase).join(format!("{key}-{}", jiff::Timestamp::now().strftime("%Y%m%dT%H%M%SZ")))
    }

    /// The newest folder of these files and settings with an unjudged phase, unless the submission is `fresh`; else a
    /// new one.
    ///
    /// # Errors
    /// It cannot be created, or another process follows the submission.
    pub fn open(jobs: &Path, phase: &str, key: &str, fresh: bool) -> Result<Self, SubmitError> {
        let earlier = if fresh { None } else { newest(&jobs.join(phase), key) };
        let path = earlier.unwrap_or_else(|| Self::name(jobs, phase, key));
        for part in ["logs", "shards", "done", "status"] {
            let part = path.join(part);
            std::fs::create_dir_all(&part).map_err(|source| SubmitError::File {
                action: "make",
                path: part,
                source,
            })?;
        }
        let lock = path.join("follow.lock");
        match FileLock::take(&lock).map_err(|source| SubmitError::File { action: "lock", path: lock, source })? {
            LockAttempt::Acquired(lock) => Ok(Self { path, _lock: lock }),
            LockAttempt::HeldBy(owner) => Err(SubmitError::Held { folder: path, owner: owner.to_string() }),
        }
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    pub(super) fn logs(&self) -> PathBuf {
        self.path.join("logs")
    }

    /// The submitted jobs; empty for a new folder.
    pub(super) fn jobs(&self) -> Result<StageJobs, SubmitError> {
        let path = self.path.join("submission.json");
        let failed = |source| SubmitError::File { action: "read", path: path.clone(), source };
        let Some(text) = open::text_if_there(&path, MAX_BYTES).map_err(failed)? else { return Ok(StageJobs::new()) };
        serde_json::from_str(&text).map_err(|error| failed(io::Error::other(error)))
    }

    pub(super) fn keep_jobs(&self, jobs: &StageJobs) -> Result<(), SubmitError> {
        self.write("submission.json", serde_json::json!(jobs).to_string().as_bytes(), Durability::Synced)
    }

    pub(super) fn write_script(
        &self,
        stage: SubmissionStage,
        work: &Work,
        scheduler: &Scheduler,
    ) -> Result<(), SubmitError> {
        let text = script(stage, work, &self.path, scheduler)?;
        self.write(&format!("{stage}.sh"), text.as_bytes(), Durability::Cached)
    }

    /// Marks the phase as judged: the next submission is a new one.
    pub(super) fn close(&self) -> Result<(), SubmitError> {
        self.write("judged", b"judged\n", Durability::Synced)
    }

    fn write(&self, name: &str, text: &[u8], durability: Durability) -> Result<(), SubmitError> {
        let path = self.path.join(name);
        disk::replace(&path, text, durability).map_err(|source| SubmitError::File { action: "write", path, source })
    }

    /// The exit status of a stage's job, once it has ended.
    pub(super) fn status(&self, stage: SubmissionStage, job: ClusterJob) -> Option<u8> {
        let bytes = open::bytes(&self.path.join("status").join(format!("{stage}.{job}")), MAX_BYTES).ok()?;
        std::str::from_utf8(&bytes).ok()?.trim().parse().ok()
    }

    /// Shards that are not measured yet.
    pub(super) fn missing(&self, shards: u32) -> Vec<u32> {
        let done = self.path.join("done");
        (1..=shards).filter(|shard| open::regular(&done.join(format!("shard-{shard}")), MAX_BYTES).is_err()).collect()
    }

    /// The standard output of judging.
    pub(super) fn judge_output(&self, job: ClusterJob) -> String {
        let bytes = open::bytes(&self.path.join(format!("said.{job}")), MAX_BYTES).unwrap_or_default();
        String::from_utf8_lossy(&bytes).into_owned()
    }

    /// The last error in the output of a stage, or of one of its shards; else its last line.
    pub(super) fn tail(&self, stage: SubmissionStage, job: ClusterJob, shard: Option<u32>) -> Option<String> {
        let shard = shard.map(|shard| format!("-{shard}")).unwrap_or_default();
        let bytes = open::end(&self.logs().join(format!("{stage}-{job}{shard}.txt")), TAIL).ok()?;
        let text = String::from_utf8_lossy(&bytes);
        let last = text.lines().rev().find(|line| line.contains("error")).or(text.lines().last())?;
        Some(clip(&line(last), 300))
    }
}

/// The newest folder with this key that is not closed.
fn newest(all: &Path, key: &str) -> Option<PathBuf> {
    let entries = std::fs::read_dir(all).ok()?.filter_map(Result::ok).map(|entry| entry.path());
    let ours = |path: &PathBuf| {
        let name = path.file_name().and_then(|name| name.to_str());
        name.and_then(|name| name.strip_prefix(key)).is_some_and(|rest| rest.starts_with('-'))
            && open::folder(path).is_ok()
    };
    entries.filter(ours).max().filter(|path| !path.join("judged").exists())
}
