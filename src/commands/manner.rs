//! How much the program says, and in which colours: asked for once, on the command line.

use super::progress::{Terminal, Volume};
use crate::cli::{ColorWhen, MannerArgs};
use crate::console::allow_colours;
use ncugate_report::terminal::Colours;
use std::io::{self, IsTerminal};
use std::sync::OnceLock;

static ASKED: OnceLock<MannerArgs> = OnceLock::new();

/// Keeps what the command line asks for.
pub fn ask(manner: MannerArgs) {
    // A second command line in one process would have the manner of the first; there is none.
    let _ = ASKED.set(manner);
    settle();
}

/// Lets colours through where there are any.
pub fn settle() {
    allow_colours(output() == Colours::Ansi, colours_errors());
}

fn asked() -> MannerArgs {
    ASKED.get().copied().unwrap_or_default()
}

/// How much is said.
pub fn volume() -> Volume {
    match asked() {
        MannerArgs { quiet: true, .. } => Volume::Quiet,
        MannerArgs { verbose: true, .. } => Volume::Verbose,
        _ => Volume::Usual,
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
    match asked().color {
        ColorWhen::Always => Colours::Ansi,
        ColorWhen::Auto if is_terminal && !refused => Colours::Ansi,
        ColorWhen::Auto | ColorWhen::Never => Colours::Plain,
    }
}
