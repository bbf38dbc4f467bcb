//! The folder of a run: a new one has a unique name, and one process at a time writes to it.

use super::{Manifest, StoreError};
use ncugate_model::disk::{FileLock, LockAttempt};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// The lock file in a run's folder, which identifies the writer.
const LOCK: &str = "run.lock";
/// Maximum number of runs of a phase that start in the same second.
const SAME_SECOND: u32 = 1000;

/// Creates the folder of a new run under `profiles`; adds a number to the run's name if it is taken.
///
/// # Errors
/// The folder cannot be created.
pub fn new_folder(profiles: &Path, manifest: &mut Manifest) -> Result<PathBuf, StoreError> {
    let phase = profiles.join(&manifest.phase);
    let failed = |path: &Path, source| StoreError::Write { path: path.to_owned(), source };
    std::fs::create_dir_all(&phase).map_err(|source| failed(&phase, source))?;
    let mut names = (2..SAME_SECOND).map(|number| format!("{}-{number}", manifest.run));
    let mut name = manifest.run.clone();
    loop {
        let folder = phase.join(&name);
        match std::fs::create_dir(&folder) {
            Ok(()) => {
                manifest.run = name;
                return Ok(folder);
            }
            Err(error) if error.kind() == ErrorKind::AlreadyExists => match names.next() {
                Some(next) => name = next,
                None => return Err(failed(&folder, error)),
            },
            Err(error) => return Err(failed(&folder, error)),
        }
    }
}

/// Locks the run in `folder` for this process until the returned lock is dropped.
///
/// # Errors
/// [`StoreError::HeldBy`] if another process writes the run, or the folder cannot be written.
pub(super) fn claim(folder: &Path) -> Result<FileLock, StoreError> {
    let path = folder.join(LOCK);
    match FileLock::take(&path) {
        Ok(LockAttempt::Acquired(lock)) => Ok(lock),
        Ok(LockAttempt::HeldBy(owner)) => Err(StoreError::Held { folder: folder.to_owned(), owner: Box::new(owner) }),
        Err(source) => Err(StoreError::Write { path, source }),
    }
}
