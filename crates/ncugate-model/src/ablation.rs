//! What a cost of a kernel is worth, measured: copies of its machine code without the cost are timed against it.

use crate::{ShapeName, VariantId};
use serde::{Deserialize, Serialize};
use std::fmt;

/// What a copy lacks, or how its launches differ.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ablation {
    /// Nothing: the same code once more, which shows the noise.
    Nothing,
    Barriers,
    /// Loads from and stores to local memory: spills, local arrays.
    LocalMemory,
    GlobalLoads,
    GlobalStores,
    /// Loads from and stores to it.
    GlobalMemory,
    /// Loads from and stores to shared memory.
    SharedMemory,
    /// All lanes of these accesses use one address of shared memory.
    BankConflicts,
    Atomics,
    SpecialFunctions,
    DoublePrecision,
    SingleAndHalfPrecision,
    MatrixProducts,
    Shuffles,
    /// All lanes read constant memory at one address.
    IndexedConstants,
    /// Loads past L1 go through it.
    UncachedLoads,
    /// Divisions of integers by a value that follows from the launch are compiled for that value.
    KnownDivisors,
    /// Division, reciprocals and roots of floats round as the hardware does.
    ApproximateDivision,
    /// Products and sums that the source or a flag keeps apart may become one instruction.
    FusedMultiplyAdd,
    /// Loads from global memory of one source line.
    LoadsAt {
        file: String,
        line: u32,
    },
    /// Four evaluations on separate buffers at once instead of one after the other.
    IdleHardware,
    /// What blocks that end at their first instruction take, without the launch itself: other work may hide it.
    BlockStarts,
    /// A step of several, from 1.
    Step(usize),
}

impl fmt::Display for Ablation {
    /// As in `without its barriers, an evaluation takes 18 % less time`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Nothing => "the same code",
            Self::Barriers => "without its barriers",
            Self::LocalMemory => "without accesses to local memory",
            Self::GlobalLoads => "without loads from global memory",
            Self::GlobalStores => "without stores to global memory",
            Self::GlobalMemory => "without accesses to global memory",
            Self::SharedMemory => "without accesses to shared memory",
            Self::BankConflicts => "without bank conflicts",
            Self::Atomics => "without its atomics",
            Self::SpecialFunctions => "without special functions",
            Self::DoublePrecision => "without double-precision arithmetic",
            Self::SingleAndHalfPrecision => "without float and half arithmetic",
            Self::MatrixProducts => "without matrix products",
            Self::Shuffles => "without shuffles",
            Self::IndexedConstants => "with constants at one address a warp",
            Self::UncachedLoads => "with all loads through L1",
            Self::KnownDivisors => "with divisors known to the compiler",
            Self::ApproximateDivision => "with approximate division and roots",
            Self::FusedMultiplyAdd => "with products and sums fused",
            Self::LoadsAt { file, line } => {
                let name = file.rsplit('/').next().unwrap_or(file);
                return write!(f, "without the loads of {name}:{line}");
            }
            Self::IdleHardware => "with four evaluations at once",
            Self::BlockStarts => "without the start of its blocks",
            Self::Step(number) => return write!(f, "without step {number}"),
        })
    }
}

/// The result of an ablation of a variant at a shape. No gate reads it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AblationRecord {
    pub variant: VariantId,
    pub shape: ShapeName,
    pub edit: Ablation,
    /// Instructions that were changed; 0 for a change of launches.
    pub changed: u32,
    /// Instructions of that kind that were left as they are.
    pub left: u32,
    pub outcome: AblationOutcome,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "outcome", rename_all = "snake_case")]
pub enum AblationOutcome {
    Measured(Gain),
    /// The copy failed or hung, or it would prove nothing, and why.
    NotMeasured {
        reason: String,
    },
}

/// How much less time an evaluation takes, in percent; negative if it takes more.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Gain {
    pub percent: f64,
    /// The 95 % limits of the median over rounds.
    pub low: f64,
    pub high: f64,
}

impl AblationRecord {
    /// The gain, if it was measured.
    pub const fn gain(&self) -> Option<Gain> {
        match &self.outcome {
            AblationOutcome::Measured(gain) => Some(*gain),
            AblationOutcome::NotMeasured { .. } => None,
        }
    }
}
