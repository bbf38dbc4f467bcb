//! What Ctrl-C, TERM and HUP do to a command that has children.

use crate::exit::Outcome;
use crate::process::{self, Asked};

/// From here on the first such signal ends children and lets the command keep what it has; the second ends the program.
pub fn watch() {
    // It is watched already: a second handler would do the same.
    let _ = ctrlc::set_handler(|| match process::interrupt() {
        Asked::Once => {}
        Asked::Again => end(),
    });
}

#[allow(clippy::exit, reason = "a second Ctrl-C ends the program at once")]
fn end() {
    process::kill_all();
    std::process::exit(i32::from(Outcome::Environment.status()));
}
