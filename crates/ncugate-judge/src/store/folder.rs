//! The folder of a run: a new one has a name that no other run has, and one process at a time writes to it.

use super::{Manifest, StoreError};
use ncugate_model::disk::{FileLock, LockAttempt};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// The file in a run's folder that says who writes.
const LOCK: &str = "run.lock";
/// Runs of a phase that may start in the same second.
const SAME_SECOND: u32 = 1000;

/// Makes the folder of a new run under `profiles`, and numbers the run where one has its name.
///
/// # Errors
/// The folder cannot be made.
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

/// Makes this process the one that writes the run in `folder`, until what is given back is dropped.
///
/// # Errors
/// [`StoreError::HeldBy`] where another process writes it; or the folder cannot be written.
pub(super) fn claim(folder: &Path) -> Result<FileLock, StoreError> {
    let path = folder.join(LOCK);
    match FileLock::take(&path) {
        Ok(LockAttempt::Acquired(lock)) => Ok(lock),
        Ok(LockAttempt::HeldBy(owner)) => Err(StoreError::Held { folder: folder.to_owned(), owner: Box::new(owner) }),
        Err(source) => Err(StoreError::Write { path, source }),
    }
}
