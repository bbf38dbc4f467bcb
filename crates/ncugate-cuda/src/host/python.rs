//! A worker whose job has Python functions: an interpreter in the same process launches them.
//!
//! The interpreter is the shared library of the Python that the phase names. It starts as `python3 python_host.py` would, with
//! its packages and its virtual environment. Buffers, graphs, clocks and comparisons remain in this program. Both share one
//! context of the GPU, the primary one.

use super::worker::WorkError;
use crate::gpu::{DeviceError, FunctionCall, FunctionCaller, ResultCopy};
use crate::python_environment::{IMPORTER, PythonEnvironment, write_program};
use libloading::os::unix::{Library, RTLD_GLOBAL, RTLD_NOW, Symbol};
use ncugate_model::process;
use serde::Deserialize;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::ffi::{CStr, CString, OsStr, c_char, c_int};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// The program that imports functions and calls them.
const PROGRAM: (&str, &str) = ("python_host.py", include_str!("python_host.py"));
/// Prints the location of the interpreter's library.
const PROBE: &str = "import json, os, sys, sysconfig\n\
    v = sysconfig.get_config_var\n\
    n = [x for x in (v('INSTSONAME'), v('LDLIBRARY'), 'libpython%d.%d.so.1.0' % sys.version_info[:2]) if x and '.so' in x]\n\
    d = [x for x in (v('LIBDIR'), os.path.join(sys.base_prefix, 'lib'), v('LIBPL')) if x]\n\
    d += [os.path.join(x, v('MULTIARCH') or '') for x in d]\n\
    print(json.dumps({'python': sys.executable, 'libraries': [os.path.join(a, b) for a in d for b in n], 'names': n}))\n";
/// Starting takes a second on a cold disk.
const PROBE_LIMIT: Duration = Duration::from_secs(60);
/// Maximum size of a message from Python, in bytes.
const MESSAGE: usize = 8192;
/// Python's status if a requirement is missing on this machine.
const ABSENT: c_int = 2;

/// Calls back into Python. Each returns 0 or else a message.
#[derive(Debug, Clone, Copy)]
struct Callbacks {
    launch: LaunchCallback,
    graph: GraphCallback,
    software: SoftwareCallback,
}

type LaunchCallback =
    unsafe extern "C" fn(i32, i32, i32, *const u64, u64, *mut u64, *mut u64, *mut c_char, i32) -> c_int;
type GraphCallback = unsafe extern "C" fn(i32, *mut c_char, i32) -> c_int;
type SoftwareCallback = unsafe extern "C" fn(i32, *mut c_char, i32) -> c_int;
type BytesMain = unsafe extern "C" fn(c_int, *mut *mut c_char) -> c_int;

/// The work after the start of Python.
type Work = Box<dyn FnOnce(PythonFunctions)>;

thread_local! {
    /// The work of [`entry`]; the interpreter calls it on the thread that started it.
    static WORK: RefCell<Option<Work>> = const { RefCell::new(None) };
}

/// Functions of the interpreter in this process.
#[derive(Debug, Clone, Copy)]
pub(super) struct PythonFunctions(Callbacks);

#[derive(Deserialize)]
struct Interpreter {
    python: PathBuf,
    libraries: Vec<PathBuf>,
    names: Vec<String>,
}

/// Starts the interpreter of `python` on this thread for the job in `job`, imports the modules in `preload`, does `work`, and
/// exits the process, because interpreters and their libraries do not always survive finalization. The job is read on the first
/// call of a function.
///
/// # Errors
/// The interpreter cannot be started.
pub(super) fn run_in_python(
    python: &PythonEnvironment,
    job: &Path,
    preload: Option<&Path>,
    work: Work,
) -> Result<(), WorkError> {
    let failed = |reason: String| WorkError::Python { python: python.program.clone(), reason };
    let interpreter = find(&python.program).map_err(failed)?;
    let library = load(&interpreter).map_err(failed)?;
    // SAFETY: the symbol has had this type since Python 3.8.
    let main: Symbol<BytesMain> =
        unsafe { library.get(b"Py_BytesMain\0") }.map_err(|error| failed(format!("it is older than 3.8 ({error})")))?;
    let folder = job.with_extension("python");
    std::fs::create_dir_all(&folder)
        .and_then(|()| write_program(&folder, &[PROGRAM, IMPORTER]))
        .map_err(|error| failed(format!("cannot write {}: {error}", folder.display())))?;
    let program = folder.join(PROGRAM.0);
    let path = python.search_path().unwrap_or_default();
    WORK.with(|slot| slot.replace(Some(work)));
    let address = (entry as *const () as usize).to_string();
    let words = [interpreter.python.as_os_str(), program.as_os_str(), job.as_os_str(), OsStr::new(&address), &path];
    let words = words
        .into_iter()
        .chain(preload.map(Path::as_os_str))
        .map(|word| CString::new(word.as_bytes()))
        .collect::<Result<Vec<_>, _>>();
    let mut words: Vec<*mut c_char> =
        words.map_err(|_| failed("a path contains a NUL".to_owned()))?.into_iter().map(CString::into_raw).collect();
    // SAFETY: as C's `main` is called; the words live as long as the process.
    let status = unsafe { main(words.len() as c_int, words.as_mut_ptr()) };
    Err(failed(format!("it exited with status {status} before the job was done")))
}

