//! References computed by a program: a function of a Python file, or a command. Inputs and outputs are NumPy files in
//! a folder that exists for one call.

use super::fit::BufferValues;
use super::server;
use crate::gpu::BufferSpec;
use crate::prove::expected::ExpectedOutput;
use crate::prove::shape::ShapeSpec;
use crate::python_environment::{IMPORTER, PythonEnvironment, write_program};
use ncugate_array::npy::{NpyError, read, write};
use ncugate_model::Role;
use ncugate_model::expr::Value as Parameter;
use ncugate_model::process::{self, ProcessExit, ProcessOutput};
use ncugate_phase::config::{ProgramKind, ReferenceProgram};
use serde_json::{Map, Value, json};
use std::fs::Permissions;
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;
use tempfile::TempDir;

/// The program that calls a function of a Python file.
const RUNNER: (&str, &str) = ("ncugate_reference.py", include_str!("reference.py"));
/// The programs that it consists of; a server imports them too.
pub(super) const IMPORTED: &[(&str, &str)] = &[RUNNER, IMPORTER];
/// Lines of a program's output quoted in an error.
const LINES: usize = 12;

/// Why a program does not provide a reference.
#[derive(Debug, thiserror::Error)]
pub enum ProgramError {
    /// The input files cannot be written.
    #[error("cannot write the inputs of the reference to {}", folder.display())]
    Write {
        folder: PathBuf,
        /// The I/O error.
        source: io::Error,
    },
    #[error("cannot start the reference `{program}`")]
    Start {
        program: String,
        /// The I/O error.
        source: io::Error,
    },
    #[error("the reference `{program}` {ending}{}", said(.printed))]
    Failed {
        program: String,
        ending: ProcessExit,
        /// The end of its output.
        printed: String,
    },
    #[error("the check `{program}` gave no verdict on every set of outputs")]
    NoVerdict { program: String },
    /// An output is missing or has another form.
    #[error(transparent)]
    Output(#[from] NpyError),
}

fn said(printed: &str) -> String {
    if printed.is_empty() { String::new() } else { format!(":\n{printed}") }
}

/// The expected outputs of a shape; `python` calls a function of Python, which gets these values of parameters.
///
/// # Errors
/// The program cannot be run, fails, takes too long, or does not provide every output with its extents.
pub fn outputs(
    program: &ReferenceProgram,
    (python, params): (&PythonEnvironment, &[(String, Parameter)]),
    shape: &ShapeSpec,
    seed: u64,
    inputs: &BufferValues,
) -> Result<Vec<ExpectedOutput>, ProgramError> {
    let folder = CallFolder::make()?;
    let failed = |source| ProgramError::Write { folder: folder.path().to_owned(), source };
    folder.fill(shape, (seed, params), inputs).map_err(failed)?;
    call(program, python, folder.path())?;
    let outputs = shape.buffers.iter().enumerate().filter(|(_, buffer)| buffer.role.is_compared());
    let read = |(buffer, spec): (usize, &BufferSpec)| {
        let values = read(&folder.array("outputs", spec), spec.dtype, &spec.compared_extents())?;
        Ok(ExpectedOutput { buffer, values })
    };
    outputs.map(read).collect()
}

/// The verdict of a function of Python on each set of outputs: what is wrong with it, or an empty text. `inputs` has the values
/// of every buffer before the launch, and `expected` and `answers` those of each output by its index.
///
/// # Errors
/// The function cannot be called, takes too long, or does not return a text for every set.
pub fn verdicts(
    program: &ReferenceProgram,
    python: &PythonEnvironment,
    shape: &ShapeSpec,
    inputs: &BufferValues,
    (expected, answers): (&[ExpectedOutput], &[Vec<ExpectedOutput>]),
) -> Result<Vec<String>, ProgramError> {
    let folder = CallFolder::make()?;
    let failed = |source| ProgramError::Write { folder: folder.path().to_owned(), source };
    folder.fill(shape, (0, &[]), inputs).map_err(failed)?;
    let sets = std::iter::once(expected).chain(answers.iter().map(Vec::as_slice));
    for (number, set) in sets.enumerate() {
        let name = format!("answers/{number}");
        std::fs::create_dir_all(folder.path().join(&name)).map_err(failed)?;
        for output in set {
            let buffer = &shape.buffers[output.buffer];
            write(&folder.array(&name, buffer), &buffer.compared_extents(), &output.values).map_err(failed)?;
        }
    }
    std::fs::write(folder.path().join("answers/count"), answers.len().to_string()).map_err(failed)?;
    call(program, python, folder.path())?;
    let path = folder.path().join("verdicts.json");
    let said = std::fs::read(&path).ok().and_then(|text| serde_json::from_slice::<Vec<String>>(&text).ok());
    let name = program.program.to_string();
    said.filter(|said| said.len() == answers.len()).ok_or(ProgramError::NoVerdict { program: name })
}

fn call(program: &ReferenceProgram, python: &PythonEnvironment, folder: &Path) -> Result<(), ProgramError> {
    let name = program.program.to_string();
    let limit = Duration::from_secs(u64::from(program.timeout_s));
    let started = |source| ProgramError::Start { program: name.clone(), source };
    let mut command = match &program.program {
        ProgramKind::Python { file, function } => {
            if let Some(output) = server::call(python, (file, function), folder, limit).map_err(started)? {
                return completed(name, output);
            }
            write_program(folder, IMPORTED)
                .map_err(|source| ProgramError::Write { folder: folder.to_owned(), source })?;
            let mut command = python.command();
            command.arg(folder.join(RUNNER.0)).arg(folder).arg(file).arg(function);
            command
        }
        ProgramKind::Command { argv } => {
            let (program, arguments) = argv.split_first().map_or(("", &[][..]), |(p, a)| (p.as_str(), a));
            let mut command = Command::new(program);
            command.args(arguments).arg(folder);
            command
        }
    };
    let output = process::run(&mut command, limit).map_err(started)?;
    completed(name, output)
}

fn completed(program: String, output: ProcessOutput) -> Result<(), ProgramError> {
    if output.ending.completed() {
        return Ok(());
    }
    let printed = if output.stderr.trim().is_empty() { &output.stdout } else { &output.stderr };
    let lines: Vec<&str> = printed.trim_end().lines().collect();
    let printed = lines[lines.len().saturating_sub(LINES)..].join("\n");
    Err(ProgramError::Failed { program, ending: output.ending, printed })
}

/// Creates a temporary folder for this user alone.
pub(super) fn private_folder() -> io::Result<TempDir> {
    tempfile::Builder::new().prefix("ncugate-reference-").permissions(Permissions::from_mode(0o700)).tempdir()
}

/// A folder for one call, removed on drop.
struct CallFolder(TempDir);

impl CallFolder {
    fn make() -> Result<Self, ProgramError> {
        private_folder().map(Self).map_err(|source| ProgramError::Write { folder: std::env::temp_dir(), source })
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    fn fill(
        &self,
        shape: &ShapeSpec,
        (seed, params): (u64, &[(String, Parameter)]),
        inputs: &BufferValues,
    ) -> io::Result<()> {
        for folder in ["inputs", "outputs"] {
            std::fs::create_dir(self.path().join(folder))?;
        }
        let of_role =
            |wanted: fn(Role) -> bool| shape.buffers.iter().zip(inputs).filter(move |(buffer, _)| wanted(buffer.role));
        for (buffer, values) in of_role(Role::is_read) {
            write(&self.array("inputs", buffer), &buffer.extents, values)?;
        }
        let listed = |wanted: fn(Role) -> bool, extents: fn(&BufferSpec) -> Vec<usize>| -> Vec<Value> {
            let about = |b: &BufferSpec| json!({ "name": b.name, "extents": extents(b), "dtype": b.dtype });
            of_role(wanted).map(|(b, _)| about(b)).collect()
        };
        let dims: Map<String, Value> = shape.dims.iter().map(|(name, n)| (name.clone(), json!(n))).collect();
        let params: Map<String, Value> = params.iter().map(|(name, value)| (name.clone(), json!(value))).collect();
        let request = json!({
            "shape": shape.name,
            "seed": seed,
            "dims": dims,
            "scalars": shape.scalars,
            "params": params,
            "inputs": listed(Role::is_read, |buffer| buffer.extents.clone()),
            "outputs": listed(Role::is_compared, BufferSpec::compared_extents),
        });
        std::fs::write(self.path().join("request.json"), request.to_string())
    }

    fn array(&self, folder: &str, buffer: &BufferSpec) -> PathBuf {
        self.path().join(folder).join(format!("{}.npy", buffer.name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gpu::fixtures::buffer;
    use crate::prove::fixtures::shape;
    use ncugate_model::Dtype;

    fn program(program: ProgramKind) -> ReferenceProgram {
        ReferenceProgram { program, timeout_s: 20, params: Vec::new() }
    }

    fn doubled() -> ShapeSpec {
        shape(vec![buffer("x", Dtype::F32, &[3], Role::Input), buffer("y", Dtype::F32, &[3], Role::Output)])
    }

    #[test]
    fn the_folder_of_a_call_is_its_users_alone() {
        let (own, other) = (private_folder().unwrap(), private_folder().unwrap());
        assert_ne!(own.path(), other.path());
        assert_eq!(own.path().metadata().unwrap().permissions().mode() & 0o777, 0o700);
    }

    #[test]
    fn a_command_reads_and_writes_numpy_files() {
        let copy = ["sh", "-c", "cp \"$0/inputs/x.npy\" \"$0/outputs/y.npy\""].map(str::to_owned).to_vec();
        let found = outputs(
            &program(ProgramKind::Command { argv: copy }),
            (&PythonEnvironment::default(), &[]),
            &doubled(),
            0,
            &[vec![1.0, -0.5, 1e300], Vec::new()],
        );
        assert_eq!(found.unwrap(), [ExpectedOutput { buffer: 1, values: vec![1.0, -0.5, 1e300] }]);
    }

    #[test]
    fn what_fails_hangs_or_gives_nothing_is_an_error() {
        let run = |script: &str, timeout_s| {
            let argv = ["sh", "-c", script].map(str::to_owned).to_vec();
            let program = ReferenceProgram { timeout_s, ..program(ProgramKind::Command { argv }) };
            outputs(&program, (&PythonEnvironment::default(), &[]), &doubled(), 0, &[vec![0.0; 3], Vec::new()])
                .unwrap_err()
                .to_string()
        };
        assert!(run("echo broken >&2; exit 3", 20).ends_with("exited with status 3:\nbroken"));
        assert!(run("sleep 30", 1).contains("exceeded its time limit"));
        assert!(run("true", 20).contains("cannot read "));
        let gone = program(ProgramKind::Command { argv: vec!["/no/such/program".to_owned()] });
        assert!(matches!(
            outputs(&gone, (&PythonEnvironment::default(), &[]), &doubled(), 0, &[vec![0.0; 3], Vec::new()]),
            Err(ProgramError::Start { .. })
        ));
    }
}
