//! Runs the binary in its own folder and collects its status and output as one text.

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::{Mutex, mpsc};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// The repository's root with configs, kernels and recordings.
pub fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

pub fn binary() -> &'static Path {
    Path::new(env!("CARGO_BIN_EXE_ncugate"))
}

/// A command with its complete standard input and a time limit.
#[derive(Debug)]
pub struct Program {
    command: Command,
    input: Vec<u8>,
    limit: Option<Duration>,
}

impl Program {
    pub fn new(program: impl AsRef<OsStr>) -> Self {
        Self { command: Command::new(program), input: Vec::new(), limit: None }
    }

    pub fn arg(&mut self, arg: impl AsRef<OsStr>) -> &mut Self {
        self.args([arg])
    }

    pub fn args<A: AsRef<OsStr>>(&mut self, args: impl IntoIterator<Item = A>) -> &mut Self {
        self.command.args(args);
        self
    }

    pub fn env(&mut self, name: impl AsRef<OsStr>, value: impl AsRef<OsStr>) -> &mut Self {
        self.envs([(name, value)])
    }

    pub fn envs<N: AsRef<OsStr>, V: AsRef<OsStr>>(&mut self, variables: impl IntoIterator<Item = (N, V)>) -> &mut Self {
        self.command.envs(variables);
        self
    }

    pub fn env_remove(&mut self, name: &str) -> &mut Self {
        self.command.env_remove(name);
        self
    }

    pub fn current_dir(&mut self, folder: impl AsRef<Path>) -> &mut Self {
        self.command.current_dir(folder);
        self
    }

    pub fn write_stdin(&mut self, input: impl Into<Vec<u8>>) -> &mut Self {
        self.input = input.into();
        self
    }

    /// Kills the command after this time; its status is then a signal.
    pub fn timeout(&mut self, limit: Duration) -> &mut Self {
        self.limit = Some(limit);
        self
    }

    pub fn output(&mut self) -> std::io::Result<Output> {
        let mut child = self.command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
        let (mut stdin, input) = (child.stdin.take().unwrap(), std::mem::take(&mut self.input));
        // a program that ends before it has read everything breaks the pipe
        std::thread::spawn(move || drop(stdin.write_all(&input)));
        let (ended, waiting) = mpsc::channel::<()>();
        let pid = Pid::from_raw(child.id().cast_signed());
        if let Some(limit) = self.limit {
            std::thread::spawn(move || {
                if waiting.recv_timeout(limit) == Err(mpsc::RecvTimeoutError::Timeout) {
                    kill(pid, Signal::SIGKILL).unwrap();
                }
            });
        }
        let output = child.wait_with_output();
        drop(ended);
        output
    }
}

/// A folder for one test, and the binary to run there.
pub struct Place {
    folder: TempDir,
}

