//! Errors of rendering and writing a report.

use crate::chart::svg::DrawError;
use ncugate_model::number::finite::NotFinite;
use std::path::PathBuf;

/// A report that could not be rendered.
#[derive(Debug, thiserror::Error)]
pub enum RenderError {
    /// A template of the page failed.
    #[error("the page's template failed: {0:#}")]
    Template(#[from] minijinja::Error),
    /// A chart could not be drawn.
    #[error(transparent)]
    Chart(#[from] DrawError),
    /// A value could not be written as JSON.
    #[error("the results cannot be written as JSON: {0}")]
    Json(#[from] serde_json::Error),
    /// A value is not a number that JSON has.
    #[error("the results cannot be written as JSON: {0}")]
    NotFinite(#[from] NotFinite),
    /// The JUnit file could not be written.
    #[error("the JUnit report cannot be written: {0}")]
    Junit(#[from] quick_junit::SerializeError),
}

/// A report that could not be written to disk.
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    #[error(transparent)]
    Render(#[from] RenderError),
    /// The folder or a file in it cannot be written.
    #[error("cannot write '{path}': {source}; choose another folder or make this one writable")]
    Disk {
        path: PathBuf,
        /// Error of the system.
        source: std::io::Error,
    },
}
