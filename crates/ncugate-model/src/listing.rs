//! The sampled and executed instructions of a kernel with their source lines, as stored in a run.

use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Line {
    /// The run's path of a kernel source; for any other file only its name.
    pub file: String,
    /// Line, from 1.
    pub line: u32,
    /// Its text without indentation, if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Instruction {
    /// Bytes from the kernel's first instruction.
    pub offset: u64,
    /// The instruction: `LDG.E R17, desc[UR8][R4.64]`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// Index of its line: the innermost one in the run's sources, else the outermost, as ncu shows it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<usize>,
    /// Index of the line it was compiled from, if that differs: a line of an inlined function.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub inlined: Option<usize>,
}

/// Instructions of one kernel with their lines.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Listing {
    /// By offset.
    pub instructions: Vec<Instruction>,
    /// Lines, each once.
    pub lines: Vec<Line>,
    /// Unavailable parts, with reasons.
    pub lacks: Vec<String>,
}

impl Listing {
    /// The instruction at an offset.
    pub fn at(&self, offset: u64) -> Option<&Instruction> {
        self.instructions.binary_search_by_key(&offset, |i| i.offset).ok().and_then(|at| self.instructions.get(at))
    }

    /// A line by index.
    pub fn line(&self, index: Option<usize>) -> Option<&Line> {
        self.lines.get(index?)
    }
}
