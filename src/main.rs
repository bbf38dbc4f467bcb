//! The thin binary: parse, call, print the error chain once, exit.

mod allocator;

use allocator::HugePages;
use clap::FromArgMatches;
use ncugate::cli::Cli;
use ncugate::commands;
use std::process::ExitCode;

#[global_allocator]
static ALLOCATOR: HugePages = HugePages;

fn main() -> ExitCode {
    let cli = match Cli::grouped().try_get_matches().and_then(|matches| Cli::from_arg_matches(&matches)) {
        Ok(cli) => cli,
        Err(error) => return commands::report_usage(&error).into(),
    };
    match commands::dispatch(cli, |folder| std::env::set_current_dir(folder)) {
        Ok(outcome) => outcome.into(),
        Err(error) => commands::report_error(&error).into(),
    }
}
