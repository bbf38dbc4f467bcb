//! Arguments of `ncugate show`.

use super::DetailArgs;
use clap::{Args, ValueEnum};
use ncugate_judge::frame;
use regex::Regex;
use std::path::PathBuf;

/// `ncugate show`
#[derive(Debug, Clone, Args)]
pub struct ShowArgs {
    /// Reports (`.ncu-rep`, `.ncu-repz`), ncu's CSV, or globs of them
    #[arg(required = true, value_name = "REPORT")]
    pub reports: Vec<String>,
    /// Only launches whose kernel name matches
    #[arg(long, value_name = "REGEX")]
    pub kernel: Option<Regex>,
    /// Show NVTX ranges; with a value, only launches whose ranges match (`name` or `domain@name`)
    #[arg(long, value_name = "REGEX", num_args = 0..=1, require_equals = true, default_missing_value = "")]
    pub nvtx: Option<Regex>,
    /// Metrics to show or export: full names or globs, as often as needed
    #[arg(long = "metric", value_name = "NAME|GLOB", value_delimiter = ',')]
    pub metrics: Vec<String>,
    /// Only the launch with the id that ncu prints; without `--metric`, that launch in full
    #[arg(long, value_name = "N")]
    pub launch: Option<u32>,
    /// Show the messages of ncu's rules
    #[arg(long, conflicts_with = "export")]
    pub rules: bool,
    /// Show how the report was made: command line, versions, system, devices
    #[arg(long, conflicts_with = "export")]
    pub session: bool,
    /// Write the metrics instead of a table: base units, full precision, one row a launch and metric
    #[arg(long, value_name = "FORMAT")]
    pub export: Option<ExportFormat>,
    /// Write a page instead, one file that opens from disk: kernels by time and NVTX range, throughputs, roofline, warp
    /// states, source, ncu's rules; of two reports a comparison
    #[arg(long, conflicts_with_all = ["export", "rules", "session", "metrics"])]
    pub html: bool,
    /// What is inside
    #[command(flatten)]
    pub inside: DetailArgs,
    /// Where the export or the page goes; `-` is standard output
    #[arg(short, long, value_name = "FILE", default_value = "-")]
    pub output: PathBuf,
    /// Export one row a launch with one column a metric
    #[arg(long, requires = "export")]
    pub wide: bool,
}

/// Formats of an export.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ExportFormat {
    /// Comma-separated values
    Csv,
    /// JSON, an array of objects
    Json,
    /// Apache parquet
    Parquet,
    /// Apache Arrow, an IPC file (Feather)
    Arrow,
}

impl From<ExportFormat> for frame::export::Format {
    fn from(format: ExportFormat) -> Self {
        match format {
            ExportFormat::Csv => Self::Csv,
            ExportFormat::Json => Self::Json,
            ExportFormat::Parquet => Self::Parquet,
            ExportFormat::Arrow => Self::Arrow,
        }
    }
}
