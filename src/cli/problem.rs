//! Arguments of `problem`.

use clap::{Args, Subcommand};
use std::ffi::OsString;
use std::path::PathBuf;

/// `ncugate problem`
#[derive(Debug, Subcommand)]
pub enum ProblemCommand {
    /// Create a phase from a problem of flashinfer, kernelbench or gpumode
    #[command(disable_help_flag = true)]
    Import(PackageArgs),
    /// Export results in another project's format
    #[command(subcommand)]
    Export(ExportCommand),
}

/// Arguments that the Python package parses.
#[derive(Debug, Args)]
pub struct PackageArgs {
    /// Arguments of the Python package; `--help` lists them
    #[arg(value_name = "ARGS", trailing_var_arg = true, allow_hyphen_values = true)]
    pub words: Vec<OsString>,
}

/// `ncugate problem export`
#[derive(Debug, Subcommand)]
pub enum ExportCommand {
    /// Export `eval_results.json` of KernelBench from one or more runs
    #[command(name = "kernelbench")]
    KernelBench(ExportKernelBenchArgs),
    /// Export traces of FlashInfer-Trace: one JSON line per candidate and shape
    #[command(name = "flashinfer", disable_help_flag = true)]
    FlashInfer(PackageArgs),
    /// Export the ranking of gpu-mode: one score per submission
    #[command(name = "gpumode", disable_help_flag = true)]
    GpuMode(PackageArgs),
    /// Compute KernelBench's score over the latest run of every phase
    #[command(name = "fast-p", disable_help_flag = true)]
    FastP(PackageArgs),
    /// Print each candidate at each shape as JSON, for the Python package
    #[command(hide = true)]
    Evaluations {
        /// Run
        run: PathBuf,
    },
}

/// `ncugate problem export kernelbench`
#[derive(Debug, Args)]
pub struct ExportKernelBenchArgs {
    /// Runs, each of a different problem
    #[arg(value_name = "RUN", required = true)]
    pub runs: Vec<PathBuf>,
    /// Number of the problem, if its name does not begin with it
    #[arg(long, value_name = "N")]
    pub problem: Option<u64>,
    /// File to write, overwritten if it exists [default: standard output]
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
}
