//! The files of the base: a git worktree of its own while a run measures, gone with it.

use super::base_error::BaseError;
use ncugate_model::disk::{FileLock, LockAttempt};
use ncugate_model::process::{self, ProcessExit, ProcessOutput};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// git looks up a commit in milliseconds, and writes the files of a large repository in minutes.
const LIMIT: Duration = Duration::from_secs(600);
/// The folder of worktrees in that of runs.
const FOLDER: &str = ".base";

/// The files of a commit. They are removed when this is dropped; what a killed run left is replaced by the next.
#[derive(Debug)]
pub struct BaseCheckout {
    /// What was asked for.
    pub reference: String,
    /// The last commit that it has in common with the one that is checked out.
    pub commit: String,
    /// The folder there that the working directory corresponds to.
    pub root: PathBuf,
    worktree: PathBuf,
    lock: Option<FileLock>,
}

impl BaseCheckout {
    /// Checks out the merge base of `reference` and the commit of the working directory, for runs of one phase.
    ///
    /// # Errors
    /// The working directory is in no repository; both have no commit in common; the files cannot be written; another run of the
    /// phase has them.
    pub fn of(reference: &str, phase: &str, profiles: &Path) -> Result<Self, BaseError> {
        let inside = git(&["rev-parse", "--show-prefix"]).map_err(|why| BaseError::NoRepository { why })?;
        let asked = format!("{reference}^{{commit}}");
        let theirs = git(&["rev-parse", "--verify", "--quiet", "--end-of-options", &asked])
            .map_err(|_| BaseError::NoCommit { reference: reference.to_owned() })?;
        let commit = git(&["merge-base", "HEAD", &theirs])
            .map_err(|_| BaseError::NothingInCommon { reference: reference.to_owned() })?;
        let short = commit.get(..12).unwrap_or(&commit);
        let (folder, name) = (profiles.join(FOLDER), format!("{phase}-{short}"));
        let failed = |source| BaseError::Folder { path: folder.clone(), source };
        std::fs::create_dir_all(&folder).map_err(failed)?;
        let lock = match FileLock::take(&folder.join(format!("{name}.lock"))).map_err(failed)? {
            LockAttempt::Acquired(lock) => lock,
            LockAttempt::HeldBy(owner) => {
                return Err(BaseError::Held { path: folder.join(name), owner: owner.to_string() });
            }
        };
        let worktree = folder.join(name);
        let checkout =
            Self { root: worktree.join(&inside), reference: reference.to_owned(), commit, worktree, lock: Some(lock) };
        checkout.remove();
        let path = checkout.worktree.display().to_string();
        let add = ["worktree", "add", "--detach", "--force", &path, &checkout.commit];
        git(&add).map_err(|why| BaseError::Checkout { reference: reference.to_owned(), why })?;
        Ok(checkout)
    }

    fn remove(&self) {
        // What is not there needs no removing, and what cannot be removed is replaced by the next run.
        let _ = std::fs::remove_dir_all(&self.worktree);
        let _ = process::run_apart(process::git().args(["worktree", "prune"]), LIMIT);
    }
}

impl Drop for BaseCheckout {
    fn drop(&mut self) {
        self.remove();
        drop(self.lock.take());
        if let Some(folder) = self.worktree.parent() {
            // Where another phase has files there, they stay.
            let _ = std::fs::remove_dir(folder);
        }
    }
}

/// What git prints, or why it failed.
fn git(args: &[&str]) -> Result<String, String> {
    let output = process::run(process::git().args(args), LIMIT).map_err(|error| error.to_string())?;
    match output {
        ProcessOutput { ending: ProcessExit::Completed, stdout, .. } => Ok(stdout.trim().to_owned()),
        ProcessOutput { ending: ProcessExit::NonZero(_), stderr, .. } if !stderr.trim().is_empty() => {
            Err(stderr.lines().last().unwrap_or_default().to_owned())
        }
        ProcessOutput { ending, .. } => Err(format!("git {ending}")),
    }
}
