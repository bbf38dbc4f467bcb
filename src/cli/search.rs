//! Arguments of searches: `search`, `try`, `next`.

use super::{FolderArgs, GpuWaitArgs, OutputFormat};
use clap::{Args, ValueEnum};
use std::path::PathBuf;

/// `ncugate search`
#[derive(Debug, Args)]
pub struct SearchArgs {
    /// Recorded spaces: cache files of kernel_tuner (JSON, unpacked), or folders of runs whose sweep was measured
    #[arg(long, value_name = "SPACE", required = true, num_args = 1..)]
    pub simulate: Vec<PathBuf>,
    /// How points are proposed
    #[arg(long, value_enum, default_value_t = StrategyChoice::Model)]
    pub strategy: StrategyChoice,
    /// What the model learns from beside parameters
    #[arg(long, value_enum, default_value_t = SearchLearning::Facts)]
    pub learn: SearchLearning,
    /// Points that a search tries; those that fail count
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = clap::value_parser!(u32).range(4..))]
    pub evaluations: u32,
    /// Points that are proposed together [default: an eighth of the evaluations, from 1 to 8]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub batch: Option<u32>,
    /// Searches of each space, each with a seed of its own
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..))]
    pub repeats: u32,
    /// The first seed
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub seed: u64,
    /// What standard output carries
    #[arg(long, value_enum, default_value_t = OutputFormat::Text)]
    pub format: OutputFormat,
}

/// Strategies of a search.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum StrategyChoice {
    /// A forest over parameters and what else is known of trials
    Model,
    /// At random
    Random,
    /// In the order of the space
    Exhaustive,
}

/// What a model learns from beside parameters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum SearchLearning {
    /// Times alone
    Times,
    /// Times, and what a run has of each variant: registers, occupancy, counters
    Facts,
}

/// `ncugate try`
#[derive(Debug, Args)]
pub struct TryArgs {
    /// The phase, whose `[kernel]` says how the source is launched
    #[arg(value_name = "CONFIG")]
    pub config: PathBuf,
    /// The source to try
    #[arg(long, value_name = "FILE")]
    pub source: PathBuf,
    /// What it tries, for the history
    #[arg(long, value_name = "TEXT")]
    pub idea: Option<String>,
    /// The attempt that it was made from; else the best so far
    #[arg(long, value_name = "N")]
    pub parent: Option<usize>,
    /// A parameter that differs from that of the best so far
    #[arg(long = "param", value_name = "NAME=VALUE")]
    pub params: Vec<String>,
    /// Whether to wait
    #[command(flatten)]
    pub waiting: GpuWaitArgs,
    /// Folders
    #[command(flatten)]
    pub folders: FolderArgs,
}

/// `ncugate next`
#[derive(Debug, Args)]
pub struct NextArgs {
    /// The folder of a run or recording
    #[arg(value_name = "RUN")]
    pub run: PathBuf,
}
