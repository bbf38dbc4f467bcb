//! Arguments of `show` for what is inside of launches.

use clap::{Args, ValueEnum};
use ncugate_report::show::{LaunchDetail, SheetFormat};

/// Sources, counters and warp states by source line, machine code.
#[derive(Debug, Clone, Copy, Default, Args)]
#[group(multiple = true)]
pub struct DetailArgs {
    /// List the cubins and source files that the reports hold
    #[arg(long, conflicts_with_all = OTHERS)]
    pub sources: bool,
    /// Show what is counted of every source line: samples, executions, wavefronts, sectors; with `--metric` these alone
    #[arg(long, conflicts_with_all = OTHERS, conflicts_with = "sources")]
    pub source_metrics: bool,
    /// Show in which states warps were sampled, in the whole launch and by source line
    #[arg(long, conflicts_with_all = OTHERS, conflicts_with_all = ["sources", "source_metrics"])]
    pub warp_stalls: bool,
    /// Show the instructions of kernels with addresses, source lines, executions and samples; `nvdisasm` gives their text
    #[arg(long, conflicts_with_all = OTHERS, conflicts_with_all = ["sources", "source_metrics", "warp_stalls"])]
    pub disasm: bool,
    /// Format of standard output; csv is for `--sources`, `--source-metrics`, `--warp-stalls` and `--disasm`
    #[arg(long, value_enum, value_name = "FORMAT", default_value_t = RowFormat::Text)]
    pub format: RowFormat,
}

/// What else `show` can do, one thing at a time.
const OTHERS: [&str; 2] = ["rules", "session"];

/// How rows are written.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub enum RowFormat {
    /// Columns for people
    #[default]
    Text,
    /// JSON, and nothing else
    Json,
    /// Comma-separated values
    Csv,
}

impl DetailArgs {
    /// What is asked for, if anything is.
    pub fn detail(&self) -> Option<LaunchDetail> {
        let flags = [
            (self.sources, LaunchDetail::Sources),
            (self.source_metrics, LaunchDetail::SourceMetrics),
            (self.warp_stalls, LaunchDetail::WarpStalls),
            (self.disasm, LaunchDetail::Disassembly),
        ];
        flags.into_iter().find_map(|(set, inside)| set.then_some(inside))
    }
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
