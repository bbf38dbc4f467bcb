//! Arguments of `tools verify-tuning`.

use super::{FolderArgs, GpuWaitArgs, OutputFormat};
use clap::Args;
use std::path::PathBuf;

/// `ncugate tools verify-tuning`
#[derive(Debug, Args)]
pub struct VerifyTuningArgs {
    /// Tuned tables: NAME.autotune.json of Triton's cache, E=...,device_name=....json of vLLM, or FlashInfer's
    #[arg(value_name = "FILE", required = true)]
    pub tables: Vec<PathBuf>,
    /// Phase that runs a configuration; its first baseline is the default
    #[arg(long, value_name = "CONFIG")]
    pub phase: PathBuf,
    /// Dimensions that the numbers of a bucket's key are, in their order; `_` skips one
    #[arg(long, value_name = "NAME,...", value_delimiter = ',', default_value = "M")]
    pub key: Vec<String>,
    /// Requirement of a pick; `speedup()` is over the default
    #[arg(long, value_name = "REQUIREMENT", default_value = "speedup() >= 0.99")]
    pub require: String,
    /// Number of runs of each bucket, each in new processes
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=100))]
    pub runs: u32,
    /// Folder for the tables with the verified configurations
    #[arg(short, long, value_name = "DIR")]
    pub output: Option<PathBuf>,
    /// Waiting
    #[command(flatten)]
    pub waiting: GpuWaitArgs,
    /// Folders
    #[command(flatten)]
    pub folders: FolderArgs,
    /// Format of standard output
    #[arg(long, value_enum, default_value_t = OutputFormat::Text)]
    pub format: OutputFormat,
}
