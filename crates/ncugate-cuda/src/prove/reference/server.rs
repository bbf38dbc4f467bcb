//! Interpreters that import the file of a reference or check once, and answer each call in a forked process.
//!
//! No call can influence another: a process that has seen outputs of a candidate ends with its call. A file that cannot be
//! imported so, or whose server is gone, is imported by a fresh interpreter for every call; that call reports the reason.

use super::program::{IMPORTED, private_folder};
use crate::python_environment::{PythonEnvironment, write_program};
use ncugate_model::process::{self, ProcessExit, ProcessOutput, VISIBLE_GPUS};
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::env;
use std::io::{self, BufRead, BufReader, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::{UnixListener, UnixStream};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// The server's program.
const SERVER: (&str, &str) = ("ncugate_reference_server.py", include_str!("reference_server.py"));
/// Interval at which a waiting caller checks for an interrupt.
const LOOK: Duration = Duration::from_millis(50);

/// The servers that this process started or was given.
static SERVERS: Mutex<Vec<(ReferenceServer, Option<Child>)>> = Mutex::new(Vec::new());

/// An interpreter that has imported a file, or is importing it. It ends with the process that started it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReferenceServer {
    python: PythonEnvironment,
    file: PathBuf,
    /// Path of the socket that takes requests.
    socket: PathBuf,
}

/// The end of a call.
#[derive(Deserialize)]
struct Reply {
    /// Exit status, or minus the signal.
    status: i32,
    stdout: String,
    stderr: String,
}

/// Uses the servers of the process that started this one.
pub fn adopt(servers: &[ReferenceServer]) {
    let mut known = SERVERS.lock().unwrap_or_else(PoisonError::into_inner);
    known.extend(servers.iter().map(|server| (server.clone(), None)));
}

/// The server of a file, started with the first call; `None` if it cannot be started.
pub fn serve(python: &PythonEnvironment, file: &Path) -> Option<ReferenceServer> {
    let mut known = SERVERS.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((server, _)) = known.iter().find(|(server, _)| server.python == *python && server.file == file) {
        return Some(server.clone());
    }
    let (server, child) = start(python, file).ok()?;
    known.push((server.clone(), Some(child)));
    Some(server)
}

fn start(python: &PythonEnvironment, file: &Path) -> io::Result<(ReferenceServer, Child)> {
    let folder = private_folder()?.keep();
    let socket = folder.join("socket");
    let listener = UnixListener::bind(&socket)?;
    write_program(&folder, &[&[SERVER], IMPORTED].concat())?;
    let mut command = python.command();
    command.arg(folder.join(SERVER.0)).arg(file);
    // Its own group: an interrupt from the terminal is for the caller, which then closes its connection.
    command.process_group(0).stdin(Stdio::piped()).stdout(OwnedFd::from(listener)).stderr(Stdio::null());
    let child = command.spawn()?;
    Ok((ReferenceServer { python: python.clone(), file: file.to_owned(), socket }, child))
}

/// Forgets a server that has crashed, so that the next call starts another.
fn forget(crashed: &ReferenceServer) {
    let mut known = SERVERS.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(at) = known.iter().position(|(server, _)| server == crashed)
        && let (_, Some(mut child)) = known.swap_remove(at)
    {
        // A server that is still ending stays a zombie until this process ends.
        let _ = child.try_wait();
        crashed.remove_folder();
    }
}

/// Ends the servers that this process started. They also end with the process; then a server that is still importing leaves its
/// folder.
pub fn dismiss() {
    for (server, child) in SERVERS.lock().unwrap_or_else(PoisonError::into_inner).drain(..) {
        if child.is_some() {
            server.remove_folder();
        }
    }
}

impl ReferenceServer {
    fn remove_folder(&self) {
        // Leftovers stay in the system's temporary folder.
        let _ = self.socket.parent().map(std::fs::remove_dir_all);
    }
}

