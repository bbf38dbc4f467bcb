//! Arguments of `agent`.

use super::{FolderArgs, GpuWaitArgs};
use clap::Args;
use std::path::PathBuf;

/// `ncugate agent try`
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

/// `ncugate agent next`
#[derive(Debug, Args)]
pub struct NextArgs {
    /// The run: its folder, its id, a phase for its newest run, or `latest`
    #[arg(value_name = "RUN")]
    pub run: PathBuf,
    /// Folder of runs
    #[arg(long, value_name = "DIR", default_value = "profiles")]
    pub profiles: PathBuf,
}
