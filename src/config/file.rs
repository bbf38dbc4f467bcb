//! Files of TOML that a user names.

use crate::disk::open;
use std::io;
use std::path::Path;

/// Most bytes of a phase's file: what a run keeps of it has the same limit.
const MAX_BYTES: u64 = 4 << 20;

/// The text of a regular file of a size that a phase can have; a link to one is followed.
pub(in crate::config) fn text_of(path: &Path) -> io::Result<String> {
    open::text_of(open::named(path, MAX_BYTES)?)
}
