//! Handling of Ctrl-C, TERM and HUP for commands with child processes.

use crate::exit::Outcome;
use ncugate_model::process::{self, InterruptCount};
use nix::libc;
use nix::sys::signal::{SaFlags, SigAction, SigHandler, SigSet, Signal, sigaction, signal};
use std::process::Command;

/// From now on the first such signal terminates the children and lets the command keep its records; the second terminates the
/// program. If the program is killed, a guard terminates its children.
pub fn watch() {
    if let Ok(program) = std::env::current_exe() {
        // Without a guard, children outlive a killed parent; nothing else changes.
        let _ = process::start_guard(Command::new(program).arg("guard"));
    }
    // A handler is already installed; a second one would do the same.
    let _ = ctrlc::set_handler(|| match process::interrupt() {
        InterruptCount::Once => {}
        InterruptCount::Again => end(),
    });
}

/// From now on a file that exceeds the user's limit (`ulimit -f`) is a write error, like a full disk, and does not terminate the
/// program.
pub fn refuse_large_files() {
    // SAFETY: no handler is installed that could run at a bad moment; the signal is ignored.
    let ignored = unsafe { signal(Signal::SIGXFSZ, SigHandler::SigIgn) };
    // This cannot fail for a signal that can be ignored; if it did, the program would end as before.
    let _ = ignored;
}

/// The message if a mapped file was shortened.
const SHORTENED: &str = "error: a report was overwritten or shortened while it was read, or its disk failed; run again when nothing writes it\n";

/// From now on, if another process shortens a mapped report, the program ends with a message and status 3 instead of SIGBUS.
pub fn explain_shortened_files() {
    let explain = SigAction::new(SigHandler::Handler(say_shortened), SaFlags::empty(), SigSet::empty());
    // SAFETY: the handler calls nothing but write and _exit, which are async-signal-safe, and does not return.
    let installed = unsafe { sigaction(Signal::SIGBUS, &explain) };
    // This cannot fail for a signal that can be handled; if it did, the program would end as before.
    let _ = installed;
}

extern "C" fn say_shortened(_: i32) {
    // SAFETY: the bytes are static and the length is correct; a failed write has no effect.
    let _ = unsafe { libc::write(libc::STDERR_FILENO, SHORTENED.as_ptr().cast(), SHORTENED.len()) };
    // SAFETY: it terminates the process at once, without destructors that could access the map again.
    unsafe { libc::_exit(i32::from(Outcome::Environment.status())) }
}

#[allow(clippy::exit, reason = "a second Ctrl-C ends the program at once")]
fn end() {
    process::kill_all();
    std::process::exit(i32::from(Outcome::Environment.status()));
}
