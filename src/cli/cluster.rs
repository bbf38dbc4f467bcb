//! Arguments of `cluster`.

use super::{FolderArgs, OutputFormat};
use clap::{Args, Subcommand};
use ncugate_exchange::submit::Gres;
use std::path::PathBuf;

/// `ncugate cluster`
#[derive(Debug, Subcommand)]
pub enum ClusterCommand {
    /// Measure a phase as a Slurm job array of shards, then merge and judge it
    Slurm(SlurmArgs),
    /// Merge the shards of a phase into a run, which `run` confirms and judges
    Merge(MergeArgs),
}

/// Options of a submission.
#[derive(Debug, Args)]
pub struct SubmitArgs {
    /// Phase file, on a disk that all nodes share
    #[arg(value_name = "CONFIG")]
    pub config: PathBuf,
    /// Number of shards, one task each [default: one per GPU]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub shards: Option<u32>,
    /// Architecture to build for on nodes without a GPU [default: the phase's, else each task builds its variants]
    #[arg(long, value_name = "ARCH")]
    pub arch: Option<String>,
    /// Print the scripts without submitting them
    #[arg(long)]
    pub dry_run: bool,
    /// Submit without waiting (status 4); the same command waits later
    #[arg(long, conflicts_with = "dry_run")]
    pub detach: bool,
    /// Submit again instead of continuing an earlier submission
    #[arg(long)]
    pub fresh: bool,
    /// Number of times to resubmit a stage whose tasks fail or are lost
    #[arg(long, value_name = "N", default_value_t = 3)]
    pub retries: u32,
    /// Time between two queries of Slurm
    #[arg(long, value_name = "SECONDS", default_value_t = 10, value_parser = clap::value_parser!(u64).range(1..=3600))]
    pub interval: u64,
    /// Folders
    #[command(flatten)]
    pub folders: FolderArgs,
    /// Format of standard output
    #[arg(long, value_enum, default_value_t = OutputFormat::Text)]
    pub format: OutputFormat,
}

/// `ncugate cluster slurm`
#[derive(Debug, Args)]
pub struct SlurmArgs {
    /// Options of a submission
    #[command(flatten)]
    pub submit: SubmitArgs,
    /// Number of nodes that measure at the same time
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    pub nodes: u32,
    /// GPUs of a node (gpu:8, gpu:h200:8); each task uses one
    #[arg(long, value_name = "GRES", default_value = "gpu:1")]
    pub gres: Gres,
    /// Time limit of a GPU job, in the format of sbatch
    #[arg(long, value_name = "TIME")]
    pub time: Option<String>,
    /// Option of sbatch for every job (repeatable): --option=--account=kernels
    #[arg(long = "option", value_name = "OPTION", allow_hyphen_values = true)]
    pub options: Vec<String>,
    /// Option of sbatch for jobs without a GPU (repeatable)
    #[arg(long = "cpu-option", value_name = "OPTION", allow_hyphen_values = true)]
    pub cpu_options: Vec<String>,
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
