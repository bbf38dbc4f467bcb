//! Verbosity and colours of the program, set once by the command line.

use super::progress::{Terminal, Verbosity};
use crate::cli::{ColorChoice, VerbosityArgs};
use crate::console::allow_colours;
use ncugate_report::terminal::Colours;
use std::io::{self, IsTerminal};
use std::sync::OnceLock;

static ASKED: OnceLock<VerbosityArgs> = OnceLock::new();

/// Stores the options of the command line.
pub fn set(manner: VerbosityArgs) {
    // A process has one command line; a second would keep the options of the first.
    let _ = ASKED.set(manner);
    settle();
}

/// Enables colours where they are supported.
pub fn settle() {
    allow_colours(output() == Colours::Ansi, colours_errors());
}

fn current() -> VerbosityArgs {
    ASKED.get().copied().unwrap_or_default()
}

/// The verbosity.
pub fn volume() -> Verbosity {
    match current() {
        VerbosityArgs { quiet: true, .. } => Verbosity::Quiet,
        VerbosityArgs { verbose: true, .. } => Verbosity::Verbose,
        _ => Verbosity::Usual,
    }
}

/// The progress of a campaign.
pub fn progress() -> Terminal {
    Terminal::new(volume())
}

/// Colours of standard output.
pub fn output() -> Colours {
    colours(io::stdout().is_terminal())
}

pub fn colours_errors() -> bool {
    colours(io::stderr().is_terminal()) == Colours::Ansi
}

fn colours(is_terminal: bool) -> Colours {
    let refused = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    match current().color {
        ColorChoice::Always => Colours::Ansi,
        ColorChoice::Auto if is_terminal && !refused => Colours::Ansi,
        ColorChoice::Auto | ColorChoice::Never => Colours::Plain,
    }
}
