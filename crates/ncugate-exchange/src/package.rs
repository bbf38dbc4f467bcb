//! The Python package `ncugate`, in which the formats of other projects are.

use ncugate_model::process::{self, ProcessExit};
use std::ffi::OsString;
use std::io;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

/// Calls `main` of a module. The working directory, which may be a checkout, is no place to import from.
const PROGRAM: &str = "\
import sys
sys.path[:] = [folder for folder in sys.path if folder]
import importlib
try:
    main = importlib.import_module(sys.argv[1]).main
except ModuleNotFoundError as error:
    print(f'{error} in {sys.executable}; hint: pip install ncugate', file=sys.stderr)
    sys.exit(3)
sys.exit(main(sys.argv[2:]))
";
/// An export of many runs judges each of them.
const LIMIT: Duration = Duration::from_secs(3600);

/// What a module printed.
#[derive(Debug)]
pub struct PackageOutput {
    pub stdout: String,
    /// Notes.
    pub stderr: String,
}

/// Why a module of the package has no result.
#[derive(Debug, thiserror::Error)]
pub enum PackageError {
    #[error("cannot run `{}`, which has to have the Python package ncugate: {source}", python.display())]
    Python { python: PathBuf, source: io::Error },
    #[error("{message}")]
    Refused {
        message: String,
        /// Its exit status; `None` if it crashed.
        status: Option<u8>,
    },
}

/// Runs `main` of a module with arguments.
///
/// # Errors
/// Python or the package is missing, or the module refuses.
pub fn run_package(module: &str, arguments: &[OsString]) -> Result<PackageOutput, PackageError> {
    let python = interpreter();
    let failed = |source| PackageError::Python { python: python.clone(), source };
    let mut command = Command::new(&python);
    command.args(["-c", PROGRAM, module]).args(arguments).env("PYTHONUTF8", "1");
    command.env("NCUGATE_BINARY", std::env::current_exe().map_err(failed)?);
    let output = process::run_whole(&mut command, LIMIT).map_err(failed)?;
    let said = output.stderr.trim();
    let message = said.strip_prefix("error: ").unwrap_or(said).to_owned();
    match output.ending {
        ProcessExit::Completed => Ok(PackageOutput { stdout: output.stdout, stderr: output.stderr }),
        // Python ends with 1 after an error that nothing catches.
        ProcessExit::NonZero(status) if status != 1 => {
            Err(PackageError::Refused { message, status: u8::try_from(status).ok() })
        }
        ending => {
            Err(PackageError::Refused { message: format!("`{}` {ending}\n{message}", python.display()), status: None })
        }
    }
}

/// The Python of the virtual environment that holds this program, else the one on PATH.
fn interpreter() -> PathBuf {
    let program = std::env::current_exe().ok();
    let scripts = program.as_deref().and_then(|program| program.parent());
    let own =
        scripts.filter(|scripts| scripts.with_file_name("pyvenv.cfg").is_file()).map(|scripts| scripts.join("python3"));
    own.filter(|python| python.is_file()).unwrap_or_else(|| PathBuf::from("python3"))
}
