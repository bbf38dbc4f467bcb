//! The destination of a recording: a folder that does not exist yet, is empty, or holds only an older recording. Any
//! other file in it belongs to someone else and is kept.

use super::{MANIFEST, StoreError, is_report_name};
use ncugate_model::disk::open;
use serde::Deserialize;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::{fs, io};

/// Files of a recording, in addition to its reports.
const FILES: [&str; 13] = [
    "manifest.json",
    "phase.toml",
    "plan.json.zst",
    "workload.json.zst",
    "builds.jsonl.zst",
    "checks.jsonl.zst",
    "latencies.jsonl.zst",
    "confirmations.jsonl.zst",
    "profiles.jsonl.zst",
    "deep_profiles.jsonl.zst",
    "sanitizer.jsonl.zst",
    "ablations.jsonl.zst",
    "bitwise.jsonl.zst",
];
/// The folder of its reports.
const REPORTS: &str = "reports";

/// A folder that can become a recording.
#[derive(Debug)]
pub struct Destination {
    /// Path without links and dots.
    folder: PathBuf,
    /// The parent folder, likewise.
    parent: PathBuf,
    name: OsString,
}

impl Destination {
    /// Checks `folder` as destination for a recording of the run in `run`; paths are relative to `here`.
    ///
    /// # Errors
    /// It contains files other than a recording, or overlaps with the run, or is or contains `here`.
    pub fn new(folder: &Path, run: &Path, here: &Path) -> Result<Self, StoreError> {
        let refused = |reason: String| StoreError::Destination { folder: folder.to_owned(), reason };
        let found = resolve(&here.join(folder)).map_err(refused)?;
        let whole = |path: &Path| path.canonicalize().map_err(|e| refused(format!("{}: {e}", path.display())));
        let (run, here) = (whole(&here.join(run))?, whole(here)?);
        if here.starts_with(&found.folder) {
            return Err(refused("it is the working directory, or contains it".to_owned()));
        }
        if run.starts_with(&found.folder) || found.folder.starts_with(&run) {
            return Err(refused("it is the run to record, contains it, or lies in it".to_owned()));
        }
        if found.folder.exists() {
            contents(&found.folder).and_then(|files| recorded(&found.folder, &files)).map_err(refused)?;
        }
        Ok(found)
    }

    /// Creates an empty folder next to it, with an unused name.
    pub fn draft(&self) -> Result<PathBuf, StoreError> {
        let failed = |path: &Path| {
            let path = path.to_owned();
            move |source| StoreError::Write { path, source }
        };
        fs::create_dir_all(&self.parent).map_err(failed(&self.parent))?;
        for draft in self.siblings("draft") {
            match fs::create_dir(&draft) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                made => return made.map(|()| draft.clone()).map_err(failed(&draft)),
            }
        }
        Err(failed(&self.parent)(io::Error::other("no name for a draft is free")))
    }

    /// Moves a draft into place; an older recording is removed afterwards.
    pub fn take(&self, draft: &Path) -> Result<(), StoreError> {
        let failed = |source| StoreError::Write { path: self.folder.clone(), source };
        if !self.folder.exists() {
            return fs::rename(draft, &self.folder).map_err(failed);
        }
        let old = self.siblings("old").find(|path| fs::symlink_metadata(path).is_err());
        let old = old.ok_or_else(|| failed(io::Error::other("no name for the older recording is free")))?;
        fs::rename(&self.folder, &old).map_err(failed)?;
        if let Err(error) = fs::rename(draft, &self.folder) {
            // The older recording is kept; the first error is reported.
            let _ = fs::rename(&old, &self.folder);
            return Err(failed(error));
        }
        remove(&old).map_err(|source| StoreError::Write { path: old, source })
    }

    /// Hidden names next to it.
    fn siblings(&self, what: &str) -> impl Iterator<Item = PathBuf> {
        let stem = format!(".{}.{}", self.name.to_string_lossy(), std::process::id());
        (0..100).map(move |n| self.parent.join(format!("{stem}-{n}.{what}")))
    }
}

/// Removes a recording or a partial draft file by file; only files that a recording can contain.
pub fn remove(folder: &Path) -> io::Result<()> {
    let files = contents(folder).map_err(io::Error::other)?;
    files.iter().try_for_each(|name| fs::remove_file(folder.join(name)))?;
    match fs::remove_dir(folder.join(REPORTS)) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        Ok(()) | Err(_) => fs::remove_dir(folder),
    }
}

/// The folder without links and dots, whether or not it exists.
fn resolve(folder: &Path) -> Result<Destination, String> {
    if fs::symlink_metadata(folder).is_ok_and(|about| about.is_symlink()) {
        return Err("it is a link; name the folder itself".to_owned());
    }
    let folder = real(folder)?;
    match (folder.parent(), folder.file_name()) {
        (Some(parent), Some(name)) => {
            Ok(Destination { parent: parent.to_owned(), name: name.to_owned(), folder: folder.clone() })
        }
        _ => Err("its path does not end in a name".to_owned()),
    }
}

fn real(folder: &Path) -> Result<PathBuf, String> {
    match folder.canonicalize() {
        Ok(real) => Ok(real),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let name = folder.file_name().ok_or("it leads through a folder that does not exist")?;
            Ok(real(folder.parent().unwrap_or(Path::new("/")))?.join(name))
        }
        Err(error) => Err(error.to_string()),
    }
}

/// Files of a folder that may be removed, relative to it. The error names a file that no recording has.
fn contents(folder: &Path) -> Result<Vec<PathBuf>, String> {
    let mut files = Vec::new();
    for (name, kind) in entries(folder)? {
        if name == REPORTS && kind.is_dir() {
            for (report, kind) in entries(&folder.join(REPORTS))? {
                if !kind.is_file() || !report.to_str().is_some_and(is_report_name) {
                    return Err(foreign(&Path::new(REPORTS).join(report)));
                }
                files.push(Path::new(REPORTS).join(report));
            }
        } else if kind.is_file() && FILES.iter().any(|known| name == *known) {
            files.push(PathBuf::from(name));
        } else {
            return Err(foreign(Path::new(&name)));
        }
    }
    Ok(files)
}

fn foreign(name: &Path) -> String {
    format!("it holds {name:?}, which is not part of a recording")
}

fn entries(folder: &Path) -> Result<Vec<(OsString, fs::FileType)>, String> {
    let listed = fs::read_dir(folder).and_then(|entries| {
        entries.map(|entry| entry.and_then(|e| Ok((e.file_name(), e.file_type()?)))).collect::<io::Result<Vec<_>>>()
    });
    listed.map_err(|error| error.to_string())
}

/// Whether a folder with these files is empty or a recording.
fn recorded(folder: &Path, files: &[PathBuf]) -> Result<(), String> {
    #[derive(Deserialize)]
    struct ManifestHead {
        redacted: bool,
    }
    if files.is_empty() {
        return Ok(());
    }
    let name = folder.join("manifest.json");
    let text = open::bytes(&name, MANIFEST).map_err(|e| format!("it is not a recording: manifest.json: {e}"))?;
    match serde_json::from_slice::<ManifestHead>(&text) {
        Ok(ManifestHead { redacted: true }) => Ok(()),
        Ok(ManifestHead { redacted: false }) => Err("it is a run, not a recording".to_owned()),
        Err(error) => Err(format!("it is not a recording: manifest.json: {error}")),
    }
}
