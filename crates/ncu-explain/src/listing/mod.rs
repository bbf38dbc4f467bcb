//! The instructions of a kernel: their text, and their source lines.
//!
//! An ncu report holds the kernel's cubin and, on request, the text of its source files, but no disassembly. Lines are
//! read from the cubin here. CUDA's `nvdisasm` gives the text of instructions while a run is measured, and the run
//! stores it, so rendering needs neither. Paths in a report are names and are never opened.

mod disassembly;
mod record;
mod source;

pub use disassembly::Disassembler;
pub use record::{Code, listing};
pub use source::{SourceTexts, UserSources};

use ncugate_model::cubin::CubinError;

/// Why a kernel's instructions are unknown.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ListingError {
    /// The report holds no machine code for the launch.
    #[error("the report holds no machine code of `{kernel}`")]
    NoCode { kernel: String },
    /// The machine code is damaged.
    #[error(transparent)]
    Cubin(#[from] CubinError),
    /// The kernel calls functions, and the kernel itself cannot be identified among them.
    #[error("the kernel is one of {functions} functions over {span} bytes, and it is not known which")]
    Ambiguous {
        functions: usize,
        /// From the first to the last.
        span: u64,
    },
    /// CUDA's disassembler is missing.
    #[error("nvdisasm was not found: {looked}; it comes with the CUDA toolkit")]
    NoDisassembler { looked: String },
    /// No disassembler was used: another program made the report.
    #[error("instructions have no text: a report holds none, and nvdisasm is asked only while a run is measured")]
    NotAsked,
    /// CUDA's disassembler failed.
    #[error("nvdisasm {reason}")]
    Disassembler {
        /// Its exit status and output.
        reason: String,
    },
}
