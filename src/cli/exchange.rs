//! The command lines of problems in and results out.

use super::OutputFormat;
use clap::{Args, Subcommand, ValueEnum};
use ncugate_exchange::{GivenTensor, THRESHOLDS};
use std::path::PathBuf;

/// `ncugate problem import`
#[derive(Debug, Subcommand)]
pub enum ImportCommand {
    /// A definition of FlashInfer-Trace, with its workloads and solutions
    #[command(name = "flashinfer")]
    FlashInfer(ImportFlashInferArgs),
    /// A problem of KernelBench and solutions of it
    #[command(name = "kernelbench")]
    KernelBench(ImportKernelBenchArgs),
    /// A task of gpu-mode and submissions to it
    #[command(name = "gpumode")]
    GpuMode(ImportGpuModeArgs),
}

/// `ncugate problem import flashinfer`
#[derive(Debug, Args)]
pub struct ImportFlashInferArgs {
    /// The folder with definitions, workloads and solutions
    #[arg(value_name = "DIR")]
    pub folder: PathBuf,
    /// The phase to write; its files go to the folder of the same name beside it
    #[arg(short, long, value_name = "PHASE.toml")]
    pub output: PathBuf,
    /// The definition, where the folder has several
    #[arg(long, value_name = "NAME")]
    pub definition: Option<String>,
    /// A solution, as often as needed; without it all that a phase can call
    #[arg(long = "solution", value_name = "NAME")]
    pub solutions: Vec<String>,
    /// A workload, as often as needed; without it all
    #[arg(long = "workload", value_name = "UUID")]
    pub workloads: Vec<String>,
    /// What standard output carries
    #[arg(long, value_enum, default_value_t = OutputFormat::Text)]
    pub format: OutputFormat,
}

/// Tensors that a problem's file does not tell to who only reads it.
#[derive(Debug, Clone, Args)]
pub struct GivenTensors {
    /// An input, where the file does not say it plainly: `mask=bool[N, 64]:{ mask = 0.5 }`, extents over the file's constants
    #[arg(long = "input", value_name = "NAME=TYPE[EXTENT,...]")]
    pub inputs: Vec<GivenTensor>,
    /// A result, in order: `y=f32[N, 64]`; `[]` is one element without axes
    #[arg(long = "returns", value_name = "NAME=TYPE[EXTENT,...]")]
    pub outputs: Vec<GivenTensor>,
    /// The Python whose parser reads the files; they are not executed
    #[arg(long, value_name = "PYTHON", default_value = "python3")]
    pub python: PathBuf,
}

/// The type that a problem of KernelBench is computed in.
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
    /// The problem: `Model`, `get_inputs`, `get_init_inputs`
    #[arg(value_name = "PROBLEM.py")]
    pub problem: PathBuf,
    /// A file with `ModelNew`, as often as needed
    #[arg(long = "solution", value_name = "FILE.py", required = true)]
    pub solutions: Vec<PathBuf>,
    /// The phase to write; its files go to the folder of the same name beside it
    #[arg(short, long, value_name = "PHASE.toml")]
    pub output: PathBuf,
    /// The type that it is computed in, with KernelBench's tolerance for it
    #[arg(long, value_enum, default_value_t = ImportPrecision::Fp32)]
    pub precision: ImportPrecision,
    /// Tensors
    #[command(flatten)]
    pub tensors: GivenTensors,
    /// What standard output carries
    #[arg(long, value_enum, default_value_t = OutputFormat::Text)]
    pub format: OutputFormat,
}

/// `ncugate problem import gpumode`
#[derive(Debug, Args)]
pub struct ImportGpuModeArgs {
    /// The task
    #[arg(value_name = "TASK.yml")]
    pub task: PathBuf,
    /// The phase to write; its files go to the folder of the same name beside it
    #[arg(short, long, value_name = "PHASE.toml")]
    pub output: PathBuf,
    /// A file with `custom_kernel`, as often as needed; without it `submission.py` beside the task
    #[arg(long = "solution", value_name = "FILE.py")]
    pub solutions: Vec<PathBuf>,
    /// Relative bound of an element, where reference.py does not say it
    #[arg(long, value_name = "NUMBER", requires = "atol")]
    pub rtol: Option<f64>,
    /// Absolute bound of an element, where reference.py does not say it
    #[arg(long, value_name = "NUMBER", requires = "rtol")]
    pub atol: Option<f64>,
    /// Tensors
    #[command(flatten)]
    pub tensors: GivenTensors,
    /// What standard output carries
    #[arg(long, value_enum, default_value_t = OutputFormat::Text)]
    pub format: OutputFormat,
}

/// `ncugate problem export`
#[derive(Debug, Subcommand)]
pub enum ExportCommand {
    /// Traces of FlashInfer-Trace, a line of JSON for each candidate and timed shape
    #[command(name = "flashinfer")]
    FlashInfer(ExportFlashInferArgs),
    /// `eval_results.json` of KernelBench, of one run or several
    #[command(name = "kernelbench")]
    KernelBench(ExportKernelBenchArgs),
    /// The ranking of gpu-mode: one score a submission over all benchmarks
    #[command(name = "gpumode")]
    GpuMode(ExportFlashInferArgs),
    /// KernelBench's score over the latest run of every phase in a folder of runs
    #[command(name = "fast-p")]
    FastP(ExportFastPArgs),
}

/// `ncugate problem export flashinfer` and `ncugate problem export gpumode`
#[derive(Debug, Args)]
pub struct ExportFlashInferArgs {
    /// The run: its folder, its id, a phase for its newest run, or `latest`
    #[arg(value_name = "RUN")]
    pub run: PathBuf,
    /// File to write, replaced if it is there; else standard output
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
}

/// `ncugate problem export kernelbench`
#[derive(Debug, Args)]
pub struct ExportKernelBenchArgs {
    /// Runs, each of another problem
    #[arg(value_name = "RUN", required = true)]
    pub runs: Vec<PathBuf>,
    /// The problem's number, where its name does not begin with it
    #[arg(long, value_name = "N")]
    pub problem: Option<u64>,
    /// File to write, replaced if it is there; else standard output
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
}

/// `ncugate problem export fast-p`
#[derive(Debug, Args)]
pub struct ExportFastPArgs {
    /// The folder of runs
    #[arg(value_name = "DIR", default_value = "profiles")]
    pub profiles: PathBuf,
    /// Thresholds
    #[arg(long = "threshold", value_name = "P", default_values_t = THRESHOLDS)]
    pub thresholds: Vec<f64>,
    /// File to write, replaced if it is there; else standard output
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
}
