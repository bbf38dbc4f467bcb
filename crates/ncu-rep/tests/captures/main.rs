//! The reader against NVIDIA's own readers, over the real captures of the repository's `tests/data`.
#![allow(clippy::unwrap_used, clippy::print_stdout, clippy::print_stderr, missing_docs)]

#[path = "../../../../tests/it/captures.rs"]
mod captures;
#[allow(dead_code, reason = "shared with other tests")]
#[path = "../crafted/mod.rs"]
mod crafted;
mod csv_pages;
mod parity;
