//! The sampled instructions of a kernel with their source lines, as a run keeps them.

use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Line {
    /// The run's path of a kernel source; of any other file its name alone.
    pub file: String,
    /// Line, from 1.
    pub line: u32,
    /// Its text without indentation, where it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Instruction {
    /// Bytes from the kernel's first instruction.
    pub offset: u64,
    /// What it is: `LDG.E R17, desc[UR8][R4.64]`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// Index of its line: the innermost one in the run's own sources, else the outermost, as ncu shows it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<usize>,
    /// Index of the line it was compiled from, where that is another one: of a function inlined there.
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
    /// What is not known, and why.
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
