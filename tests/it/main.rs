//! The real binary, run as a user or a merge would: exit status, standard output, standard error, files.
#![allow(clippy::unwrap_used, missing_docs)]

mod command;
