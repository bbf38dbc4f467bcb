//! Arguments of `ncugate show`.

use super::StoredBaselineArgs;
use clap::{Args, ValueEnum};
use ncugate_report::show::SheetFormat;
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
    /// List every launch of reports, in their order, instead of a row for each kernel and configuration
    #[arg(long, conflicts_with = "view")]
    pub all: bool,
    /// View of reports, instead of launches
    #[arg(long, value_enum, value_name = "VIEW")]
    pub view: Option<ShowView>,
    /// Format of standard output; csv only of reports
    #[arg(long, value_enum, value_name = "FORMAT", default_value_t = RowFormat::Text)]
    pub format: RowFormat,
    /// Comparison
    #[command(flatten)]
    pub against: StoredBaselineArgs,
    /// Folder of runs
    #[arg(long, value_name = "DIR", default_value = "profiles")]
    pub profiles: PathBuf,
}

/// Views of ncu reports.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ShowView {
    /// Messages of ncu's rules, as text
    Rules,
    /// Session of the report, as text: command line, versions, system, devices
    Session,
    /// Cubins and source files that the reports hold
    Sources,
    /// Counters by source line: samples, executions, wavefronts, sectors, or those of `--metric`
    Metrics,
    /// Warp states by launch and by source line
    Stalls,
    /// SASS with addresses, source lines, executions and samples; needs `nvdisasm`
    Disasm,
}

/// Formats of rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum RowFormat {
    /// Columns
    Text,
    /// JSON only
    Json,
    /// Comma-separated values
    Csv,
}

impl From<RowFormat> for SheetFormat {
    fn from(format: RowFormat) -> Self {
        match format {
            RowFormat::Text => Self::Text,
            RowFormat::Json => Self::Json,
            RowFormat::Csv => Self::Csv,
        }
    }
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
