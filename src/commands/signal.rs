//! What Ctrl-C, TERM and HUP do to a command that has children.

use crate::exit::Outcome;
use ncugate_model::process::{self, InterruptCount};
use nix::libc;
use nix::sys::signal::{SaFlags, SigAction, SigHandler, SigSet, Signal, sigaction, signal};
use std::process::Command;

/// From here on the first such signal ends children and lets the command keep what it has; the second ends the program. When
/// the program is killed, a guard ends its children.
pub fn watch() {
    if let Ok(program) = std::env::current_exe() {
        // Without a guard children outlive a killed parent, and nothing else is different.
        let _ = process::start_guard(Command::new(program).arg("guard"));
    }
    // It is watched already: a second handler would do the same.
    let _ = ctrlc::set_handler(|| match process::interrupt() {
        InterruptCount::Once => {}
        InterruptCount::Again => end(),
    });
}

/// From here on a file that grows over the limit of its user (`ulimit -f`) is an error of the write, as a full disk is, and not the
/// end of the program.
pub fn refuse_large_files() {
    // SAFETY: no handler is installed that could run at a bad moment; the signal is ignored.
    let ignored = unsafe { signal(Signal::SIGXFSZ, SigHandler::SigIgn) };
    // It fails for no signal that can be ignored; then the program ends as before.
    let _ = ignored;
}

/// What is said where a mapped file is not there any more.
const SHORTENED: &str = "error: a report was overwritten or shortened while it was read, or its disk failed; run again when nothing writes it\n";

/// From here on a report that another process shortens while it is mapped ends the program with a message and status 3, not with
/// SIGBUS.
pub fn explain_shortened_files() {
    let explain = SigAction::new(SigHandler::Handler(say_shortened), SaFlags::empty(), SigSet::empty());
    // SAFETY: the handler calls nothing but write and _exit, which are async-signal-safe, and does not return.
    let installed = unsafe { sigaction(Signal::SIGBUS, &explain) };
    // It fails for no signal that can be handled; then the program ends as before.
    let _ = installed;
}

extern "C" fn say_shortened(_: i32) {
    // SAFETY: the bytes are static and their length is theirs; whether they could be written changes nothing.
    let _ = unsafe { libc::write(libc::STDERR_FILENO, SHORTENED.as_ptr().cast(), SHORTENED.len()) };
    // SAFETY: it ends the process at once, without destructors that could touch the map again.
    unsafe { libc::_exit(i32::from(Outcome::Environment.status())) }
}

#[allow(clippy::exit, reason = "a second Ctrl-C ends the program at once")]
fn end() {
    process::kill_all();
    std::process::exit(i32::from(Outcome::Environment.status()));
}
