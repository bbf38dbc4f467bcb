//! Arguments of `problem`.

use super::OutputFormat;
use clap::{Args, Subcommand, ValueEnum};
use ncugate_exchange::{GivenTensor, THRESHOLDS};
use std::path::PathBuf;

/// `ncugate problem import`
#[derive(Debug, Subcommand)]
pub enum ImportCommand {
    /// Import a definition of FlashInfer-Trace with its workloads and solutions
    #[command(name = "flashinfer")]
    FlashInfer(ImportFlashInferArgs),
    /// Import a problem of KernelBench with its solutions
    #[command(name = "kernelbench")]
    KernelBench(ImportKernelBenchArgs),
    /// Import a task of gpu-mode with its submissions
    #[command(name = "gpumode")]
    GpuMode(ImportGpuModeArgs),
}

/// `ncugate problem import flashinfer`
#[derive(Debug, Args)]
pub struct ImportFlashInferArgs {
    /// Folder with definitions, workloads and solutions
    #[arg(value_name = "DIR")]
    pub folder: PathBuf,
    /// Phase file to write; its other files go to the folder PHASE next to it
    #[arg(short, long, value_name = "PHASE.toml")]
    pub output: PathBuf,
    /// Definition, if the folder has several
    #[arg(long, value_name = "NAME")]
    pub definition: Option<String>,
    /// Solution (repeatable) [default: all that a phase can call]
    #[arg(long = "solution", value_name = "NAME")]
    pub solutions: Vec<String>,
    /// Workload (repeatable) [default: all]
    #[arg(long = "workload", value_name = "UUID")]
    pub workloads: Vec<String>,
    /// Format of standard output
    #[arg(long, value_enum, default_value_t = OutputFormat::Text)]
    pub format: OutputFormat,
}

/// Tensors that a problem's file does not declare statically.
#[derive(Debug, Clone, Args)]
pub struct GivenTensors {
    /// Input that the file does not declare (repeatable): `mask=bool[N, 64]:{ mask = 0.5 }`
    #[arg(long = "input", value_name = "NAME=TYPE[EXTENT,...]")]
    pub inputs: Vec<GivenTensor>,
    /// Result that the file does not declare, in order (repeatable): `y=f32[N, 64]`, or `[]` for a scalar
    #[arg(long = "returns", value_name = "NAME=TYPE[EXTENT,...]")]
    pub outputs: Vec<GivenTensor>,
    /// Python interpreter that parses the files without executing them
    #[arg(long, value_name = "PYTHON", default_value = "python3")]
    pub python: PathBuf,
}

/// Data type of a problem of KernelBench.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ImportPrecision {
    /// float32
    Fp32,
    /// float16
    Fp16,
    /// bfloat16
    Bf16,
}

/// `ncugate problem import kernelbench`
#[derive(Debug, Args)]
pub struct ImportKernelBenchArgs {
    /// Problem file with `Model`, `get_inputs` and `get_init_inputs`
    #[arg(value_name = "PROBLEM.py")]
    pub problem: PathBuf,
    /// File with `ModelNew` (repeatable)
    #[arg(long = "solution", value_name = "FILE.py", required = true)]
    pub solutions: Vec<PathBuf>,
    /// Phase file to write; its other files go to the folder PHASE next to it
    #[arg(short, long, value_name = "PHASE.toml")]
    pub output: PathBuf,
    /// Data type of the problem, with KernelBench's tolerance for it
    #[arg(long, value_enum, default_value_t = ImportPrecision::Fp32)]
    pub precision: ImportPrecision,
    /// Tensors
    #[command(flatten)]
    pub tensors: GivenTensors,
    /// Format of standard output
    #[arg(long, value_enum, default_value_t = OutputFormat::Text)]
    pub format: OutputFormat,
}

/// `ncugate problem import gpumode`
#[derive(Debug, Args)]
pub struct ImportGpuModeArgs {
    /// Task file
    #[arg(value_name = "TASK.yml")]
    pub task: PathBuf,
    /// Phase file to write; its other files go to the folder PHASE next to it
    #[arg(short, long, value_name = "PHASE.toml")]
    pub output: PathBuf,
    /// File with `custom_kernel` (repeatable) [default: `submission.py` next to the task]
    #[arg(long = "solution", value_name = "FILE.py")]
    pub solutions: Vec<PathBuf>,
    /// Relative tolerance of an element, if reference.py does not state it
    #[arg(long, value_name = "NUMBER", requires = "atol")]
    pub rtol: Option<f64>,
    /// Absolute tolerance of an element, if reference.py does not state it
    #[arg(long, value_name = "NUMBER", requires = "rtol")]
    pub atol: Option<f64>,
    /// Tensors
    #[command(flatten)]
    pub tensors: GivenTensors,
    /// Format of standard output
    #[arg(long, value_enum, default_value_t = OutputFormat::Text)]
    pub format: OutputFormat,
}

/// `ncugate problem export`
#[derive(Debug, Subcommand)]
pub enum ExportCommand {
    /// Export traces of FlashInfer-Trace: one JSON line per candidate and shape
    #[command(name = "flashinfer")]
    FlashInfer(ExportFlashInferArgs),
    /// Export `eval_results.json` of KernelBench from one or more runs
    #[command(name = "kernelbench")]
    KernelBench(ExportKernelBenchArgs),
    /// Export the ranking of gpu-mode: one score per submission
    #[command(name = "gpumode")]
    GpuMode(ExportFlashInferArgs),
    /// Compute KernelBench's score over the latest run of every phase
    #[command(name = "fast-p")]
    FastP(ExportFastPArgs),
}

/// `ncugate problem export flashinfer` and `ncugate problem export gpumode`
#[derive(Debug, Args)]
pub struct ExportFlashInferArgs {
    /// Run: a folder, an id, a phase (its newest run), or `latest`
    #[arg(value_name = "RUN")]
    pub run: PathBuf,
    /// File to write, overwritten if it exists [default: standard output]
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
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

/// `ncugate problem export fast-p`
#[derive(Debug, Args)]
pub struct ExportFastPArgs {
    /// Folder of runs
    #[arg(value_name = "DIR", default_value = "profiles")]
    pub profiles: PathBuf,
    /// Speedup threshold (repeatable)
    #[arg(long = "threshold", value_name = "P", default_values_t = THRESHOLDS)]
    pub thresholds: Vec<f64>,
    /// File to write, overwritten if it exists [default: standard output]
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
}