impl Place {
    pub fn new() -> Self {
        let place = Self { folder: tempfile::tempdir().unwrap() };
        // phases in subfolders resolve paths from this root
        place.write("ncugate.toml", "");
        // phases made from tests/data/copy.toml name this file
        place.write("copy.cu", "");
        place
    }

    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Writes a file and returns its path.
    pub fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.folder.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, text).unwrap();
        path
    }

    /// Writes an executable file and returns its path.
    pub fn write_program(&self, name: &str, text: &str) -> PathBuf {
        let path = self.folder.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        ncugate_fixtures::write_program(&path, text);
        path
    }

    /// The binary in this folder, without the GPU, the tools and the caches of the machine.
    pub fn ncugate(&self, args: &[&str]) -> Program {
        self.program(binary(), args)
    }

    /// A module of the Python package, which calls the binary.
    pub fn python(&self, module: &str, args: &[&str]) -> Program {
        self.program(Path::new("python3"), &[&["-m", module], args].concat())
    }

    fn program(&self, program: &Path, args: &[&str]) -> Program {
        let mut command = Program::new(program);
        command
            .args(args)
            .env("NCUGATE_BINARY", binary())
            .current_dir(self.folder.path())
            .env("NCUGATE_CACHE", self.folder.path().join("cache"))
            // the Python package of the checkout
            .env("PYTHONPATH", root().join("python"))
            .env("NCUGATE_LOCKS", self.folder.path())
            .env("XDG_STATE_HOME", self.folder.path().join("state"))
            .env("CUDA_VISIBLE_DEVICES", "")
            .env_remove("GITHUB_ACTIONS")
            .env_remove("GITHUB_STEP_SUMMARY")
            .env("NO_COLOR", "1");
        command
    }

    /// Runs it and returns status, standard output and standard error.
    pub fn run(&self, args: &[&str]) -> Finished {
        Finished::of(&mut self.ncugate(args))
    }

    /// The program as an agent calls a tool.
    pub fn agent_call(&self, tool: &str, arguments: &serde_json::Value) -> Program {
        let mut command = self.ncugate(&["agent", "call", tool]);
        command.write_stdin(arguments.to_string());
        command
    }

    pub fn call(&self, tool: &str, arguments: &serde_json::Value) -> Finished {
        Finished::of(&mut self.agent_call(tool, arguments))
    }

    /// Runs it at the root of the repository and writes reports to this folder.
    pub fn run_at_root(&self, args: &[&str]) -> Finished {
        let reports = self.folder.path().join("reports");
        Finished::of(self.ncugate(args).current_dir(root()).arg("--reports").arg(reports))
    }

    /// Copies a file or folder of the repository here, under the same path.
    pub fn copy(&self, path: &str) {
        copy(&root().join(path), &self.folder.path().join(path));
    }
}

fn copy(from: &Path, to: &Path) {
    if from.is_dir() {
        std::fs::create_dir_all(to).unwrap();
        for entry in std::fs::read_dir(from).unwrap() {
            let name = entry.unwrap().file_name();
            copy(&from.join(&name), &to.join(&name));
        }
    } else {
        std::fs::create_dir_all(to.parent().unwrap()).unwrap();
        std::fs::copy(from, to).unwrap();
    }
}

/// Writes a shared object of `tests/doubles` to `path`. All tests share one compilation.
pub fn write_double(source: &'static str, path: &Path) {
    static COMPILED: Mutex<BTreeMap<&str, Vec<u8>>> = Mutex::new(BTreeMap::new());
    let compile = || {
        let object = tempfile::NamedTempFile::new().unwrap();
        let mut compiler = Command::new("cc");
        compiler.args(["-shared", "-fPIC", "-w", "-o"]).arg(object.path());
        compiler.arg(root().join("tests/doubles").join(source)).arg("-ldl");
        assert!(compiler.status().unwrap().success(), "{source}");
        std::fs::read(object.path()).unwrap()
    };
    std::fs::write(path, COMPILED.lock().unwrap().entry(source).or_insert_with(compile)).unwrap();
}

/// Whether there is a Python for the package; its absence fails in CI.
pub fn has_python() -> bool {
    let found = Program::new("python3").arg("--version").output().is_ok_and(|output| output.status.success());
    assert!(found || std::env::var_os("CI").is_none(), "python3 is needed in CI");
    found
}

/// Status and output of a run of the binary.
#[derive(Debug)]
pub struct Finished {
    pub status: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

impl Finished {
    pub fn of(command: &mut Program) -> Self {
        let output = command.output().unwrap();
        Self {
            status: output.status.code(),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }
}

/// Time limit for programs that should end without help.
pub const SOON: Duration = Duration::from_secs(15);

/// Waits until `done`, for at most [`SOON`].
pub fn wait_for(what: &str, mut done: impl FnMut() -> bool) {
    let started = Instant::now();
    while !done() {
        assert!(started.elapsed() < SOON, "{what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Whether a program that a test needs is installed. CI must have it.
pub fn is_here(program: &str) -> bool {
    let found = which::which(program).is_ok();
    assert!(found || std::env::var_os("CI").is_none(), "CI has to have {program}");
    if !found {
        println!("left out: {program} is not here");
    }
    found
}
