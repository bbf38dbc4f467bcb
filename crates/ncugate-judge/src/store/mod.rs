//! A run on disk, in `profiles/<phase>/<run>/`: the interface between measuring and judging.
//!
//! Records are appended line by line, so that measurements survive a crash. A recording is a run kept in the
//! repository: the same files, compressed, without host names, addresses and paths.

mod ablations;
mod continuation;
mod coverage;
mod destination;
mod folder;
#[cfg(test)]
#[path = "form/tests.rs"]
mod form;
pub mod inputs;
mod journal;
mod judgement_cache;
mod ledger;
mod listing;
mod manifest;
mod merge;
mod phase_file;
mod recording;
mod records;
mod report_file;
mod reports;
mod run;
mod seal;
mod search_journal;
mod settings;
mod source_text;

pub use ablations::{ablations, keep_ablations};
pub use continuation::{Continuation, ResumedRun, complete, unfinished};
pub use coverage::lacks;
pub use folder::new_folder;
use inputs::changed_between;
pub use journal::Journal;
pub use judgement_cache::JudgementCache;
pub use listing::{ListedRun, list};
pub use manifest::{
    Fingerprint, Git, Machine, Manifest, MergedShard, Resumption, RunState, RunVerdict, Seal, SealedFile, ShardOf,
};
pub use merge::{MergeChoice, MergeError, MergedRun, merge};
pub use phase_file::PhaseFile;
pub use recording::{absolute_paths, record};
pub use report_file::{is_report_name, prove_report};
pub use reports::{open_report, open_reports};
pub use run::{JournalRecord, Run, RunForm, RunWriter, SCHEMA, newest, runs, runs_of_phase};
pub use seal::seal;
pub use search_journal::{SearchJournal, forget_search, take_search};
pub use settings::settings;
pub use source_text::{is_commit, source_text};

use ncugate_model::disk::{self, Durability, LockOwner};
use ncugate_model::number::finite;
use run::SHOWN;
use serde::Serialize;
use std::path::{Path, PathBuf};

/// Maximum size of a run's `manifest.json` in bytes.
pub const MANIFEST: u64 = 64 << 20;

/// Errors when writing or reading a run.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    #[error("cannot write {path}: {source}; earlier records are kept: free disk space or fix the permission, then run again to continue", path = .path.display())]
    Write { path: PathBuf, source: std::io::Error },
    #[error("cannot read {path}: {source}", path = .path.display())]
    Read { path: PathBuf, source: std::io::Error },
    /// A value has no JSON form.
    #[error("cannot encode a record of {path}: {reason}", path = .path.display())]
    Encode { path: PathBuf, reason: String },
    /// A line does not parse.
    #[error("{path}:{line} is not a record of this program: {reason}", path = .path.display())]
    Record { path: PathBuf, line: usize, reason: String },
    /// A folder is not a run.
    #[error("{folder} is not a run: it has no {missing}", folder = .folder.display())]
    NotARun { folder: PathBuf, missing: &'static str },
    /// Another version wrote the run, in a form with another number.
    /// `version`: the version that wrote it.
    /// `expected`: the forms that this program reads: `1 to 3`.
    #[error("{folder} was written by ncugate {version} in form {found}, and this program reads forms {expected}; read it with that version, or measure again", folder = .folder.display())]
    Schema { folder: PathBuf, version: String, found: u32, expected: String },
    /// Another version wrote the run, in a form with the same number.
    /// `version`: the version that wrote it.
    /// `detail`: what is unlike the form of this program.
    #[error("{folder} was written by another build of ncugate {version}, in a form that this program does not read ({detail}); read it with the program that wrote it, or measure again", folder = .folder.display())]
    Form { folder: PathBuf, version: String, detail: String },
    /// A compressed file is larger than any run's file when unpacked.
    /// `limit`: the limit in bytes.
    #[error("{path} unpacks to more than {limit} bytes", path = .path.display())]
    TooLarge { path: PathBuf, limit: u64 },
    /// The name of a run or phase in a manifest is not a valid folder name.
    /// `key`: `run` or `phase`.
    #[error("{path} says that the {key} is {name:?}, which is not a name of letters, digits and `_ . - + =`", path = .path.display())]
    Name { path: PathBuf, key: &'static str, name: String },
    /// The folder of a run belongs to another run.
    #[error("{folder} holds run '{run}': the folder of a run has its name; rename it, or keep the run with `ncugate tools record`", folder = .folder.display())]
    Misplaced { folder: PathBuf, run: String },
    /// A record names a report that is not a file of the run.
    #[error("{path} has the report {name:?}: the name of a report is one file name that ends in .ncu-rep or .ncu-repz", path = .path.display())]
    ReportName { path: PathBuf, name: String },
    /// A file differs from the one in the run's seal.
    #[error("{path} {reason}: the run is not as measured; restore it or measure again", path = .path.display())]
    Seal { path: PathBuf, reason: String },
    /// Another process writes the run.
    #[error("{folder} is being written by {owner}; wait for it, or stop it", folder = .folder.display())]
    Held { folder: PathBuf, owner: Box<LockOwner> },
    /// Another process took the run over.
    #[error("{folder} was taken over by another process after five minutes without a heartbeat of this one; nothing more is written", folder = .folder.display())]
    Lost { folder: PathBuf },
    /// The folder is not a valid destination for a recording.
    /// `folder`: the folder as given by the user.
    #[error("cannot record into {folder}: {reason}; name a folder that is new, empty or a recording", folder = .folder.display())]
    Destination { folder: PathBuf, reason: String },
    /// The commit of a run does not hold the files that were measured.
    #[error(
        "cannot record run {run}: it was measured from files that differ from commit {commit}; commit them and run again"
    )]
    Uncommitted { run: String, commit: String },
    /// The embedded recording cannot be written there.
    #[error("{path} already exists with other content; name another folder", path = .path.display())]
    Occupied { path: PathBuf },
    /// An ncu report of the run cannot be read or redacted.
    #[error("cannot use report {path}: {reason}", path = .path.display())]
    Report { path: PathBuf, reason: String },
}

impl StoreError {
    /// A run in a form that this program does not read.
    fn form(folder: &Path, version: &str, detail: String) -> Self {
        Self::Form { folder: folder.to_owned(), version: version.chars().take(SHOWN).collect(), detail }
    }
}

/// Writes a file completely or not at all; creates its folder.
pub fn replace(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    disk::replace(path, bytes, Durability::Synced)
}

/// [`replace`] for a file of a run.
pub fn write_atomically(path: &Path, bytes: &[u8]) -> Result<(), StoreError> {
    replace(path, bytes).map_err(|source| StoreError::Write { path: path.to_owned(), source })
}

/// Writes a value as indented JSON, atomically.
pub fn write_json(path: &Path, value: &impl Serialize) -> Result<(), StoreError> {
    write_atomically(path, &json(path, value)?)
}

/// A value as indented JSON, for `path`.
fn json(path: &Path, value: &impl Serialize) -> Result<Vec<u8>, StoreError> {
    let encode = |reason: String| StoreError::Encode { path: path.to_owned(), reason };
    finite::check(value).map_err(|e| encode(e.to_string()))?;
    let mut bytes = serde_json::to_vec_pretty(value).map_err(|e| encode(e.to_string()))?;
    bytes.push(b'\n');
    Ok(bytes)
}
