//! Why there is no base to measure.

use std::io;
use std::path::PathBuf;

/// Why there is no base to measure.
#[derive(Debug, thiserror::Error)]
pub enum BaseError {
    #[error("--base takes a git repository: {why}")]
    NoRepository { why: String },
    #[error(
        "--base {reference}: there is no such commit here; hint: git fetch it (in CI: check out with the whole history)"
    )]
    NoCommit {
        /// What was asked for.
        reference: String,
    },
    #[error(
        "--base {reference}: it has no commit in common with what is checked out; hint: a shallow clone lacks it (in CI: check out with the whole history)"
    )]
    NothingInCommon {
        /// What was asked for.
        reference: String,
    },
    /// Its files cannot be written.
    #[error("--base {reference}: its files cannot be checked out: {why}")]
    Checkout {
        /// What was asked for.
        reference: String,
        why: String,
    },
    /// The folder for its files cannot be made.
    #[error("cannot keep the files of the base in {}: {source}", path.display())]
    Folder {
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// Another run has its files.
    #[error("another run of this phase ({owner}) has the files of the base in {}; wait for it", path.display())]
    Held { path: PathBuf, owner: String },
    /// The phase cannot have a base.
    #[error("--base: the phase has a [base] already; runs write that table, remove it from the file")]
    Written,
    /// The text of the phase with its base does not read as what was meant.
    #[error("--base: the base cannot be written into the phase: {why}")]
    Form { why: String },
}
