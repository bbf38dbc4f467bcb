//! `ncugate tools completions`: completions of a shell.

use super::CommandError;
use crate::cli::{Cli, CompletionsArgs};
use crate::console::Output;
use crate::exit::Outcome;
use clap::CommandFactory as _;
use std::io::Write;

/// Prints the completions of a shell: commands, options and their fixed values.
pub fn completions(args: &CompletionsArgs, out: &mut Output) -> Result<Outcome, CommandError> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "ncugate", &mut script);
    out.machine().write_all(&script)?;
    Ok(Outcome::Passed)
}
