//! Errors that end a whole build.

use std::io;
use std::path::PathBuf;

/// Why a build cannot start or continue.
#[derive(Debug, thiserror::Error)]
pub enum BuildError {
    /// nvcc was not found.
    #[error(
        "nvcc not found ({looked}); hint: install the CUDA toolkit, add its bin folder to PATH, set $CUDA_HOME, or set `nvcc` under [build]"
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
        "cannot compile Python kernels with `{}`: {reason}; hint: set `python` under [build] to a Python with Triton 3.2 or later, numba-cuda or nvidia-cutlass-dsl",
        python.display()
    )]
    NoPythonCompiler { python: PathBuf, reason: String },
    /// The Python of a reference was not found.
    #[error("`{}` not found; hint: install Python, or set `python` under [build]", python.display())]
    NoPython { python: PathBuf },
    /// A program of a toolchain is missing.
    #[error("`toolchains.{key}`: {cause}")]
    Toolchain { key: String, cause: Box<Self> },
    /// Several tools are missing.
    #[error("{}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))]
    Several(Vec<Self>),
    /// The module of a kernel in Python cannot be imported.
    #[error("importing `{}` failed: {reason}", path.display())]
    PythonImport { path: PathBuf, reason: String },
    /// A Python package has no headers.
    #[error(
        "`{}` has no headers of `{package}`, which `include` under [build] names: {reason}; hint: install the package there, or set `python` under [build] to a Python that has it",
        python.display()
    )]
    NoHeaders { python: PathBuf, package: String, reason: String },
    /// The cache cannot be used.
    #[error("cannot write the build cache at `{}`; hint: set $NCUGATE_CACHE to another folder", path.display())]
    Cache {
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// No folder for a cache is known.
    #[error("no folder for the build cache; hint: set $NCUGATE_CACHE, $XDG_CACHE_HOME or $HOME")]
    NoCache,
    #[error(
        "`{text}` is not an architecture; hint: write `sm_` and a compute capability, such as `sm_90`, `sm_90a` or `sm_89`"
    )]
    Arch { text: String },
    /// Compiler threads could not be started.
    #[error("cannot start compiler threads: {reason}")]
    Threads {
        /// The system's error.
        reason: String,
    },
    /// A result could not be stored.
    #[error("cannot store a build")]
    Store(#[source] io::Error),
    /// The user asked to stop.
    #[error("interrupted during the build")]
    Interrupted,
}

/// Why there is no machine code of a variant.
#[derive(Debug)]
pub enum CompileFault {
    /// It is at fault itself: the message says why.
    OfVariant(String),
    Build(BuildError),
}

impl CompileFault {
    /// The messages about a variant apart from errors that end the build.
    pub(super) fn apart<T>(attempt: Result<T, Self>) -> Result<Result<T, String>, BuildError> {
        match attempt {
            Ok(made) => Ok(Ok(made)),
            Err(Self::OfVariant(message)) => Ok(Err(message)),
            Err(Self::Build(error)) => Err(error),
        }
    }
}

impl From<String> for CompileFault {
    fn from(message: String) -> Self {
        Self::OfVariant(message)
    }
}

impl From<BuildError> for CompileFault {
    fn from(error: BuildError) -> Self {
        Self::Build(error)
    }
}

impl BuildError {
    /// The same about a program of a toolchain, if it is one.
    pub(super) fn of_toolchain(self, name: Option<&str>, program: &str) -> Self {
        match name {
            Some(name) if !matches!(self, Self::Interrupted) => {
                Self::Toolchain { key: format!("{name}.{program}"), cause: Box::new(self) }
            }
            Some(_) | None => self,
        }
    }
}
