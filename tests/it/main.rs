//! The real binary, run as a user or a merge would: exit status, standard output, standard error, files.
#![allow(clippy::unwrap_used, clippy::print_stdout, clippy::print_stderr, missing_docs)]

mod baseline;
mod captures;
mod ci;
mod closely;
mod command;
mod crafted;
mod csv_pages;
mod damage;
mod forms;
mod kernels;
mod lines;
mod pages;
mod parity;
mod recorded;
mod show;
mod status;
mod stored;
mod table;
mod tensor_maps;
mod trace;
