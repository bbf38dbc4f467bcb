//! Results of NVIDIA's compute-sanitizer for a variant.

use super::id::{ShapeName, VariantId};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

words! {
    as_str;
    /// A tool of compute-sanitizer.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum SanitizerTool {
        /// Accesses outside of allocations, and misaligned ones.
        Memcheck = "memcheck",
        /// Races in shared memory.
        Racecheck = "racecheck",
        /// Invalid barriers.
        Synccheck = "synccheck",
        /// Reads of global memory that nothing has written.
        Initcheck = "initcheck",
    }
}

impl FromStr for SanitizerTool {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let known = Self::WORDS.iter().find(|(word, _)| *word == text);
        known.map(|(_, tool)| *tool).ok_or_else(|| format!("`{text}` is not a tool of compute-sanitizer"))
    }
}

/// Equal reports of a tool: the same defect at the same place.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SanitizerFinding {
    /// The defect in the tool's words (`Invalid __global__ write of size 4 bytes`).
    pub what: String,
    /// The kernel's demangled signature; `None` if the tool does not name it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kernel: Option<String>,
    /// Source file and line (`copy.cu:12`); `None` without `-lineinfo`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<String>,
    /// The first affected address, or the other accesses of a race, in the tool's words.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub details: Vec<String>,
    /// Number of reports, mostly one a thread.
    pub count: u64,
}

impl fmt::Display for SanitizerFinding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what)?;
        if let Some(kernel) = &self.kernel {
            write!(f, " in `{kernel}`")?;
        }
        if let Some(line) = &self.line {
            write!(f, " at {line}")?;
        }
        self.details.iter().try_for_each(|detail| write!(f, ", {detail}"))?;
        if self.count > 1 { write!(f, " ({} reports)", self.count) } else { Ok(()) }
    }
}

/// The result of one tool for a variant.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "status", rename_all = "snake_case")]
pub enum SanitizerOutcome {
    /// The launch ended, and the tool reports nothing.
    Clean,
    Found {
        /// At least one.
        findings: Vec<SanitizerFinding>,
        /// Number of reports that the tool counted and did not print.
        unlisted: u64,
        /// Why the launch or the log did not come to its end, so that there can be more; `None` if it did.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        failure: Option<String>,
    },
    /// The tool is missing, or did not come to a result.
    Failed { reason: String },
}

/// A line of `sanitizer.jsonl`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SanitizerRecord {
    pub variant: VariantId,
    pub shape: ShapeName,
    pub tool: SanitizerTool,
    /// compute-sanitizer's version (`2025.3.1.0`); `None` if none was found.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    pub outcome: SanitizerOutcome,
}
