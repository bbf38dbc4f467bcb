//! Shared code of the tests of several crates.
//!
//! A separate crate instead of a feature: cargo builds a crate twice, with and without the features that only tests request.
#![allow(clippy::panic, clippy::unwrap_used)]

mod phase;

pub use phase::{phase, plan};

use std::path::{Path, PathBuf};

/// The repository's root.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Changes to the repository's root, so that tests can name files relative to it. Cargo starts the tests of a crate
/// in the crate's folder.
pub fn at_root() {
    std::env::set_current_dir(root()).unwrap_or_else(|error| panic!("{error}"));
}