/// The interpreter's callback.
extern "C" fn entry(launch: LaunchCallback, graph: GraphCallback, software: SoftwareCallback) -> c_int {
    if let Some(work) = WORK.with(RefCell::take) {
        work(PythonFunctions(Callbacks { launch, graph, software }));
    }
    0
}

fn find(python: &Path) -> Result<Interpreter, String> {
    let path = which::which(python).map_err(|_| "it was not found".to_owned())?;
    let mut command = Command::new(&path);
    command.args(["-c", PROBE]);
    let output = process::run(&mut command, PROBE_LIMIT).map_err(|error| format!("it does not start ({error})"))?;
    let found: Interpreter =
        serde_json::from_str(&output.stdout).map_err(|_| format!("it {} without printing its path", output.ending))?;
    // A virtual environment is found by the requested path.
    Ok(Interpreter { python: if found.python.as_os_str().is_empty() { path } else { found.python.clone() }, ..found })
}

fn load(interpreter: &Interpreter) -> Result<Library, String> {
    let there = interpreter.libraries.iter().filter(|path| path.is_file());
    let names = there.map(|path| path.as_os_str().to_owned()).chain(interpreter.names.iter().map(Into::into));
    let mut reasons = Vec::new();
    for name in names {
        // SAFETY: initialising Python's library has no preconditions. Extension modules look for its symbols globally.
        match unsafe { Library::open(Some(&name), RTLD_NOW | RTLD_GLOBAL) } {
            Ok(library) => return Ok(library),
            Err(error) => reasons.push(error.to_string()),
        }
    }
    let name = interpreter.names.first().cloned().unwrap_or_else(|| "libpython3".to_owned());
    let why = reasons.last().map_or_else(String::new, |reason| format!(": {reason}"));
    Err(format!(
        "it has no shared library {name}{why}; install it (Debian: the package libpython3.N), or set `python` under [build] to a Python built with --enable-shared"
    ))
}

impl PythonFunctions {
    /// Versions of the software that a function uses, once it is imported.
    pub(super) fn software(&self, function: usize) -> Result<BTreeMap<String, String>, DeviceError> {
        let number = i32::try_from(function).unwrap_or(i32::MAX);
        // SAFETY: Python's callback writes at most `capacity` bytes to the message.
        let text = answer(|message, capacity| unsafe { (self.0.software)(number, message, capacity) })?;
        serde_json::from_str(&text).map_err(|error| DeviceError::Function(format!("its versions are unknown: {error}")))
    }
}

impl FunctionCaller for PythonFunctions {
    fn call(&self, call: &FunctionCall<'_>) -> Result<Vec<ResultCopy>, DeviceError> {
        let (mut places, mut sizes) = (vec![0_u64; call.words.len()], vec![0_u64; call.words.len()]);
        let count = i32::try_from(call.words.len()).unwrap_or(i32::MAX);
        let (function, shape) = (call.function.cast_signed(), call.shape.cast_signed());
        // SAFETY: Python's callback reads `count` addresses, writes as many places and sizes, and at most `capacity` bytes to
        // the message.
        answer(|message, capacity| unsafe {
            let (from, places, sizes) = (call.words.as_ptr(), places.as_mut_ptr(), sizes.as_mut_ptr());
            (self.0.launch)(function, shape, count, from, call.stream, places, sizes, message, capacity)
        })?;
        let copies = places.iter().zip(&sizes).zip(call.words).filter(|((from, _), _)| **from != 0);
        Ok(copies.map(|((&from, &bytes), &to)| ResultCopy { from, to, bytes: bytes as usize }).collect())
    }

    fn begin_graph(&self) -> Result<(), DeviceError> {
        // SAFETY: as in `software`.
        answer(|message, capacity| unsafe { (self.0.graph)(1, message, capacity) }).map(drop)
    }

    fn end_graph(&self) -> Result<(), DeviceError> {
        // SAFETY: as in `software`.
        answer(|message, capacity| unsafe { (self.0.graph)(0, message, capacity) }).map(drop)
    }
}

/// Python's answer, or why it failed.
fn answer(ask: impl FnOnce(*mut c_char, i32) -> c_int) -> Result<String, DeviceError> {
    let mut message = vec![0_u8; MESSAGE];
    let status = ask(message.as_mut_ptr().cast(), MESSAGE as i32);
    let text = CStr::from_bytes_until_nul(&message).map(|text| text.to_string_lossy().into_owned()).unwrap_or_default();
    match status {
        0 => Ok(text),
        ABSENT => Err(DeviceError::Absent(text)),
        _ => Err(DeviceError::Function(text)),
    }
}
