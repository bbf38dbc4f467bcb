//! Arguments of `explain` and `tools occupancy`.

use super::{LaunchArgs, OutputFormat};
use clap::{Args, ValueEnum};
use std::path::PathBuf;

/// `ncugate explain`
#[derive(Debug, Clone, Args)]
pub struct ExplainArgs {
    /// A run, an ncu report, or a word: a metric by ncugate's or Nsight Compute's name, a rule (`few_warps`), a word of the
    /// glossary (`witness`), an exit status (`4`)
    #[arg(value_name = "RUN|REPORT|WORD", required_unless_present = "rules")]
    pub path: Option<PathBuf>,
    /// Variant of a run to explain, instead of the one in use
    #[arg(long, value_name = "VARIANT")]
    pub variant: Option<String>,
    /// Shape of a run, instead of the objective's; `large` also means the only shape of the product `large` at which the
    /// variant is launched
    #[arg(long, value_name = "SHAPE")]
    pub shape: Option<String>,
    /// Explain every variant or kernel: a Markdown table with a row for each, or JSON
    #[arg(long, conflicts_with_all = ["variant", "reader"])]
    pub each: bool,
    /// Explain the sweep: effects and interactions of parameters, best values at the edge of a range, Pareto front
    #[arg(long, conflicts_with_all = ["variant", "each", "reader", "rules"])]
    pub sweep: bool,
    /// Metrics of the Pareto front (repeatable)
    #[arg(long = "metric", value_name = "METRIC", value_delimiter = ',', requires = "sweep")]
    pub objectives: Vec<String>,
    /// Draw the Pareto front, one line per variant, to this file
    #[arg(long, value_name = "FILE.svg", requires = "sweep")]
    pub svg: Option<PathBuf>,
    /// Compare source lines and machine code with this variant; both need a deep profile
    #[arg(long, value_name = "VARIANT", conflicts_with_all = ["each", "sweep", "reader", "rules"])]
    pub beside: Option<String>,
    /// Measure on this machine's GPU what each cost of the variant is worth, and store it in the run
    #[arg(long, value_name = "VARIANT", num_args = 0..=1, default_missing_value = "", conflicts_with_all = ["variant", "each", "sweep", "rules"])]
    pub measure: Option<String>,
    /// Launches
    #[command(flatten)]
    pub launches: LaunchArgs,
    /// Folder of runs
    #[arg(long, value_name = "DIR", default_value = "profiles")]
    pub profiles: PathBuf,
    /// Reader of the explanation
    #[arg(long = "for", value_enum, value_name = "READER", default_value_t = Reader::Person)]
    pub reader: Reader,
    /// Format of standard output
    #[arg(long, value_enum, default_value_t = OutputFormat::Text)]
    pub format: OutputFormat,
    /// List the rules and the facts that they read; for a run or report, with the number of cases by outcome
    #[arg(long, conflicts_with_all = ["variant", "shape", "each", "reader"])]
    pub rules: bool,
}

/// `ncugate tools occupancy`
#[derive(Debug, Args)]
pub struct OccupancyArgs {
    /// Compute capability (`cc=9.0`), registers per thread (`registers=96`), threads per block (`block=192`), static and
    /// dynamic shared memory per block (`smem=49152` or `smem=48KiB`), and `oversized` shared memory (compute capability 10.7)
    #[arg(value_name = "KEY=VALUE", required = true)]
    pub resources: Vec<String>,
    /// Format of standard output
    #[arg(long, value_enum, default_value_t = OutputFormat::Text)]
    pub format: OutputFormat,
}

/// Reader of an explanation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Reader {
    /// A person at a terminal
    Person,
    /// A program: one JSON object under 2 KB
    Agent,
}
