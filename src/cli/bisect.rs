//! Arguments of `tools bisect`.

use super::{FolderArgs, GpuWaitArgs, OutputArgs};
use clap::Args;
use std::path::PathBuf;

/// `ncugate tools bisect`
#[derive(Debug, Args)]
pub struct BisectArgs {
    /// Good commit, an ancestor of BAD
    #[arg(value_name = "GOOD")]
    pub good: String,
    /// Bad commit
    #[arg(value_name = "BAD")]
    pub bad: String,
    /// Phase file; it also serves commits that do not have it
    #[arg(value_name = "CONFIG")]
    pub config: PathBuf,
    /// Requirement of a good commit, with GOOD as `base.` (repeatable) [default: the latency halfway between both ends]
    #[arg(long, value_name = "REQUIREMENT")]
    pub require: Vec<String>,
    /// Follow only the first parent of merges
    #[arg(long)]
    pub first_parent: bool,
    /// Measure commits again that an earlier bisection measured
    #[arg(long)]
    pub fresh: bool,
    /// Waiting
    #[command(flatten)]
    pub waiting: GpuWaitArgs,
    /// Folders
    #[command(flatten)]
    pub folders: FolderArgs,
    /// Output
    #[command(flatten)]
    pub saying: OutputArgs,
}
