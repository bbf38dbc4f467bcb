//! The result of building a variant.

use crate::{ShapeName, VariantId};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// Resources of an entry, read from the cubin.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Resources {
    /// Registers per thread.
    pub registers: u32,
    /// Static shared memory per block in bytes, without the driver's reservation.
    pub static_shared: u32,
    /// Stack frame per thread in bytes, spills included.
    pub stack: u32,
    /// Local memory per thread in bytes: the stacks of the entry and its callees, spills included. Recursion is
    /// excluded, because its depth is unknown.
    pub local: u32,
    /// Instructions in the machine code of the entry and its callees that store or reload a spilled register: a
    /// static count, neither bytes nor executions. Counts the instructions that the compiler marks as spilling in the
    /// cubin (since CUDA 13; spills to shared memory included). If ptxas reports more spilled bytes than are marked,
    /// all loads and stores of local memory are counted instead: an upper bound, never 0 for code that spills.
    pub spills: u32,
    /// Bytes of constant bank 0 (parameters and driver constants).
    pub constant: u32,
    /// Named barriers per block.
    pub barriers: u32,
}

impl Resources {
    /// The resources of a program of several kernels: the maximum of registers, memory and barriers over its kernels,
    /// and the sum of spill instructions.
    #[must_use]
    pub fn combine(self, other: Self) -> Self {
        Self {
            registers: self.registers.max(other.registers),
            static_shared: self.static_shared.max(other.static_shared),
            stack: self.stack.max(other.stack),
            local: self.local.max(other.local),
            spills: self.spills.saturating_add(other.spills),
            constant: self.constant.max(other.constant),
            barriers: self.barriers.max(other.barriers),
        }
    }
}

/// An entry of a program and its resources.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EntryResources {
    /// Its name in the plan; of host code, its symbol.
    pub entry: String,
    pub resources: Resources,
}

/// The launch that a compiler of Python kernels specifies.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum CompiledLaunch {
    /// The same at every shape (Triton).
    /// `threads`: threads per block, along the first axis.
    /// `dynamic_shared`: dynamic shared memory per block in bytes.
    /// `workspace`: memory behind each pointer that follows the arguments, in bytes per block of the grid; 0 for
    /// a null pointer.
    Everywhere { threads: u32, dynamic_shared: u32, workspace: Vec<u64> },
    /// Constants of a CUDA C++ source that its launches name.
    Constants { constants: BTreeMap<String, u32> },
    /// Different for each entry (Triton, with constants that follow the shape).
    ByEntry { entries: BTreeMap<String, Self> },
    /// Different at each shape (Numba, CuTe DSL).
    /// `shapes`: the launches. Missing shapes are not launched.
    ByShape { shapes: Vec<ShapeLaunch> },
}

/// The launch of a kernel at a shape, as its compiler specifies it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShapeLaunch {
    pub shape: ShapeName,
    /// Grid and block, if the compiler specifies them; else those of the plan.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub launched: Option<LaunchExtents>,
    /// Arguments of the kernel, in the order of its parameters.
    pub args: Vec<CompiledArg>,
}

/// The configuration of a launch, without its arguments.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LaunchExtents {
    /// Grid size in blocks.
    pub grid: [u32; 3],
    /// Block size in threads.
    pub block: [u32; 3],
    /// Cluster size in blocks; `[1, 1, 1]` for an ordinary launch.
    pub cluster: [u32; 3],
    /// Dynamic shared memory per block in bytes.
    pub dynamic_shared: u32,
}

/// A kernel parameter that a compiler derives from the arguments of the plan.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CompiledArg {
    /// The argument at that position, as in the plan.
    Given(usize),
    /// A pointer into the buffer that is the argument at that position.
    /// `bytes`: offset in bytes from the address that the argument points to.
    Into { argument: usize, bytes: u64 },
    /// `bytes`: its size in bytes: 1, 2, 4 or 8.
    /// `value`: the unsigned number.
    Whole { bytes: u8, value: u64 },
    /// A struct by value, its fields in order.
    Struct(Vec<CompiledArg>),
}

