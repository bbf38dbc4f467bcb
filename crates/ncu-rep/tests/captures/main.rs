//! Compares the reader with NVIDIA's readers, over the real captures in the repository's `tests/data`.
#![allow(clippy::panic, clippy::print_stderr, clippy::print_stdout, clippy::unwrap_used)]

#[path = "../../../../tests/it/captures.rs"]
mod captures;
#[allow(dead_code, reason = "shared with other tests")]
#[path = "../crafted/mod.rs"]
mod crafted;
mod csv_pages;
mod parity;
