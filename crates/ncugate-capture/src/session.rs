//! Runs the program with the library, and answers which kernels are wanted.

use crate::CaptureError;
use globset::GlobMatcher;
use ncugate_model::process::{ProcessExit, SupervisedChild};
use ncugate_model::{KernelName, demangled, nearest};
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::io::{ErrorKind, Read as _, Write as _};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

/// The library, as the build script compiled it.
const LIBRARY: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/capture.so"));
/// Interval at which messages are looked for. A program sends one for each kernel.
const LOOK: Duration = Duration::from_millis(1);
/// How long a process that sends a message may take.
const PATIENCE: Duration = Duration::from_secs(5);
/// Maximum length of the folder of the socket, whose path the system limits to 107 bytes.
const LONGEST_FOLDER: usize = 60;
/// Names that an error lists.
const MOST_NAMES: usize = 8;

/// What the program is run for.
#[derive(Debug, Clone, Copy)]
pub enum Purpose<'a> {
    /// All kernels with their times.
    Listing,
    /// One launch of a kernel that matches.
    Launch {
        pattern: &'a str,
        matcher: &'a GlobMatcher,
        /// Its number among these launches of a process, from 0.
        launch: u64,
        max_bytes: u64,
        /// The folder in which `whole` appears.
        folder: &'a Path,
    },
}

/// How often a kernel was launched, and for how long.
#[derive(Debug, Default, Clone, Copy, PartialEq)]
pub struct KernelUse {
    pub launches: u64,
    /// Launches with a time: those outside of CUDA graphs.
    pub timed: u64,
    /// Their sum.
    pub milliseconds: f64,
    /// Their median, in the process with the most of them.
    pub median: f64,
    /// Launches of this process with a time.
    most_timed: u64,
}

/// What a program did.
#[derive(Debug)]
pub struct CaptureSession {
    /// Launched kernels by symbol; used ones with their times, if they were listed.
    pub kernels: BTreeMap<String, KernelUse>,
    refusals: BTreeSet<String>,
    exit: ProcessExit,
}

impl CaptureSession {
    /// Runs a program to its end, or until the user interrupts it; `captured` is called with a symbol once its launch is copied.
    ///
    /// # Errors
    /// It cannot be started.
    pub fn run(command: &mut Command, purpose: Purpose<'_>, captured: &dyn Fn(&str)) -> Result<Self, CaptureError> {
        let base = Some(std::env::temp_dir()).filter(|folder| folder.as_os_str().len() <= LONGEST_FOLDER);
        let base = base.unwrap_or_else(|| "/tmp".into());
        let folder = tempfile::Builder::new().prefix("ncugate-capture-").tempdir_in(&base);
        let folder = folder.map_err(CaptureError::file(base))?;
        let (library, socket) = (folder.path().join("capture.so"), folder.path().join("socket"));
        std::fs::write(&library, LIBRARY).map_err(CaptureError::file(&library))?;
        let listener = UnixListener::bind(&socket).map_err(CaptureError::file(&socket))?;
        listener.set_nonblocking(true).map_err(CaptureError::file(&socket))?;
        let program = command.get_program().to_string_lossy().into_owned();
        let preload = [Some(library.into_os_string()), std::env::var_os("LD_PRELOAD").filter(|own| !own.is_empty())];
        let preload: Vec<OsString> = preload.into_iter().flatten().collect();
        command.stdin(Stdio::inherit()).env("LD_PRELOAD", preload.join(OsStr::new(":")));
        command.env("NCUGATE_CAPTURE", folder.path()).env_remove("NCUGATE_CAPTURE_LAUNCH");
        if let Purpose::Launch { launch, max_bytes, folder: data, .. } = purpose {
            command
                .env("NCUGATE_CAPTURE_LAUNCH", launch.to_string())
                .env("NCUGATE_CAPTURE_BYTES", max_bytes.to_string());
            let link = folder.path().join("data");
            std::os::unix::fs::symlink(data, &link).map_err(CaptureError::file(link))?;
        }
        let started = SupervisedChild::spawn(command, None);
        let mut child = started.map_err(|source| CaptureError::Start { program: program.clone(), source })?;
        let mut session = Self { kernels: BTreeMap::new(), refusals: BTreeSet::new(), exit: ProcessExit::Completed };
        loop {
            let ended = child.poll().map_err(CaptureError::file(&program))?;
            while let Ok((stream, _)) = listener.accept() {
                // A process that ends meanwhile gets no answer.
                let _ = session.answer(stream, purpose, captured);
            }
            if let Some(exit) = ended {
                session.exit = exit;
                return Ok(session);
            }
            std::thread::sleep(LOOK);
        }
    }

