//! How much the program says, and in which colours: asked for once, on the command line.

use super::progress::{Terminal, Verbosity};
use crate::cli::{ColorChoice, VerbosityArgs};
use crate::console::allow_colours;
use ncugate_report::terminal::Colours;
use std::io::{self, IsTerminal};
use std::sync::OnceLock;

static ASKED: OnceLock<VerbosityArgs> = OnceLock::new();

/// Keeps what the command line asks for.
pub fn set(manner: VerbosityArgs) {
    // A second command line in one process would have the manner of the first; there is none.
    let _ = ASKED.set(manner);
    settle();
}

/// Lets colours through where there are any.
pub fn settle() {
    allow_colours(output() == Colours::Ansi, colours_errors());
}

fn current() -> VerbosityArgs {
    ASKED.get().copied().unwrap_or_default()
}

/// How much is said.
pub fn volume() -> Verbosity {
    match current() {
        VerbosityArgs { quiet: true, .. } => Verbosity::Quiet,
        VerbosityArgs { verbose: true, .. } => Verbosity::Verbose,
        _ => Verbosity::Usual,
    }
}

/// What the user sees of a campaign.
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
