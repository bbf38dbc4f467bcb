//! A phase out of a running program: copies one kernel launch with its machine code, arguments and memory.
//!
//! [`CaptureSession`] runs the program with `capture.c`, which copies the launch to the files of a [`CaptureRecord`]. [`write_phase`] writes
//! the phase that replays it. Nothing here needs a GPU or CUDA.

mod code;
mod memory;
mod phase;
mod record;
mod session;

pub use phase::{CodePolicy, PhaseRequest, write_phase};
pub use record::CaptureRecord;
pub use session::{CaptureSession, KernelUse, Purpose};

use std::path::PathBuf;

/// Why a launch was not captured.
#[derive(Debug, thiserror::Error)]
pub enum CaptureError {
    /// A file cannot be read or written.
    #[error("{}: {source}", path.display())]
    File {
        path: PathBuf,
        /// The system's error.
        source: std::io::Error,
    },
    #[error("cannot start `{program}`: {source}")]
    Start {
        program: String,
        /// The system's error.
        source: std::io::Error,
    },
    /// The program launched no kernel that this library saw.
    #[error(
        "`{program}` launched no kernel through libcuda.so.1: it {exit}; a set-uid or statically linked program and one in a container cannot be captured from outside"
    )]
    NoLaunch {
        program: String,
        /// How it ended.
        exit: String,
    },
    #[error("no launched kernel matches `{pattern}`; nearest: {}", .nearest.join(", "))]
    NoMatch {
        pattern: String,
        /// Names of launched kernels, most similar first.
        nearest: Vec<String>,
    },
    /// The kernel was launched, but not this often.
    #[error("no process launched the kernels {} more than {launch} times; --launch counts from 0", .kernels.join(", "))]
    TooFew {
        /// The kernels that match.
        kernels: Vec<String>,
        launch: u64,
    },
    /// The launch uses something that is not captured.
    #[error("cannot capture {0}")]
    Refused(String),
    /// The program ended while its launch was copied.
    #[error("the program {exit} during the capture; nothing was kept")]
    Ended {
        /// How it ended.
        exit: String,
    },
    /// The files of the capture contradict each other.
    #[error("{}: {reason}; capture again", path.display())]
    Damaged { path: PathBuf, reason: String },
    #[error(
        "`{kernel}` is code of {library}, whose licence decides whether it may be copied; if it allows that, add --copy-code"
    )]
    Library { kernel: String, library: String },
    #[error(
        "the launch changed no memory that its arguments point to, so that any kernel would pass: its outputs had the answer already; choose another launch with --launch"
    )]
    Unchanged,
}

impl CaptureError {
    fn file(path: impl Into<PathBuf>) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.into();
        |source| Self::File { path, source }
    }

    /// Whether the command line is at fault.
    pub const fn is_usage(&self) -> bool {
        matches!(self, Self::Start { .. } | Self::NoMatch { .. } | Self::TooFew { .. } | Self::Library { .. })
    }
}
