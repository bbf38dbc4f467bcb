//! Arguments of `cluster`.

use super::{FolderArgs, OutputFormat};
use clap::{Args, Subcommand};
use ncugate_exchange::submit::Gres;
use std::path::PathBuf;

/// `ncugate cluster`
#[derive(Debug, Subcommand)]
pub enum ClusterCommand {
    /// Measure a phase on Slurm by a job array of shards, merged and judged; follows it, and cancels it on Ctrl-C
    Slurm(SlurmArgs),
    /// Measure a phase on HyperQueue in the same way
    Hq(HyperQueueArgs),
    /// Put the shards of a phase together, as a run that `run` confirms and judges
    Merge(MergeArgs),
}

/// What engines have in common.
#[derive(Debug, Args)]
pub struct SubmitArgs {
    /// The phase, on a disk that all nodes share
    #[arg(value_name = "CONFIG")]
    pub config: PathBuf,
    /// Parts that the candidates are cut into, a task each; else one a GPU
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub shards: Option<u32>,
    /// Architecture to build for on nodes without a GPU, before anything is measured; else the phase's, else each task builds
    /// what it measures
    #[arg(long, value_name = "ARCH")]
    pub arch: Option<String>,
    /// Print the scripts, and submit nothing
    #[arg(long)]
    pub dry_run: bool,
    /// Submit, and follow nothing (status 4); the same command follows later
    #[arg(long, conflicts_with = "dry_run")]
    pub detach: bool,
    /// Start anew instead of going on with what was submitted before
    #[arg(long)]
    pub fresh: bool,
    /// Submit each stage again so often, where tasks are lost or fail
    #[arg(long, value_name = "N", default_value_t = 3)]
    pub retries: u32,
    /// Ask the engine every so many seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 10, value_parser = clap::value_parser!(u64).range(1..=3600))]
    pub interval: u64,
    /// Folder of scripts, outputs and shards, on a disk that all nodes share
    #[arg(long, value_name = "DIR", default_value = "jobs")]
    pub jobs: PathBuf,
    /// Folders
    #[command(flatten)]
    pub folders: FolderArgs,
    /// What standard output carries
    #[arg(long, value_enum, default_value_t = OutputFormat::Text)]
    pub format: OutputFormat,
}

/// `ncugate cluster slurm`
#[derive(Debug, Args)]
pub struct SlurmArgs {
    /// What engines have in common
    #[command(flatten)]
    pub submit: SubmitArgs,
    /// Nodes whose GPUs measure at once
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    pub nodes: u32,
    /// GPUs of a node: gpu:8, gpu:h200:8. A task takes one of them
    #[arg(long, value_name = "GRES", default_value = "gpu:1")]
    pub gres: Gres,
    /// Time limit of a job on a GPU, as sbatch takes it
    #[arg(long, value_name = "TIME")]
    pub time: Option<String>,
    /// A further option of sbatch for every job, as often as needed: --option=--account=kernels
    #[arg(long = "option", value_name = "OPTION", allow_hyphen_values = true)]
    pub options: Vec<String>,
    /// A further option of sbatch for jobs without a GPU
    #[arg(long = "cpu-option", value_name = "OPTION", allow_hyphen_values = true)]
    pub cpu_options: Vec<String>,
}

/// `ncugate cluster hq`
#[derive(Debug, Args)]
pub struct HyperQueueArgs {
    /// What engines have in common
    #[command(flatten)]
    pub submit: SubmitArgs,
    /// The resource of which a task takes one
    #[arg(long, value_name = "NAME", default_value = "gpus/nvidia")]
    pub resource: String,
    /// A further option of hq submit, as often as needed
    #[arg(long = "option", value_name = "OPTION", allow_hyphen_values = true)]
    pub options: Vec<String>,
}

/// `ncugate cluster merge`
#[derive(Debug, Args)]
pub struct MergeArgs {
    /// The folders of all shards of a phase (`run --shard`)
    #[arg(value_name = "RUN", required = true)]
    pub runs: Vec<PathBuf>,
    /// Take of each shard the whole run that ended last, and leave out the others and those that are not whole
    #[arg(long)]
    pub newest: bool,
    /// Folder of runs, and of the merged one
    #[arg(long, value_name = "DIR", default_value = "profiles")]
    pub profiles: PathBuf,
    /// What standard output carries
    #[arg(long, value_enum, default_value_t = OutputFormat::Text)]
    pub format: OutputFormat,
}