/// Calls a function of a file on the request in `folder`; `None` if a fresh interpreter has to be started for it.
///
/// # Errors
/// The connection breaks in another way than by the end of the server.
pub fn call(
    python: &PythonEnvironment,
    (file, function): (&Path, &str),
    folder: &Path,
    limit: Duration,
) -> io::Result<Option<ProcessOutput>> {
    let deadline = Instant::now() + limit;
    let Some(server) = serve(python, file) else { return Ok(None) };
    let mut connection = match UnixStream::connect(&server.socket) {
        Ok(connection) => connection,
        Err(error) => {
            // A server that exits removes its socket.
            if error.kind() == io::ErrorKind::ConnectionRefused {
                forget(&server);
            }
            return Ok(None);
        }
    };
    let request = json!({
        "call": folder,
        "function": function,
        "folder": env::current_dir()?,
        "gpus": process::shown_gpu().or_else(|| env::var(VISIBLE_GPUS).ok()),
    });
    if connection.write_all(format!("{request}\n").as_bytes()).is_err() {
        return Ok(None);
    }
    connection.set_read_timeout(Some(LOOK))?;
    let mut reader = BufReader::new(connection);
    let mut line = Vec::new();
    let ended = |ending| Ok(Some(ProcessOutput { ending, stdout: String::new(), stderr: String::new() }));
    loop {
        // Closing the connection ends the call.
        if process::interrupted() {
            return ended(ProcessExit::Interrupted);
        }
        if Instant::now() >= deadline {
            return ended(ProcessExit::TimedOut);
        }
        match reader.read_until(b'\n', &mut line) {
            Ok(_) => break,
            Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut) => {}
            Err(error) if error.kind() == io::ErrorKind::ConnectionReset => return Ok(None),
            Err(error) => return Err(error),
        }
    }
    // Without a whole reply the server has exited, or was killed together with the call.
    let Ok(Reply { status, stdout, stderr }) = serde_json::from_slice(&line) else { return Ok(None) };
    let ending = match status {
        0 => ProcessExit::Completed,
        1.. => ProcessExit::NonZero(status),
        ..0 => ProcessExit::Signaled(-status),
    };
    Ok(Some(ProcessOutput { ending, stdout, stderr }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gpu::fixtures::buffer;
    use crate::prove::expected::ExpectedOutput;
    use crate::prove::fixtures::shape;
    use crate::prove::reference::program::{outputs, verdicts};
    use crate::prove::shape::ShapeSpec;
    use ncugate_fixtures::write_program;
    use ncugate_model::{Dtype, Role};
    use ncugate_phase::config::{ProgramKind, ReferenceProgram};
    use std::process::Command;
    use tempfile::TempDir;

    /// A folder with a Python file, and a Python that counts its starts; `None` without NumPy.
    struct Place {
        folder: TempDir,
        python: PythonEnvironment,
    }

    impl Place {
        fn new(text: &str) -> Option<Self> {
            let given = env::var_os("NCUGATE_ORACLE_PYTHON").map(PathBuf::from);
            let has_numpy = |python: &PathBuf| {
                let ran = Command::new(python).args(["-c", "import numpy"]).output();
                ran.is_ok_and(|output| output.status.success())
            };
            let Some(python) = given.into_iter().chain([PathBuf::from("python3")]).find(has_numpy) else {
                println!("no Python here has NumPy: references are not called");
                return None;
            };
            let folder = tempfile::tempdir().unwrap();
            let starts = folder.path().join("starts");
            let shim = folder.path().join("python");
            write_program(
                &shim,
                &format!("#!/bin/sh\necho start >> {}\nexec {} \"$@\"\n", starts.display(), python.display()),
            );
            std::fs::write(folder.path().join("ref.py"), text).unwrap();
            Some(Self { folder, python: PythonEnvironment { program: shim, folders: Vec::new() } })
        }

        fn program(&self, function: &str, timeout_s: u32) -> ReferenceProgram {
            let program =
                ProgramKind::Python { file: self.folder.path().join("ref.py"), function: function.to_owned() };
            ReferenceProgram { program, timeout_s, params: Vec::new() }
        }

        /// The answer of a function to these inputs.
        fn answer(&self, function: &str, x: [f64; 2]) -> Result<Vec<f64>, String> {
            let found =
                outputs(&self.program(function, 20), (&self.python, &[]), &spec(), 0, &[x.to_vec(), Vec::new()]);
            found.map(|mut outputs| outputs.remove(0).values).map_err(|error| error.to_string())
        }

        fn starts(&self) -> usize {
            std::fs::read_to_string(self.folder.path().join("starts")).unwrap().lines().count()
        }

        fn text(&self, name: &str) -> String {
            std::fs::read_to_string(self.folder.path().join(name)).unwrap()
        }
    }

    fn spec() -> ShapeSpec {
        shape(vec![buffer("x", Dtype::F32, &[2], Role::Input), buffer("y", Dtype::F32, &[2], Role::Output)])
    }

    const COUNTING: &str = r#"
import os
import random
import signal
import time

import numpy as np

CALLS = []


def counted(x):
    CALLS.append(x)
    return x + len(CALLS)


def random_numbers(x):
    return np.array([random.random(), np.random.random()])


def failing(x):
    if x[0] == 1:
        raise ValueError("no answer to one")
    if x[0] == 2:
        os.kill(os.getpid(), signal.SIGSEGV)
    if x[0] == 3:
        print("it gives up")
        raise SystemExit(7)
    if x[0] == 4:
        open(os.path.join(os.path.dirname(__file__), "pid"), "w").write(str(os.getpid()))
        time.sleep(60)
    return x


def judged(outputs, expected):
    CALLS.append(outputs)
    outputs["y"][:] = expected["y"][:] = 0
    return f"{len(CALLS)} calls"
"#;

    #[test]
    fn a_file_is_imported_once_and_no_call_sees_another() {
        let Some(place) = Place::new(COUNTING) else { return };
        for _ in 0..3 {
            assert_eq!(place.answer("counted", [1.0, 2.0]).unwrap(), [2.0, 3.0]);
        }
        let expected = [ExpectedOutput { buffer: 1, values: vec![2.0, 3.0] }];
        let said = verdicts(
            &place.program("judged", 20),
            &place.python,
            &spec(),
            &[vec![1.0, 2.0], Vec::new()],
            (&expected, &[expected.to_vec()]),
        );
        assert_eq!(said.unwrap(), ["1 calls"]);
        assert_eq!(place.answer("counted", [1.0, 2.0]).unwrap(), [2.0, 3.0], "after a check of outputs");
        let random: Vec<_> = (0..2).map(|_| place.answer("random_numbers", [0.0; 2]).unwrap()).collect();
        assert!(random[0][0] != random[1][0] && random[0][1] != random[1][1], "seeded again: {random:?}");
        assert_eq!(place.starts(), 1);
    }

    #[test]
    fn a_failure_fails_its_call_alone() {
        let Some(place) = Place::new(COUNTING) else { return };
        let failed = |first| place.answer("failing", [first, 0.0]).unwrap_err();
        let error = failed(1.0);
        assert!(error.contains("exited with status 1:\nTraceback") && error.ends_with("no answer to one"), "{error}");
        assert!(failed(2.0).ends_with("was killed by SIGSEGV"));
        assert!(failed(3.0).ends_with("exited with status 7:\nit gives up"));
        assert!(place.answer("absent", [0.0; 2]).unwrap_err().contains("has no function `absent`; it has counted"));
        let hung =
            outputs(&place.program("failing", 2), (&place.python, &[]), &spec(), 0, &[vec![4.0, 0.0], Vec::new()]);
        assert!(hung.unwrap_err().to_string().contains("exceeded its time limit"));
        assert_eq!(place.answer("failing", [0.0, 5.0]).unwrap(), [0.0, 5.0]);
        assert_eq!(place.starts(), 1);
        let process = PathBuf::from("/proc").join(place.text("pid"));
        let until = Instant::now() + Duration::from_secs(10);
        while process.exists() && Instant::now() < until {
            std::thread::sleep(LOOK);
        }
        assert!(!process.exists(), "the process of the call that hung");
    }

    #[test]
    fn a_server_that_is_killed_is_replaced() {
        let text = format!(
            "{COUNTING}\nopen(os.path.join(os.path.dirname(__file__), \"server\"), \"w\").write(str(os.getpid()))\n"
        );
        let Some(place) = Place::new(&text) else { return };
        place.answer("counted", [0.0; 2]).unwrap();
        let server = nix::unistd::Pid::from_raw(place.text("server").parse().unwrap());
        nix::sys::signal::kill(server, nix::sys::signal::Signal::SIGKILL).unwrap();
        // The first call can start an interpreter for itself; a later one has another server.
        for _ in 0..4 {
            assert_eq!(place.answer("counted", [0.0; 2]).unwrap(), [1.0, 1.0]);
        }
        assert_ne!(place.text("server"), server.to_string());
        assert!(place.starts() <= 4, "{}", place.starts());
    }

    #[test]
    fn a_file_whose_import_a_copy_would_share_is_imported_by_every_call() {
        let imports = [
            "threading.Thread(target=time.sleep, args=(60,), daemon=True).start()",
            "FILE = open(__file__)",
            "SHARED = mmap.mmap(-1, 4096)",
            "GENERATOR = np.random.default_rng()",
            "np.random.seed(3)",
            "raise OSError(\"no such weights\")",
        ];
        for import in imports {
            let Some(place) = Place::new(&format!("import mmap\nimport threading\n{COUNTING}\n{import}\n")) else {
                return;
            };
            for _ in 0..2 {
                match place.answer("counted", [0.0; 2]) {
                    Ok(values) => assert_eq!(values, [1.0, 1.0], "{import}"),
                    Err(error) => assert!(import.starts_with("raise") && error.ends_with("no such weights"), "{error}"),
                }
            }
            assert_eq!(place.starts(), 3, "one attempt to share it, and two calls: {import}");
        }
        let Some(place) = Place::new(COUNTING) else { return };
        std::fs::write(place.folder.path().join("socket.py"), "").unwrap();
        place.answer("counted", [0.0; 2]).unwrap();
        assert_eq!(place.starts(), 2, "the file could import its own module `socket`");
    }
}
