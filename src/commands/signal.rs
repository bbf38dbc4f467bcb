//! What Ctrl-C, TERM and HUP do to a command that has children.

use crate::exit::Outcome;
use crate::process::{self, Asked};
use nix::sys::signal::{SigHandler, Signal, signal};
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
        Asked::Once => {}
        Asked::Again => end(),
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

#[allow(clippy::exit, reason = "a second Ctrl-C ends the program at once")]
fn end() {
    process::kill_all();
    std::process::exit(i32::from(Outcome::Environment.status()));
}
