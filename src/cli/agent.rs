//! Arguments of `agent`.

use super::{FolderArgs, GpuWaitArgs};
use clap::Args;
use std::path::PathBuf;

/// `ncugate agent try`
#[derive(Debug, Args)]
pub struct TryArgs {
    /// Phase file; its `[kernel]` says how to launch the source
    #[arg(value_name = "CONFIG")]
    pub config: PathBuf,
    /// CUDA source to try
    #[arg(long, value_name = "FILE")]
    pub source: PathBuf,
    /// Idea of the attempt, for the history
    #[arg(long, value_name = "TEXT")]
    pub idea: Option<String>,
    /// Parameter that differs from the best so far (repeatable)
    #[arg(long = "set", value_name = "NAME=VALUE")]
    pub params: Vec<String>,
    /// Waiting
    #[command(flatten)]
    pub waiting: GpuWaitArgs,
    /// Folders
    #[command(flatten)]
    pub folders: FolderArgs,
}

/// `ncugate agent next`
#[derive(Debug, Args)]
pub struct NextArgs {
    /// Run: a folder, an id, a phase (its newest run), or `latest`
    #[arg(value_name = "RUN")]
    pub run: PathBuf,
    /// Folder of runs
    #[arg(long, value_name = "DIR", default_value = "profiles")]
    pub profiles: PathBuf,
}

/// `ncugate agent call`
#[derive(Debug, Args)]
pub struct CallArgs {
    /// Tool of `agent tools`; its arguments are a JSON object on standard input
    #[arg(value_name = "TOOL")]
    pub tool: String,
}