    fn answer(&mut self, mut stream: UnixStream, purpose: Purpose<'_>, captured: &dyn Fn(&str)) -> std::io::Result<()> {
        stream.set_nonblocking(false)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        let mut message = Vec::new();
        stream.read_to_end(&mut message)?;
        let message = String::from_utf8_lossy(&message);
        let (verb, rest) = message.split_once(' ').ok_or(ErrorKind::InvalidData)?;
        let mut answer = b'1';
        match verb {
            "match" => {
                self.kernels.entry(rest.to_owned()).or_default();
                answer = if purpose.wants(rest) { b'1' } else { b'0' };
            }
            "skipped" => drop(self.refusals.insert(rest.to_owned())),
            "refused" => {
                self.refusals.insert(rest.to_owned());
                // A disk may be full, and the program needs it.
                let _ = purpose.folder().map(|folder| std::fs::remove_dir_all(folder.join("part")));
            }
            "captured" => captured(rest),
            "listed" => self.add(rest).ok_or(ErrorKind::InvalidData)?,
            _ => return Err(ErrorKind::InvalidData.into()),
        }
        stream.write_all(&[answer])
    }

    fn add(&mut self, text: &str) -> Option<()> {
        let mut fields = text.splitn(5, ' ');
        let (launches, timed) = (fields.next()?.parse::<u64>().ok()?, fields.next()?.parse::<u64>().ok()?);
        let (milliseconds, median) = (fields.next()?.parse::<f64>().ok()?, fields.next()?.parse::<f64>().ok()?);
        let kernel = self.kernels.entry(fields.next()?.to_owned()).or_default();
        kernel.launches += launches;
        kernel.timed += timed;
        kernel.milliseconds += milliseconds;
        if timed > kernel.most_timed {
            (kernel.median, kernel.most_timed) = (median, timed);
        }
        Some(())
    }

    /// How the program ended, if it was not with status 0.
    pub fn failure(&self) -> Option<String> {
        (!self.exit.completed()).then(|| self.exit.to_string())
    }

    /// Whether there is what the program was run for.
    ///
    /// # Errors
    /// No launch was captured, or listed.
    pub fn prove(&self, command: &Command, purpose: Purpose<'_>) -> Result<(), CaptureError> {
        if purpose.folder().is_some_and(|folder| folder.join("whole").exists()) {
            return Ok(());
        }
        if self.kernels.is_empty() {
            return Err(CaptureError::NoLaunch {
                program: command.get_program().display().to_string(),
                exit: self.exit.to_string(),
            });
        }
        let Purpose::Launch { pattern, launch, folder, .. } = purpose else { return Ok(()) };
        if folder.join("part").exists() {
            return Err(CaptureError::Ended { exit: self.exit.to_string() });
        }
        if let Some(reason) = self.refusals.first() {
            let (kernel, reason) = reason.split_once(": ").unwrap_or(("", reason));
            return Err(CaptureError::Refused(format!("`{}`: {reason}", demangled(kernel))));
        }
        let wanted = self.kernels.keys().filter(|kernel| purpose.wants(kernel));
        let kernels: Vec<String> = wanted.map(|kernel| format!("`{}`", demangled(kernel))).collect();
        if kernels.is_empty() {
            let names = self.kernels.keys().map(|kernel| KernelName::parse(kernel).function().to_owned());
            return Err(CaptureError::NoMatch {
                pattern: pattern.to_owned(),
                nearest: by_likeness(pattern, names.collect()),
            });
        }
        Err(CaptureError::TooFew { kernels, launch })
    }
}

impl<'a> Purpose<'a> {
    const fn folder(self) -> Option<&'a Path> {
        let Self::Launch { folder, .. } = self else { return None };
        Some(folder)
    }

    /// Whether a kernel is wanted: by its symbol, its function or its whole signature.
    fn wants(&self, symbol: &str) -> bool {
        let Self::Launch { matcher, .. } = self else { return true };
        let signature = demangled(symbol);
        matcher.is_match(symbol)
            || matcher.is_match(&signature)
            || matcher.is_match(KernelName::parse(symbol).function())
    }
}

/// The names, most similar first.
fn by_likeness(pattern: &str, mut names: BTreeSet<String>) -> Vec<String> {
    let word = pattern.trim_matches('*');
    let mut sorted = Vec::new();
    while let Some(name) = nearest(word, names.iter().map(String::as_str)).map(str::to_owned) {
        names.remove(&name);
        sorted.push(format!("`{name}`"));
    }
    sorted.extend(names.iter().map(|name| format!("`{name}`")));
    sorted.truncate(MOST_NAMES);
    sorted
}

#[cfg(test)]
mod tests {
    use super::by_likeness;

    #[test]
    fn the_most_similar_names_come_first() {
        let names = ["copy", "softmax_fwd", "zero"].map(str::to_owned);
        assert_eq!(by_likeness("softmax*", names.into()), ["`softmax_fwd`", "`copy`", "`zero`"]);
    }
}
