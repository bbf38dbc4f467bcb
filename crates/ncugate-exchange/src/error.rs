//! Errors of imports and exports.

use std::io;
use std::path::PathBuf;

/// Why a problem cannot become a phase.
#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    /// A file cannot be read.
    #[error("cannot read {}", path.display())]
    Read {
        path: PathBuf,
        /// The I/O error.
        source: io::Error,
    },
    /// A file does not match its format.
    #[error("{}: {what}", path.display())]
    Format { path: PathBuf, what: String },
    /// The problem has something that a phase cannot express, or omits something that a phase needs.
    #[error("{problem}: {what}")]
    Unmapped { problem: String, what: String },
    /// The Python that parses files cannot be used.
    #[error("cannot parse {} with `{python}`: {what}", path.display())]
    Python { path: PathBuf, python: String, what: String },
    /// The target already exists.
    #[error("{} already exists; remove it, or choose another file with --output", .0.display())]
    Exists(PathBuf),
    /// A file cannot be written.
    #[error("cannot write {}", path.display())]
    Write {
        path: PathBuf,
        /// The I/O error.
        source: io::Error,
    },
    /// The phase cannot be serialised.
    #[error("cannot write the phase as TOML")]
    Toml(#[from] toml::ser::Error),
}

/// Why a run cannot be exported.
#[derive(Debug, thiserror::Error)]
#[error("cannot export run {run}: {why}")]
pub struct ExportRefusal {
    /// The run's id.
    pub run: String,
    pub why: String,
}

impl ImportError {
    /// An error in the content of a file.
    pub(super) fn format(path: impl Into<PathBuf>, what: impl Into<String>) -> Self {
        Self::Format { path: path.into(), what: what.into() }
    }

    /// An error about a part without a counterpart.
    pub(super) fn unmapped(problem: impl Into<String>, what: impl Into<String>) -> Self {
        Self::Unmapped { problem: problem.into(), what: what.into() }
    }
}
