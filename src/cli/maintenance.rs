//! Arguments of the commands around measuring: leaderboards, noise, schemas, what a package installs, the worker.

use super::{GpuWaitArgs, OutputFormat};
use clap::{Args, Subcommand};
use clap_complete::Shell;
use std::path::PathBuf;

/// `ncugate leaderboard`
#[derive(Debug, Subcommand)]
pub enum LeaderboardCommand {
    /// Put a run on the leaderboard of its phase; shows the difference to the entry it replaces
    Promote(PromoteArgs),
    /// List the entries that count now
    List(ListArgs),
    /// Show the history of an entry and its values
    Show(ShowEntryArgs),
}

/// `ncugate leaderboard promote`
#[derive(Debug, Args)]
pub struct PromoteArgs {
    /// The run: its folder, its id, a phase for its newest run, or `latest`
    #[arg(value_name = "RUN")]
    pub run: PathBuf,
    /// Name of the entry; the entry `best` is `best.` in requirements
    #[arg(long, value_name = "NAME", default_value = "best")]
    pub name: String,
    /// Take the run although its objective is worse than that of the present entry
    #[arg(long)]
    pub accept_worse: bool,
    /// Folder of runs and leaderboards
    #[arg(long, value_name = "DIR", default_value = "profiles")]
    pub profiles: PathBuf,
    /// What standard output carries
    #[arg(long, value_enum, default_value_t = OutputFormat::Text)]
    pub format: OutputFormat,
}

/// `ncugate leaderboard list`
#[derive(Debug, Args)]
pub struct ListArgs {
    /// Name of a phase; all without it
    #[arg(value_name = "PHASE")]
    pub phase: Option<String>,
    /// Folder of runs and leaderboards
    #[arg(long, value_name = "DIR", default_value = "profiles")]
    pub profiles: PathBuf,
    /// What standard output carries
    #[arg(long, value_enum, default_value_t = OutputFormat::Text)]
    pub format: OutputFormat,
}

/// `ncugate leaderboard show`
#[derive(Debug, Args)]
pub struct ShowEntryArgs {
    /// Name of the phase
    #[arg(value_name = "PHASE")]
    pub phase: String,
    /// Name of the entry
    #[arg(long, value_name = "NAME", default_value = "best")]
    pub name: String,
    /// Folder of runs and leaderboards
    #[arg(long, value_name = "DIR", default_value = "profiles")]
    pub profiles: PathBuf,
    /// What standard output carries
    #[arg(long, value_enum, default_value_t = OutputFormat::Text)]
    pub format: OutputFormat,
}

/// `ncugate tools calibrate`
#[derive(Debug, Args)]
pub struct CalibrateArgs {
    /// The phase
    #[arg(value_name = "CONFIG")]
    pub config: PathBuf,
    /// The variant to time; else the first candidate that builds
    #[arg(long, value_name = "VARIANT")]
    pub variant: Option<String>,
    /// Fresh processes to time it in; how much they differ is what latencies of two runs may differ by
    #[arg(long, value_name = "N", default_value_t = 5)]
    pub runs: u32,
    /// Waiting
    #[command(flatten)]
    pub waiting: GpuWaitArgs,
    /// Folder of runs, and of the result
    #[arg(long, value_name = "DIR", default_value = "profiles")]
    pub profiles: PathBuf,
    /// What standard output carries
    #[arg(long, value_enum, default_value_t = OutputFormat::Text)]
    pub format: OutputFormat,
}

/// `ncugate tools schema`
#[derive(Debug, Args)]
pub struct SchemaArgs {
    /// The schema of `results.json` and `--format json` instead
    #[arg(long)]
    pub results: bool,
}

/// `ncugate tools completions`
#[derive(Debug, Args)]
pub struct CompletionsArgs {
    /// The shell
    #[arg(value_enum)]
    pub shell: Shell,
}

/// `ncugate complete`
#[derive(Debug, Args)]
pub struct CompleteArgs {
    /// The words after the name of the program, the last one incomplete
    #[arg(last = true)]
    pub words: Vec<String>,
}

/// `ncugate tools man`
#[derive(Debug, Args)]
pub struct ManArgs {
    /// Folder that the pages go to
    #[arg(value_name = "DIR")]
    pub folder: PathBuf,
    /// What standard output carries
    #[arg(long, value_enum, default_value_t = OutputFormat::Text)]
    pub format: OutputFormat,
}

/// `ncugate worker`
#[derive(Debug, Args)]
pub struct WorkerArgs {
    /// The job
    #[arg(value_name = "JOB", required_unless_present_any = ["probe", "launch", "activity"])]
    pub job: Option<PathBuf>,
    /// Load what this file says first, and wait for the job
    #[arg(long, value_name = "FILE", requires = "job")]
    pub preload: Option<PathBuf>,
    /// Describe this machine's GPUs instead
    #[arg(long)]
    pub probe: bool,
    /// Launch one small kernel instead
    #[arg(long)]
    pub launch: bool,
    /// Say which CUPTI there is instead, also among the packages of this Python
    #[arg(long, value_name = "PYTHON")]
    pub activity: Option<PathBuf>,
}
