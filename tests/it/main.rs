//! The real binary, run as a user or a merge would: exit status, standard output, standard error, files.
#![allow(clippy::unwrap_used, clippy::print_stdout, clippy::print_stderr, missing_docs)]

mod architecture;
mod baseline;
mod captures;
mod ci;
mod closely;
mod command;
mod concurrent;
mod confirmed;
#[path = "../../crates/ncu-rep/tests/crafted/mod.rs"]
mod crafted;
mod damage;
mod evidence;
mod explained;
mod faults;
mod foreign;
mod forms;
mod functions;
mod gallery;
mod inputs;
mod kernels;
mod library;
mod lines;
mod live;
mod merge;
mod occupancies;
mod pages;
mod paths;
mod recorded;
mod safety;
mod search;
mod show;
mod status;
mod steps;
mod stored;
mod table;
mod tensor_maps;
mod tolerance;
mod trace;
mod verdicts;
mod witness;
mod workflow;
