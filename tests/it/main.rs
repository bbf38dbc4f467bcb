//! The real binary, run as a user or a merge would: exit status, standard output, standard error, files.
#![allow(clippy::unwrap_used, clippy::print_stdout, clippy::print_stderr, missing_docs)]

mod captures;
mod command;
mod crafted;
mod damage;
mod pages;
mod parity;
mod show;
mod trace;
