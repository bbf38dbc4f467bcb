//! Arguments of `cluster`.

use super::{FolderArgs, OutputFormat};
use clap::{Args, Subcommand};
use ncugate_exchange::Gres;
use std::path::PathBuf;

/// `ncugate cluster`
#[derive(Debug, Subcommand)]
pub enum ClusterCommand {
    /// Measure a phase as a Slurm job array of shards, then merge and judge it
    Slurm(SlurmArgs),
    /// Merge the shards of a phase into a run, which `run` confirms and judges
    Merge(MergeArgs),
}

/// `ncugate cluster slurm`
#[derive(Debug, Args)]
pub struct SlurmArgs {
    /// Phase file, on a disk that all nodes share
    #[arg(value_name = "CONFIG")]
    pub config: PathBuf,
    /// Number of shards, one task each [default: one per GPU]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub shards: Option<u32>,
    /// GPUs of all nodes that measure at the same time (gpu:8, gpu:h200:32); each task uses one
    #[arg(long, value_name = "GRES", default_value = "gpu:1")]
    pub gres: Gres,
    /// Option of sbatch for every job (repeatable): --option=--account=kernels, --option=--time=2:00:00
    #[arg(long = "option", value_name = "OPTION", allow_hyphen_values = true)]
    pub options: Vec<String>,
    /// Print the script and its submissions without submitting them
    #[arg(long)]
    pub dry_run: bool,
    /// Submit without waiting (status 4); the same command waits later
    #[arg(long, conflicts_with = "dry_run")]
    pub detach: bool,
    /// Folders
    #[command(flatten)]
    pub folders: FolderArgs,
    /// Format of standard output
    #[arg(long, value_enum, default_value_t = OutputFormat::Text)]
    pub format: OutputFormat,
}

/// `ncugate cluster merge`
#[derive(Debug, Args)]
pub struct MergeArgs {
    /// Folders of all shards of a phase (`run --shard`)
    #[arg(value_name = "RUN", required = true)]
    pub runs: Vec<PathBuf>,
    /// Use the latest complete run of each shard, and ignore the others
    #[arg(long)]
    pub newest: bool,
    /// Folder of runs, also of the merged run
    #[arg(long, value_name = "DIR", default_value = "profiles")]
    pub profiles: PathBuf,
    /// Format of standard output
    #[arg(long, value_enum, default_value_t = OutputFormat::Text)]
    pub format: OutputFormat,
}
