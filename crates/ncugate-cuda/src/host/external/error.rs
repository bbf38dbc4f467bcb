//! Why an external program could not be asked to measure.

use crate::host::supervisor::SinkError;
use std::io;
use std::path::PathBuf;

/// Why an external program could not be asked to measure. Failures of the program itself are results, not errors.
#[derive(Debug, thiserror::Error)]
pub enum ExternalError {
    /// The request cannot be written, or the folder cannot be used.
    #[error("cannot write request {}", path.display())]
    Request { path: PathBuf, source: io::Error },
    /// The workload has no output to compare.
    #[error("the workload has no output buffer; give one `role = \"output\"`")]
    NoOutput,
    /// The user asked to stop.
    #[error("interrupted")]
    Interrupted,
    /// The measurements could not be stored.
    #[error("cannot store a measurement")]
    Sink(#[source] SinkError),
}
