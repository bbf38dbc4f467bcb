//! Problems and results in the formats of other projects (FlashInfer-Trace, KernelBench, gpu-mode), phases from PyTorch
//! functions, and jobs of cluster schedulers.
//!
//! An import writes a phase and, in a folder next to it, the problem's files with a Python file that calls them. It
//! parses Python and does not execute it unless asked to; the phase's reference and worker call it later. A PyTorch function
//! is called.
//!
//! Deliberately absent: rules of judging, scheduling.

pub mod submit;

mod adapter;
mod description;
mod error;
mod evaluation;
mod exported_run;
mod flashinfer;
mod gpumode;
mod kernel_results;
mod kernelbench;
mod problem;
mod ranking;
mod safetensors;
mod task_file;
mod tensor;
mod torch_function;
mod trace_set;
mod traces;
mod tuned_table;
mod tuning_phase;

pub use description::Parser;
pub use error::{ExportRefusal, ImportError};
pub use exported_run::ExportedRun;
pub use flashinfer::{FlashInferChoice, import_flashinfer};
pub use gpumode::{GpuModeProblem, import_gpumode};
pub use kernel_results::{ProblemScore, THRESHOLDS, kernel_results, problem_number, score, scored};
pub use kernelbench::{KernelBenchProblem, Precision, import_kernelbench};
pub use problem::{ImportTarget, NewPhase};
pub use ranking::ranking;
pub use tensor::GivenTensor;
pub use torch_function::{InputShape, LiteralArgument, Pass, TorchFunction, TorchNames, TorchPhase};
pub use traces::traces;
pub use tuned_table::{Configuration, RivalConfiguration, TunedBucket, TunedTable, TuningFormat};
pub use tuning_phase::TuningPhase;
