//! The thin binary: parse, call, print the error chain once, exit.

mod allocator;

use allocator::HugePages;
use clap::FromArgMatches;
use ncugate::cli::Cli;
use ncugate::commands;
use ncugate::exit::StatusScheme;
use std::process::ExitCode;

#[global_allocator]
static ALLOCATOR: HugePages = HugePages;

fn main() -> ExitCode {
    let scheme = StatusScheme::of(std::env::args_os());
    let cli = match Cli::grouped().try_get_matches().and_then(|matches| Cli::from_arg_matches(&matches)) {
        Ok(cli) => cli,
        Err(error) => return scheme.code(commands::report_usage(&error)),
    };
    let ended = commands::dispatch(cli, |folder| std::env::set_current_dir(folder));
    ncugate_model::process::dismiss_guard();
    scheme.code(ended.unwrap_or_else(|error| commands::report_error(&error)))
}
