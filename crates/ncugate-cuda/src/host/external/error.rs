//! Why a program could not be asked.

use crate::host::supervisor::SinkError;
use std::io;
use std::path::PathBuf;

/// Why a program could not be asked; whatever the program itself does is a result, not an error.
#[derive(Debug, thiserror::Error)]
pub enum ExternalError {
    /// The request cannot be written, or the folder not used.
    #[error("cannot write request {}", path.display())]
    Request { path: PathBuf, source: io::Error },
    /// The workload has no output, so there is nothing to ask for.
    #[error("the workload has no output buffer; give one `role = \"output\"`")]
    NoOutput,
    /// The user asked to stop.
    #[error("interrupted")]
    Interrupted,
    /// What was measured could not be kept.
    #[error("cannot keep what was measured")]
    Sink(#[source] SinkError),
}
