//! Arguments of `leaderboard`, of most `tools`, and of the worker.

use super::{GpuWaitArgs, OutputFormat};
use clap::{Args, Subcommand};
use clap_complete::Shell;
use std::path::PathBuf;

/// `ncugate leaderboard`
#[derive(Debug, Subcommand)]
pub enum LeaderboardCommand {
    /// Put a run on its phase's leaderboard, and print the change of the entry
    Promote(PromoteArgs),
    /// List the current entries
    List(ListArgs),
    /// Show the values of an entry and their history
    Show(ShowEntryArgs),
}

/// `ncugate leaderboard promote`
#[derive(Debug, Args)]
pub struct PromoteArgs {
    /// Run: a folder, an id, a phase (its newest run), or `latest`
    #[arg(value_name = "RUN")]
    pub run: PathBuf,
    /// Name of the entry; requirements read the entry `best` as `best.`
    #[arg(long, value_name = "NAME", default_value = "best")]
    pub name: String,
    /// Promote the run even if its objective is worse than the current entry's
    #[arg(long)]
    pub accept_worse: bool,
    /// Folder of runs and leaderboards
    #[arg(long, value_name = "DIR", default_value = "profiles")]
    pub profiles: PathBuf,
    /// Format of standard output
    #[arg(long, value_enum, default_value_t = OutputFormat::Text)]
    pub format: OutputFormat,
}

/// `ncugate leaderboard list`
#[derive(Debug, Args)]
pub struct ListArgs {
    /// Name of a phase, or its file [default: all]
    #[arg(value_name = "PHASE")]
    pub phase: Option<String>,
    /// Folder of runs and leaderboards
    #[arg(long, value_name = "DIR", default_value = "profiles")]
    pub profiles: PathBuf,
    /// Format of standard output
    #[arg(long, value_enum, default_value_t = OutputFormat::Text)]
    pub format: OutputFormat,
}

/// `ncugate leaderboard show`
#[derive(Debug, Args)]
pub struct ShowEntryArgs {
    /// Name of the phase, or its file
    #[arg(value_name = "PHASE")]
    pub phase: String,
    /// Name of the entry
    #[arg(long, value_name = "NAME", default_value = "best")]
    pub name: String,
    /// Folder of runs and leaderboards
    #[arg(long, value_name = "DIR", default_value = "profiles")]
    pub profiles: PathBuf,
    /// Format of standard output
    #[arg(long, value_enum, default_value_t = OutputFormat::Text)]
    pub format: OutputFormat,
}

/// `ncugate tools calibrate`
#[derive(Debug, Args)]
pub struct CalibrateArgs {
    /// Phase file
    #[arg(value_name = "CONFIG")]
    pub config: PathBuf,
    /// Variant to time [default: the first candidate that builds]
    #[arg(long, value_name = "VARIANT")]
    pub variant: Option<String>,
    /// Number of processes to time it in; their spread is the noise between two runs
    #[arg(long, value_name = "N", default_value_t = 5)]
    pub runs: u32,
    /// Waiting
    #[command(flatten)]
    pub waiting: GpuWaitArgs,
    /// Folder of runs and of the result
    #[arg(long, value_name = "DIR", default_value = "profiles")]
    pub profiles: PathBuf,
    /// Format of standard output
    #[arg(long, value_enum, default_value_t = OutputFormat::Text)]
    pub format: OutputFormat,
}

/// `ncugate tools schema`
#[derive(Debug, Args)]
pub struct SchemaArgs {
    /// Print the schema of `results.json` and `--format json` instead
    #[arg(long)]
    pub results: bool,
}

/// `ncugate tools completions`
#[derive(Debug, Args)]
pub struct CompletionsArgs {
    /// Shell
    #[arg(value_enum)]
    pub shell: Shell,
}

/// `ncugate worker`
#[derive(Debug, Args)]
pub struct WorkerArgs {
    /// Job file
    #[arg(value_name = "JOB", required_unless_present_any = ["probe", "launch", "activity"])]
    pub job: Option<PathBuf>,
    /// Load the modules and buffers of this file, then wait for the job
    #[arg(long, value_name = "FILE", requires = "job")]
    pub preload: Option<PathBuf>,
    /// Describe this machine's GPUs instead
    #[arg(long)]
    pub probe: bool,
    /// Launch one small kernel instead
    #[arg(long)]
    pub launch: bool,
    /// Print the available CUPTI instead, also among the packages of this Python
    #[arg(long, value_name = "PYTHON")]
    pub activity: Option<PathBuf>,
}
