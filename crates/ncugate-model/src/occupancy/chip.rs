//! Limits of a multiprocessor by compute capability.
//!
//! Sources: NVIDIA's CUDA programming guide, appendix on compute capabilities (residency, registers, shared memory), and
//! `cuda_occupancy.h` of CUDA 13.0 and 13.5 (granularities, block and barrier limits, carve-outs). Where the two differ (barriers of
//! 10.3, which are 64 in the first), the newer one counts. `tests/it/occupancies.rs` compares all blocks with the header.

use crate::ComputeCapability;

/// Threads per warp.
pub const WARP: u32 = 32;
/// 32-bit registers per multiprocessor, also the maximum for a block; the same on every chip here.
pub const REGISTERS_PER_SM: u32 = 65_536;

/// Schedulers of a multiprocessor, the same on every chip here.
pub const SCHEDULERS: f64 = 4.0;

const KIB: u32 = 1024;

/// Limits of one multiprocessor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Chip {
    pub capability: ComputeCapability,
    /// Maximum resident warps.
    pub warps: u32,
    /// Maximum resident blocks.
    pub blocks: u32,
    /// Shared memory in bytes, including the driver's reservation.
    pub shared: u32,
    /// Maximum opt-in shared memory of a block in bytes, without the driver's reservation.
    pub shared_optin: u32,
    /// Shared memory in bytes that the driver reserves in every block.
    pub reserved: u32,
    /// Allocation unit of shared memory in bytes.
    pub shared_unit: u32,
    /// Named barriers, if they limit residency.
    pub barriers: Option<u32>,
}

impl Chip {
    /// Maximum static shared memory of a block in bytes; more has to be dynamic and opted in to.
    pub const STATIC_SHARED: u32 = 48 * KIB;

    /// Warps that one of the schedulers can hold, each of which serves a quarter of the multiprocessor.
    pub fn warps_per_scheduler(&self) -> f64 {
        f64::from(self.warps) / SCHEDULERS
    }

    /// Limits of the chips of that compute capability; `None` for one that is not in the table.
    pub const fn of(capability: ComputeCapability) -> Option<Self> {
        // warps, blocks, shared and opt-in in KiB, barriers
        let (warps, blocks, shared, optin, barriers) = match (capability.major, capability.minor) {
            (7, 5) => (32, 16, 64, 64, None),
            (8, 0) => (64, 32, 164, 163, None),
            (8, 6) => (48, 16, 100, 99, None),
            (8, 7) => (48, 16, 164, 163, None),
            // Not in the guide: blocks and shared memory are those of cuda_occupancy.h, warps those of every 8.x except 8.0.
            (8, 8) => (48, 16, 100, 99, None),
            (8, 9) => (48, 24, 100, 99, None),
            (9, 0) | (10, 0) => (64, 32, 228, 227, Some(64)),
            // As many barriers as blocks on every minor version except 10.0.
            (10, 3) => (64, 32, 228, 227, Some(32)),
            // Rubin: half the threads of Blackwell. Its larger shared memory needs a launch attribute: `Self::oversized`.
            (10, 7) => (32, 16, 228, 227, Some(16)),
            // The same chip: CUDA 12 called it 10.1.
            (10, 1) | (11, 0) => (48, 24, 228, 227, Some(24)),
            (12, 0 | 1) => (48, 24, 100, 99, Some(24)),
            _ => return None,
        };
        let turing = capability.major == 7;
        Some(Self {
            capability,
            warps,
            blocks,
            shared: shared * KIB,
            shared_optin: optin * KIB,
            reserved: if turing { 0 } else { KIB },
            shared_unit: if turing { 256 } else { 128 },
            barriers,
        })
    }
}

impl Chip {
    /// The limits for a launch with oversized shared memory (`CU_SHARED_MEMORY_MODE_ALLOW_OVERSIZED`); none for a
    /// chip without it.
    ///
    /// Source: the carve-out of 328 KiB of 10.7 in `cuda_occupancy.h` of CUDA 13.5, which leaves 8 KiB of L1.
    pub fn oversized(self) -> Option<Self> {
        let is_rubin = self.capability == ComputeCapability::new(10, 7);
        is_rubin.then_some(Self { shared: OVERSIZED, shared_optin: OVERSIZED - self.reserved, ..self })
    }
}

/// Shared memory of a multiprocessor of 10.7 in its oversized mode.
const OVERSIZED: u32 = 328 * KIB;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_chip_has_oversized_shared_memory() {
        let of = |major, minor| Chip::of(ComputeCapability::new(major, minor)).unwrap();
        let rubin = of(10, 7).oversized().unwrap();
        assert_eq!((rubin.shared, rubin.shared_optin, rubin.warps), (335_872, 334_848, 32));
        assert_eq!(of(10, 3).oversized(), None);
        assert_eq!((of(10, 3).barriers, of(10, 0).barriers, of(10, 7).barriers), (Some(32), Some(64), Some(16)));
    }

    #[test]
    fn opt_in_and_reserve_fill_the_shared_memory() {
        for capability in [
            (7, 5),
            (8, 0),
            (8, 6),
            (8, 7),
            (8, 9),
            (9, 0),
            (8, 8),
            (10, 0),
            (10, 1),
            (10, 3),
            (10, 7),
            (11, 0),
            (12, 0),
            (12, 1),
        ] {
            let chip = Chip::of(capability.into()).unwrap();
            assert_eq!(chip.shared_optin + chip.reserved, chip.shared, "{capability:?}");
        }
        assert_eq!(Chip::of(ComputeCapability::new(9, 0)).unwrap().shared_optin, 232_448);
        assert_eq!(Chip::of(ComputeCapability::new(8, 9)).unwrap().shared_optin, 101_376);
    }

    #[test]
    fn an_unknown_chip_has_no_limits() {
        assert_eq!(Chip::of(ComputeCapability::new(9, 1)), None);
        assert_eq!(Chip::of(ComputeCapability::new(6, 1)), None);
    }
}
