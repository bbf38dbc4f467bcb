//! Arguments of `explain` and `tools occupancy`.

use super::{LaunchArgs, OutputFormat};
use clap::{Args, ValueEnum};
use std::path::PathBuf;

/// `ncugate explain`
#[derive(Debug, Args)]
pub struct ExplainArgs {
    /// A run, an ncu report, or the name of a metric: the catalogue's or Nsight Compute's
    #[arg(value_name = "RUN|REPORT|METRIC", required_unless_present = "rules")]
    pub path: Option<PathBuf>,
    /// Variant of a run to explain, instead of the selected one
    #[arg(long, value_name = "VARIANT")]
    pub variant: Option<String>,
    /// Shape of a run, instead of the objective's
    #[arg(long, value_name = "SHAPE")]
    pub shape: Option<String>,
    /// Explain every variant or kernel: a Markdown table with a row for each, or JSON
    #[arg(long, conflicts_with_all = ["variant", "reader"])]
    pub each: bool,
    /// Say what each parameter of the sweep does, which depend on one another, which are best at the edge of their range, and which
    /// variants no other beats
    #[arg(long, conflicts_with_all = ["variant", "each", "reader", "rules"])]
    pub sweep: bool,
    /// Objectives of that front: metrics, as many as wanted
    #[arg(long, value_name = "METRIC", value_delimiter = ',', requires = "sweep")]
    pub objectives: Vec<String>,
    /// Draw that front: each variant is a line through its objectives
    #[arg(long, value_name = "FILE.svg", requires = "sweep")]
    pub svg: Option<PathBuf>,
    /// Set the source lines and the machine code of that variant beside those of this one; both need a deep profile
    #[arg(long, value_name = "VARIANT", conflicts_with_all = ["each", "sweep", "reader", "rules"])]
    pub beside: Option<String>,
    /// Launches
    #[command(flatten)]
    pub launches: LaunchArgs,
    /// Folder of runs
    #[arg(long, value_name = "DIR", default_value = "profiles")]
    pub profiles: PathBuf,
    /// Who reads it
    #[arg(long = "for", value_enum, value_name = "READER", default_value_t = Reader::Person)]
    pub reader: Reader,
    /// What standard output carries
    #[arg(long, value_enum, default_value_t = OutputFormat::Text)]
    pub format: OutputFormat,
    /// List the rules, and the facts that they read; of a run or a report, for how many cases each holds, does not hold, or lacks
    /// counters
    #[arg(long, conflicts_with_all = ["variant", "shape", "each", "reader"])]
    pub rules: bool,
}

/// `ncugate tools occupancy`
#[derive(Debug, Args)]
pub struct OccupancyArgs {
    /// Compute capability
    #[arg(long, value_name = "CC")]
    pub cc: String,
    /// Registers a thread
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(0..=255))]
    pub registers: u32,
    /// Shared memory a block in bytes, static and dynamic together
    #[arg(long, value_name = "BYTES", default_value_t = 0, value_parser = clap::value_parser!(u32).range(..=1_048_576))]
    pub smem: u32,
    /// Threads a block
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub block: u32,
    /// Named barriers a block
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(..=16))]
    pub barriers: u32,
    /// Blocks a cluster
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=16))]
    pub cluster: u32,
    /// Multiprocessors of the GPU, for the number of clusters
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub sms: Option<u32>,
    /// The launch asks for oversized shared memory, which 10.7 has
    #[arg(long)]
    pub oversized: bool,
    /// What standard output carries
    #[arg(long, value_enum, default_value_t = OutputFormat::Text)]
    pub format: OutputFormat,
}

/// Who reads an explanation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Reader {
    /// Somebody at a terminal
    Person,
    /// A program: one JSON object under 2 KB
    Agent,
}
