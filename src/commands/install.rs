//! `ncugate tools completions` and `ncugate tools man`: completions and man pages for packages.

use super::{CommandError, print};
use crate::cli::{Cli, CompletionsArgs, ManArgs, OutputFormat};
use crate::console::Output;
use crate::exit::Outcome;
use clap::CommandFactory as _;
use clap_mangen::Man;
use serde_json::json;
use std::io::Write;

/// A page for a command, and for each of its subcommands.
fn pages_of(command: &clap::Command, name: &str, pages: &mut Vec<(String, Man)>) {
    pages.push((format!("{name}.1"), Man::new(command.clone()).title(name)));
    for subcommand in command.get_subcommands().filter(|subcommand| !subcommand.is_hide_set()) {
        if subcommand.get_name() != "help" {
            pages_of(subcommand, &format!("{name}-{}", subcommand.get_name()), pages);
        }
    }
}

/// Prints the completions of a shell: commands, options and their fixed values.
pub fn completions(args: &CompletionsArgs, out: &mut Output) -> Result<Outcome, CommandError> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "ncugate", &mut script);
    out.machine().write_all(&script)?;
    Ok(Outcome::Passed)
}

/// Writes one page per command to a folder.
pub fn man(args: &ManArgs, out: &mut Output) -> Result<Outcome, CommandError> {
    let written = |source| CommandError::Output { path: args.folder.clone(), source };
    std::fs::create_dir_all(&args.folder).map_err(written)?;
    let mut command = Cli::command();
    command.build();
    let mut pages = Vec::new();
    pages_of(&command, "ncugate", &mut pages);
    let mut files = Vec::with_capacity(pages.len());
    for (name, page) in pages {
        let mut text = Vec::new();
        page.render(&mut text).map_err(written)?;
        std::fs::write(args.folder.join(&name), text).map_err(written)?;
        files.push(args.folder.join(name));
    }
    match args.format {
        OutputFormat::Json => print::json(&json!({ "files": files }), out)?,
        OutputFormat::Text => files.iter().try_for_each(|file| writeln!(out, "{}", file.display()))?,
    }
    Ok(Outcome::Passed)
}
