//! Errors that end a whole build.

use std::io;
use std::path::PathBuf;

/// Why a build cannot start or continue.
#[derive(Debug, thiserror::Error)]
pub enum BuildError {
    /// nvcc was not found.
    #[error(
        "nvcc not found ({looked}); hint: install the CUDA toolkit, put its bin folder on PATH or into $CUDA_HOME, or name \
         the program in `[build] nvcc`"
    )]
    NotFound { looked: String },
    /// The file that was found does not work as nvcc.
    #[error("`{}` does not work as nvcc: {reason}", path.display())]
    Unusable { path: PathBuf, reason: String },
    /// nvcc could not be started.
    #[error("cannot start `{}`", path.display())]
    Start {
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// No compiler for kernels in Python was found.
    #[error(
        "cannot compile kernels in Python with `{}`: {reason}; hint: name a Python that has Triton 3.2 or later, numba-cuda or \
         nvidia-cutlass-dsl in `[build] python`",
        python.display()
    )]
    NoPythonCompiler { python: PathBuf, reason: String },
    /// The cache cannot be used.
    #[error("cannot write the build cache at `{}`; hint: name another folder in $NCUGATE_CACHE", path.display())]
    Cache {
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// No folder for a cache is known.
    #[error("no folder for the build cache; hint: set $NCUGATE_CACHE, $XDG_CACHE_HOME or $HOME")]
    NoCache,
    #[error(
        "`{text}` is not an architecture; allowed: `sm_` and a compute capability, such as `sm_90`, `sm_90a`, `sm_89`"
    )]
    Arch { text: String },
    /// Compiler threads could not be started.
    #[error("cannot start threads to compile in: {reason}")]
    Threads {
        /// The system's error.
        reason: String,
    },
    /// A result could not be stored.
    #[error("cannot store what was built")]
    Store(#[source] io::Error),
    /// The user asked to stop.
    #[error("interrupted while building")]
    Interrupted,
}
