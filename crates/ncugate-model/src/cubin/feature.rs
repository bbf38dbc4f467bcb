//! Hardware features that machine code uses, by its opcodes.

use crate::ComputeCapability;
use serde::{Deserialize, Serialize};

words! {
    name;
    /// A feature of some architectures.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum CodeFeature {
        /// Matrix products of a warp on tensor cores.
        WarpMatrix = "mma",
        /// Those of four warps, on operands in shared memory.
        WarpgroupMatrix = "wgmma",
        /// Those on operands in tensor memory.
        TensorMemoryMatrix = "tcgen05",
        /// Copies of single threads to shared memory.
        AsyncCopy = "cp.async",
        /// Copies of the tensor memory accelerator.
        BulkCopy = "TMA",
        /// Loads of matrices from shared memory.
        MatrixLoad = "ldmatrix",
        /// Stores of matrices to shared memory.
        MatrixStore = "stmatrix",
        /// Registers that warps give to each other while they run.
        RegisterReallocation = "setmaxnreg",
    }
}

impl CodeFeature {
    /// The feature of an opcode: the low nine bits of an instruction, as nvdisasm of CUDA 13 names them on 8.0 to 12.0
    /// (`tests/data/instructions.tsv`). The three bits above are the form of its operands.
    const fn of_opcode(opcode: u16) -> Option<Self> {
        Some(match opcode {
            // HMMA, IMMA, DMMA, QMMA, OMMA
            0x03c | 0x037 | 0x03f | 0x07a | 0x07f => Self::WarpMatrix,
            // HGMMA, IGMMA, QGMMA
            0x1f0 | 0x1f1 | 0x1f3 => Self::WarpgroupMatrix,
            // UTCHMMA and its kin
            0x1ea => Self::TensorMemoryMatrix,
            // LDGSTS
            0x1ae => Self::AsyncCopy,
            // UTMALDG, UTMASTG, UBLKCP
            0x1b4 | 0x1b5 | 0x1ba => Self::BulkCopy,
            // LDSM
            0x03b => Self::MatrixLoad,
            // STSM
            0x044 => Self::MatrixStore,
            // USETMAXREG
            0x1c8 => Self::RegisterReallocation,
            _ => return None,
        })
    }

    /// The features of machine code, each once.
    pub(super) fn all(code: &[u8]) -> Vec<Self> {
        let mut all: Vec<Self> =
            code.as_chunks().0.iter().filter_map(|i| Self::of_opcode(super::entry::opcode(i))).collect();
        all.sort_unstable();
        all.dedup();
        all
    }

    /// Whether a chip has it (PTX ISA 9.0, "Target ISA Notes" of each instruction).
    pub const fn exists_on(self, chip: ComputeCapability) -> bool {
        let (major, minor) = (chip.major, chip.minor);
        match self {
            Self::WarpMatrix => major >= 7,
            Self::WarpgroupMatrix => major == 9,
            Self::TensorMemoryMatrix => matches!(major, 10 | 11),
            Self::AsyncCopy => major >= 8,
            Self::MatrixLoad => major >= 8 || major == 7 && minor == 5,
            Self::BulkCopy | Self::MatrixStore | Self::RegisterReallocation => major >= 9,
        }
    }
}
