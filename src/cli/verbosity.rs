//! Options of every command: verbosity and colours.

use clap::{Args, ValueEnum};

/// Options of every command.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Args)]
pub struct VerbosityArgs {
    /// Print only the verdict and errors
    #[arg(short, long, global = true, conflicts_with = "verbose", help_heading = "Global options")]
    pub quiet: bool,
    /// Print each stage and variant to standard error, even if it is not a terminal
    #[arg(short, long, global = true, help_heading = "Global options")]
    pub verbose: bool,
    /// When to use colours
    #[arg(long, value_enum, global = true, value_name = "WHEN", default_value_t, help_heading = "Global options")]
    pub color: ColorChoice,
}

/// When to use colours.
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
