//! Arguments of `ncugate show`.

use super::{DetailArgs, StoredBaselineArgs};
use clap::Args;
use regex::Regex;
use std::path::PathBuf;

/// `ncugate show`
#[derive(Debug, Clone, Args)]
pub struct ShowArgs {
    /// A run; or ncu reports (.ncu-rep, .ncu-repz), ncu's CSV, or globs
    #[arg(required = true, value_name = "RUN|REPORT")]
    pub paths: Vec<String>,
    /// Launches
    #[command(flatten)]
    pub launches: LaunchArgs,
    /// Metrics of reports to show, by name (`achieved_occupancy`), ncu's name or glob; repeatable
    #[arg(long = "metric", value_name = "METRIC|GLOB", value_delimiter = ',')]
    pub metrics: Vec<String>,
    /// Show the messages of ncu's rules
    #[arg(long)]
    pub rules: bool,
    /// Show the session of the report: command line, versions, system, devices
    #[arg(long)]
    pub session: bool,
    /// Details
    #[command(flatten)]
    pub detail: DetailArgs,
    /// Comparison
    #[command(flatten)]
    pub against: StoredBaselineArgs,
    /// Folder of runs
    #[arg(long, value_name = "DIR", default_value = "profiles")]
    pub profiles: PathBuf,
}

/// Launches of ncu reports.
#[derive(Debug, Clone, Default, Args)]
pub struct LaunchArgs {
    /// Show only launches whose kernel name matches
    #[arg(long, value_name = "REGEX")]
    pub kernel: Option<Regex>,
    /// Show NVTX ranges; with a value, only launches whose ranges match (`name` or `domain@name`)
    #[arg(long, value_name = "REGEX", num_args = 0..=1, require_equals = true, default_missing_value = "")]
    pub nvtx: Option<Regex>,
    /// Show only the launch with this id, as ncu prints it
    #[arg(long, value_name = "N")]
    pub launch: Option<u32>,
}

impl LaunchArgs {
    /// Whether any launch is left out.
    pub fn is_given(&self) -> bool {
        self.kernel.is_some() || self.nvtx.is_some() || self.launch.is_some()
    }
}
