//! Problems of other projects in, and results under their names out.
//!
//! An import writes a phase and, in a folder beside it, the problem's own files with a Python file that calls them. It executes
//! no problem unless it is asked to: what is Python is parsed, and called by the phase's reference and worker later. Formats are
//! those of flashinfer-bench (FlashInfer-Trace), KernelBench and gpu-mode's reference-kernels, as their repositories describe them.

pub mod submit;

mod adapter;
mod described;
mod error;
mod evaluated;
mod exported;
mod flashinfer;
mod gpumode;
mod kernel_results;
mod kernelbench;
mod problem;
mod ranking;
mod safetensors;
mod task_file;
mod tensor;
mod trace_set;
mod traces;

pub use described::Parser;
pub use error::{ExportRefusal, ImportError};
pub use exported::ExportedRun;
pub use flashinfer::{FlashInferChoice, import_flashinfer};
pub use gpumode::{GpuModeProblem, import_gpumode};
pub use kernel_results::{Scored, THRESHOLDS, kernel_results, problem_number, score, scored};
pub use kernelbench::{KernelBenchProblem, Precision, import_kernelbench};
pub use problem::{ImportTarget, NewPhase};
pub use ranking::ranking;
pub use tensor::GivenTensor;
pub use traces::traces;
