//! What the tests of several crates share.
//!
//! A crate and no feature of another one: cargo builds a crate twice, with and without the features that tests alone ask for.
#![allow(clippy::panic, clippy::unwrap_used)]

mod phase;

pub use phase::{phase, plan};

use std::path::{Path, PathBuf};

/// The repository's root.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Works in the repository's root, so that tests name its files by their paths in it. Cargo starts the tests of a crate in the crate's
/// folder.
pub fn at_root() {
    std::env::set_current_dir(root()).unwrap_or_else(|error| panic!("{error}"));
}