/// The machine code of a variant, ready for launch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BuiltKernel {
    pub cubin: PathBuf,
    pub symbols: EntrySymbols,
    /// Its launch, if the compiler specifies it.
    pub launch: Option<CompiledLaunch>,
    /// Shapes at which it is never launched.
    pub left_out: Vec<ShapeName>,
}

/// A shape at which a variant is never launched, although it is at others.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeftOutShape {
    pub shape: ShapeName,
    /// Why, at least one reason.
    pub reasons: Vec<String>,
}

/// Symbols in a cubin by the names that a phase gives to its kernels. A name that is itself a symbol is left out.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct EntrySymbols(pub BTreeMap<String, String>);

impl EntrySymbols {
    /// Whether every entry is a symbol.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The symbol of an entry.
    pub fn of<'s>(&'s self, entry: &'s str) -> &'s str {
        self.0.get(entry).map_or(entry, String::as_str)
    }
}

/// The place of a kernel whose number of instructions grew the most.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CodeGrowth {
    /// `file:line`; the kernel, if it has no line table.
    pub place: String,
    pub before: u32,
    pub after: u32,
}

/// How building a variant ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "status", rename_all = "snake_case")]
#[expect(clippy::large_enum_variant, reason = "nearly every outcome is the large one")]
pub enum BuildOutcome {
    /// There is a cubin.
    Built {
        /// Where it is in the cache; empty in a recording.
        cubin: PathBuf,
        /// SHA-256 of the cubin.
        cubin_sha256: String,
        /// SHA-256 of the launched machine code, with its resources and the constants and variables that it can
        /// access. Equal code with equal launches is measured once.
        code_sha256: String,
        /// Resources; of several entries, combined.
        resources: Resources,
        /// The symbols of entries that are C++ names.
        #[serde(default, skip_serializing_if = "EntrySymbols::is_empty")]
        symbols: EntrySymbols,
        /// The entries, if there are several.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        entries: Vec<EntryResources>,
        /// Architecture it was built for (`sm_90`).
        arch: String,
        cached: bool,
        /// Output of nvcc, mostly warnings, without ptxas' resource reports.
        log: String,
        /// Its launch, if the compiler specifies it; else that of the plan applies.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        launch: Option<CompiledLaunch>,
        /// Shapes at which it is never launched; not all shapes.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        left_out: Vec<LeftOutShape>,
        /// Where it has more instructions than the same candidate by the first toolchain.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        growth: Option<CodeGrowth>,
    },
    /// nvcc failed, or the cubin has no such entry.
    Failed {
        /// The compiler's message.
        message: String,
    },
    /// Its launch cannot work on this chip, so that it is never launched.
    Refused {
        /// The reasons, with a byte budget if shared memory is too large.
        reasons: Vec<String>,
        /// Resources; none if the refusal did not need a compilation.
        resources: Option<Resources>,
    },
    /// An external command: nothing to build.
    NotNeeded,
}

impl BuildOutcome {
    /// The shapes at which it is never launched, although it is at others.
    pub fn left_out(&self) -> &[LeftOutShape] {
        match self {
            Self::Built { left_out, .. } => left_out,
            Self::Failed { .. } | Self::Refused { .. } | Self::NotNeeded => &[],
        }
    }

    /// Why it is never launched at this shape; none if it is.
    pub fn left_out_at(&self, shape: &ShapeName) -> Option<String> {
        let out = self.left_out().iter().find(|out| &out.shape == shape)?;
        Some(format!("not launched at shape `{shape}`: {}", out.reasons.join("; ")))
    }
}

/// A line of `builds.jsonl`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BuildRecord {
    pub variant: VariantId,
    /// The variant whose measurements it shares, because machine code and launches are equal.
    pub shares: Option<VariantId>,
    pub outcome: BuildOutcome,
}
