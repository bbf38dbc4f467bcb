//! What building a variant gave.

use crate::{ShapeName, VariantId};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// Resources of an entry, read from the cubin.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Resources {
    /// Registers a thread.
    pub registers: u32,
    /// Static shared memory a block in bytes, without what the driver reserves.
    pub static_shared: u32,
    /// Stack frame a thread in bytes, spills included.
    pub stack: u32,
    /// Local memory a thread in bytes: the stack of the entry and of what it calls, spills included. Recursion, whose
    /// depth is not known, is not in it.
    pub local: u32,
    /// Instructions in the machine code, of the entry and of what it calls, that store a spilled register or load it
    /// back: a static count, neither bytes nor executions. Those that the compiler marks as spilling in the cubin
    /// (CUDA 13 does; to shared memory too, where that is asked for). Where ptxas reports more spilled bytes than are
    /// marked, all loads and stores of local memory are counted instead: an upper bound, never 0 for code that spills.
    pub spills: u32,
    /// Constant bank 0 bytes (parameters and driver constants).
    pub constant: u32,
    /// Named barriers a block.
    pub barriers: u32,
}

impl Resources {
    /// What a program of several kernels uses: of registers, memory and barriers the most that one of them takes, and all
    /// spill instructions.
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

/// An entry of a program and what it uses.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EntryResources {
    /// Its name, as the plan has it.
    pub entry: String,
    pub resources: Resources,
}

/// What a compiler of kernels in Python says of how its kernel is launched.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum CompiledLaunch {
    /// The same at every shape (Triton).
    Everywhere {
        /// Threads a block, along the first axis.
        threads: u32,
        /// Dynamic shared memory a block in bytes.
        dynamic_shared: u32,
        /// Memory behind each pointer that follows the arguments, in bytes a block of the grid; 0 for a null pointer.
        workspace: Vec<u64>,
    },
    /// At each shape by itself (Numba, CuTe DSL).
    ByShape {
        /// The launches; a shape that is not among them has none.
        shapes: Vec<ShapeLaunch>,
    },
}

/// How a kernel is launched at a shape, as its compiler says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShapeLaunch {
    pub shape: ShapeName,
    /// Grid and block, where the compiler says; else those of the plan.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub launched: Option<LaunchExtents>,
    /// What the kernel is passed, in the order of its parameters.
    pub args: Vec<CompiledArg>,
}

/// What of a launch is not its arguments.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LaunchExtents {
    /// Blocks a grid.
    pub grid: [u32; 3],
    /// Threads a block.
    pub block: [u32; 3],
    /// Blocks a cluster; `[1, 1, 1]` for an ordinary launch.
    pub cluster: [u32; 3],
    /// Dynamic shared memory a block in bytes.
    pub dynamic_shared: u32,
}

/// A parameter of a kernel that a compiler made of the arguments of the plan.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CompiledArg {
    /// The argument of that place, as the plan has it.
    Given(usize),
    /// A pointer into the buffer that is the argument of that place.
    Into {
        argument: usize,
        /// Bytes from where the argument points to.
        bytes: u64,
    },
    Whole {
        /// Bytes that it takes: 1, 2, 4 or 8.
        bytes: u8,
        /// The number, without a sign.
        value: u64,
    },
    /// A struct by value, its fields in order.
    Struct(Vec<CompiledArg>),
}

/// A variant's machine code, ready to be launched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BuiltKernel {
    pub cubin: PathBuf,
    /// How it is launched, where its compiler says.
    pub launch: Option<CompiledLaunch>,
    /// Shapes at which it is never launched.
    pub left_out: Vec<ShapeName>,
}

/// A shape at which a variant is never launched, while it is at others.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeftOutShape {
    pub shape: ShapeName,
    /// Why, at least one reason.
    pub reasons: Vec<String>,
}

/// How building a variant ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "status", rename_all = "snake_case")]
pub enum BuildOutcome {
    /// There is a cubin.
    Built {
        /// Where it is in the cache; empty in a recording.
        cubin: PathBuf,
        /// SHA-256 of the cubin.
        cubin_sha256: String,
        /// SHA-256 of the machine code that is launched, with the constants and variables it can see and its resources:
        /// equal code with equal launches is measured once.
        code_sha256: String,
        /// What it uses; of several entries, together.
        resources: Resources,
        /// The entries, where there are several.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        entries: Vec<EntryResources>,
        /// Architecture it was built for (`sm_90`).
        arch: String,
        cached: bool,
        /// What nvcc printed, warnings mostly, without ptxas' reports of resources.
        log: String,
        /// How it is launched, where its compiler says; else as the plan has it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        launch: Option<CompiledLaunch>,
        /// Shapes at which it is never launched; not all.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        left_out: Vec<LeftOutShape>,
    },
    /// nvcc refused it, or the cubin lacks the entry.
    Failed {
        /// The compiler's message.
        message: String,
    },
    /// Its launch cannot work on this chip, and why; it is never launched.
    Refused {
        /// The reasons, with a byte budget where shared memory is too large.
        reasons: Vec<String>,
        /// What it uses; none where that was known without compiling it.
        resources: Option<Resources>,
    },
    /// An external command: nothing to build.
    NotNeeded,
}

impl BuildOutcome {
    /// The shapes at which it is never launched, while it is at others.
    pub fn left_out(&self) -> &[LeftOutShape] {
        match self {
            Self::Built { left_out, .. } => left_out,
            Self::Failed { .. } | Self::Refused { .. } | Self::NotNeeded => &[],
        }
    }

    /// Why it is never launched at a shape, while it is at others; none where it is launched there.
    pub fn left_out_at(&self, shape: &ShapeName) -> Option<String> {
        let out = self.left_out().iter().find(|out| &out.shape == shape)?;
        Some(format!("not launched at shape '{shape}': {}", out.reasons.join("; ")))
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
