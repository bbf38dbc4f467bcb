//! The thin binary: parse, call, print the error chain once, exit.

mod allocator;

use allocator::HugePages;
use clap::Parser;
use ncugate::cli::Cli;
use ncugate::commands;
use std::process::ExitCode;

#[global_allocator]
static ALLOCATOR: HugePages = HugePages;

fn main() -> ExitCode {
    match commands::dispatch(Cli::parse()) {
        Ok(outcome) => outcome.into(),
        Err(error) => commands::report_error(&error).into(),
    }
}
