//! A run on disk: `profiles/<phase>/<run>/`, the seam between measuring and judging.
//!
//! Records are appended line by line and flushed, so that whatever was measured before a crash is there after it.

mod manifest;

pub use manifest::{Fingerprint, Git, Gpu, Manifest, RunState};
