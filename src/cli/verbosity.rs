//! How much a command says, and in which colours.

use clap::{Args, ValueEnum};

/// Options of every command.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Args)]
pub struct VerbosityArgs {
    /// Say only how it ended, and errors: no progress, no notes, of a report the verdict alone
    #[arg(short, long, global = true, conflicts_with = "verbose", help_heading = "Manner")]
    pub quiet: bool,
    /// Say on standard error which stage and which variant is being worked on, also where that is not a terminal
    #[arg(short, long, global = true, help_heading = "Manner")]
    pub verbose: bool,
    /// Colours; `auto` is on a terminal, unless NO_COLOR is set
    #[arg(long, value_enum, global = true, value_name = "WHEN", default_value_t, help_heading = "Manner")]
    pub color: ColorChoice,
}

/// When colours are used.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub enum ColorChoice {
    /// On a terminal, unless NO_COLOR is set
    #[default]
    Auto,
    /// Always
    Always,
    /// Never
    Never,
}
