//! Arguments of `show` for the details of launches.

use clap::{Args, ValueEnum};
use ncugate_report::show::{LaunchDetail, SheetFormat};

/// Sources, counters and warp states by source line, machine code.
#[derive(Debug, Clone, Copy, Default, Args)]
#[group(multiple = true)]
pub struct DetailArgs {
    /// List the cubins and source files that the reports hold
    #[arg(long, conflicts_with_all = OTHERS)]
    pub sources: bool,
    /// Show counters by source line: samples, executions, wavefronts, sectors, or those of `--metric`
    #[arg(long, conflicts_with_all = OTHERS, conflicts_with = "sources")]
    pub source_metrics: bool,
    /// Show warp states by launch and by source line
    #[arg(long, conflicts_with_all = OTHERS, conflicts_with_all = ["sources", "source_metrics"])]
    pub warp_stalls: bool,
    /// Show SASS with addresses, source lines, executions and samples; needs `nvdisasm`
    #[arg(long, conflicts_with_all = OTHERS, conflicts_with_all = ["sources", "source_metrics", "warp_stalls"])]
    pub disasm: bool,
    /// Format of standard output; csv only with `--sources`, `--source-metrics`, `--warp-stalls` or `--disasm`
    #[arg(long, value_enum, value_name = "FORMAT", default_value_t = RowFormat::Text)]
    pub format: RowFormat,
}

/// Options of `show` that exclude these.
const OTHERS: [&str; 2] = ["rules", "session"];

/// Formats of rows.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub enum RowFormat {
    /// Columns
    #[default]
    Text,
    /// JSON only
    Json,
    /// Comma-separated values
    Csv,
}

impl DetailArgs {
    /// The requested detail, if any.
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
