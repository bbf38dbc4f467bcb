//! What the instructions of a kernel are: their text, and the source lines they come from.
//!
//! An ncu report holds the kernel's cubin and, where it was asked to, the text of its source files; it holds no
//! disassembly. Lines are read from the cubin here; the text of instructions is asked from CUDA's `nvdisasm` while a run
//! is measured and kept with it, so that rendering needs neither. Paths in a report are names, never opened.

mod disassembly;
mod record;
mod source;

pub use disassembly::Disassembler;
pub use record::{Code, listing};
pub use source::{SourceTexts, UserSources};

use ncugate_model::cubin::CubinError;

/// Why a kernel's instructions are not known.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ListingError {
    /// The report holds no machine code for the launch.
    #[error("the report holds no machine code of `{kernel}`")]
    NoCode { kernel: String },
    /// The machine code is damaged.
    #[error(transparent)]
    Cubin(#[from] CubinError),
    /// The kernel calls functions, and it is not known which of them is the kernel itself.
    #[error("the kernel is one of {functions} functions over {span} bytes, and it is not known which")]
    Ambiguous {
        functions: usize,
        /// From the first to the last.
        span: u64,
    },
    /// CUDA's disassembler is not there.
    #[error("nvdisasm was not found: {looked}; it comes with the CUDA toolkit")]
    NoDisassembler { looked: String },
    /// Nothing was asked of a disassembler: the report was not made by this program.
    #[error("instructions have no text: a report holds none, and nvdisasm is asked only while a run is measured")]
    NotAsked,
    /// CUDA's disassembler failed.
    #[error("nvdisasm {reason}")]
    Disassembler {
        /// How it ended and what it said.
        reason: String,
    },
}
