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
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => return commands::report_usage(&error).into(),
    };
    match commands::dispatch(cli, |folder| std::env::set_current_dir(folder)) {
        Ok(outcome) => outcome.into(),
        Err(error) => commands::report_error(&error).into(),
    }
}
