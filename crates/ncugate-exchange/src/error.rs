//! Why a problem does not become a phase.

use std::io;
use std::path::PathBuf;

/// Why a problem does not become a phase.
#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    /// A file cannot be read.
    #[error("cannot read {}", path.display())]
    Read {
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A file is not what its format says.
    #[error("{}: {what}", path.display())]
    Format { path: PathBuf, what: String },
    /// The problem has something that a phase cannot express, or does not say what a phase needs.
    #[error("{problem}: {what}")]
    Unmapped { problem: String, what: String },
    /// The Python that parses files cannot be used.
    #[error("cannot parse {} with `{python}`: {what}", path.display())]
    Python { path: PathBuf, python: String, what: String },
    /// What would be written is there already.
    #[error("{} is there already: remove it, or name another file with --output", .0.display())]
    Exists(PathBuf),
    /// A file cannot be written.
    #[error("cannot write {}", path.display())]
    Write {
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The text of the phase cannot be made.
    #[error("the phase cannot be written as TOML")]
    Toml(#[from] toml::ser::Error),
}

/// Why a run is not handed on.
#[derive(Debug, thiserror::Error)]
#[error("run {run} is not exported: {why}")]
pub struct ExportRefusal {
    /// The run's id.
    pub run: String,
    pub why: String,
}

impl ImportError {
    /// An error about the content of a file.
    pub(super) fn format(path: impl Into<PathBuf>, what: impl Into<String>) -> Self {
        Self::Format { path: path.into(), what: what.into() }
    }

    /// An error about something without a counterpart.
    pub(super) fn unmapped(problem: impl Into<String>, what: impl Into<String>) -> Self {
        Self::Unmapped { problem: problem.into(), what: what.into() }
    }
}
