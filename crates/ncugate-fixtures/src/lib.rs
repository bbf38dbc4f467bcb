//! Shared code of the tests of several crates.
//!
//! A separate crate instead of a feature: cargo builds a crate twice, with and without the features that only tests request.
#![allow(clippy::panic, clippy::unwrap_used)]

mod phase;

pub use phase::{phase, plan};

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The repository's root.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Changes to the repository's root, so that tests can name files relative to it. Cargo starts the tests of a crate
/// in the crate's folder.
pub fn at_root() {
    std::env::set_current_dir(root()).unwrap_or_else(|error| panic!("{error}"));
}

/// Writes an executable file. A child process opens it: a file that this process has open for writing can be inherited
/// by what another test starts at this moment, and the kernel refuses to execute it while anyone has it open (`ETXTBSY`).
pub fn write_program(path: &Path, text: &str) {
    let script = "rm -f \"$1\" && cat > \"$1\" && chmod 755 \"$1\"";
    let child = Command::new("sh").args(["-c", script, "sh"]).arg(path).stdin(Stdio::piped()).spawn();
    let mut child = child.unwrap_or_else(|error| panic!("{error}"));
    child.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
    assert!(child.wait().unwrap().success(), "{}", path.display());
}
