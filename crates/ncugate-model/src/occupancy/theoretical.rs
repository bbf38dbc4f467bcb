//! Blocks per multiprocessor, from NVIDIA's occupancy calculation (`cuda_occupancy.h` of CUDA 13.0).

use super::chip::{Chip, REGISTERS_PER_SM, WARP};
use crate::MAX_BLOCK_THREADS;

/// Sub-partitions of a multiprocessor; each has its own quarter of the registers.
const PARTITIONS: u32 = 4;
/// Allocation unit of a warp's registers.
const REGISTER_UNIT: u64 = 256;

/// The demand of a block on a multiprocessor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Demand {
    /// Registers per thread.
    pub registers: u32,
    /// Static shared memory in bytes, without the driver's reservation.
    pub static_shared: u32,
    /// Dynamic shared memory in bytes.
    pub dynamic_shared: u32,
    /// Threads per block.
    pub threads: u32,
    /// Named barriers per block.
    pub barriers: u32,
}

/// Maximum blocks per multiprocessor for each resource alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BlockLimits {
    pub registers: u32,
    /// By shared memory.
    pub shared: u32,
    /// By resident warps.
    pub warps: u32,
    /// By resident blocks.
    pub blocks: u32,
    /// By named barriers.
    pub barriers: u32,
}

words! {
    name;
    /// A resource that stops a multiprocessor from holding another block.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
    pub enum Limiter {
        Registers = "registers",
        Shared = "shared memory",
        Warps = "warps",
        Blocks = "blocks",
        Barriers = "barriers",
    }
}

/// The occupancy of a multiprocessor.
#[derive(Debug, Clone, PartialEq)]
pub struct Occupancy {
    /// Resident blocks per multiprocessor; 0 when not even one fits.
    pub blocks_per_sm: u32,
    /// Resident warps over the maximum of the chip, 0 to 100.
    pub percent: f64,
    /// The limit of each resource alone.
    pub limits: BlockLimits,
    /// The resources that bind, in the order registers, shared memory, warps, blocks, barriers.
    pub limiters: Vec<Limiter>,
}

/// Theoretical occupancy of a block with this demand.
///
/// `carveout` is the shared memory in bytes that the driver sets aside on a multiprocessor
/// (`launch__shared_mem_config_size`). For a block that is larger the driver raises it until one block fits. Without
/// it the largest carve-out is assumed, so that the shared memory limit is an upper bound: the driver can pick a
/// smaller carve-out. Cluster launches can hold fewer blocks.
pub fn theoretical(chip: &Chip, demand: &Demand, carveout: Option<u32>) -> Occupancy {
    let warps = demand.threads.div_ceil(WARP);
    let limits = BlockLimits {
        registers: by_registers(chip, demand.registers, warps),
        shared: by_shared(chip, demand, carveout),
        warps: if warps == 0 || demand.threads > MAX_BLOCK_THREADS { 0 } else { chip.warps / warps },
        blocks: chip.blocks,
        barriers: match chip.barriers {
            Some(barriers) if demand.barriers > 0 => (barriers / demand.barriers).min(chip.blocks),
            _ => chip.blocks,
        },
    };
    let each = [
        (Limiter::Registers, limits.registers),
        (Limiter::Shared, limits.shared),
        (Limiter::Warps, limits.warps),
        (Limiter::Blocks, limits.blocks),
        (Limiter::Barriers, limits.barriers),
    ];
    let blocks_per_sm = each.iter().map(|&(_, blocks)| blocks).min().unwrap_or(0);
    Occupancy {
        blocks_per_sm,
        percent: 100.0 * f64::from(blocks_per_sm * warps) / f64::from(chip.warps),
        limits,
        limiters: each.into_iter().filter(|&(_, blocks)| blocks == blocks_per_sm).map(|(limiter, _)| limiter).collect(),
    }
}

/// Number of waves of a grid: its blocks over the capacity of the whole chip; `None` when that is 0.
pub fn waves(grid_blocks: u64, blocks_per_sm: u32, sms: u32) -> Option<f64> {
    let held = u64::from(blocks_per_sm) * u64::from(sms);
    (held > 0).then(|| grid_blocks as f64 / held as f64)
}

/// Share of a kernel's time, 0 to 1, in its tail, assuming equally long blocks. The tail is a last wave that fills
/// less than nine tenths of the chip and follows other waves. A grid that fits at once has no tail.
pub fn tail_fraction(waves: f64) -> f64 {
    let last = waves - waves.floor();
    if waves <= 1.0 || last == 0.0 || last >= FULL { 0.0 } else { 1.0 / waves.ceil() }
}

/// A last wave with at least this share of a full wave is not a tail.
const FULL: f64 = 0.9;

fn by_registers(chip: &Chip, registers: u32, warps: u32) -> u32 {
    let per_warp = (u64::from(registers) * u64::from(WARP)).next_multiple_of(REGISTER_UNIT);
    if registers == 0 {
        return chip.blocks;
    }
    // The check of a single block rounds its warps up to a multiple of the sub-partitions.
    let per_block = per_warp.saturating_mul(u64::from(warps.next_multiple_of(PARTITIONS)));
    if warps == 0 || per_block > u64::from(REGISTERS_PER_SM) {
        return 0;
    }
    let per_partition = u64::from(REGISTERS_PER_SM / PARTITIONS) / per_warp;
    per_partition as u32 * PARTITIONS / warps
}

fn by_shared(chip: &Chip, demand: &Demand, carveout: Option<u32>) -> u32 {
    let asked = u64::from(demand.static_shared) + u64::from(demand.dynamic_shared);
    if asked > u64::from(chip.shared_optin) {
        return 0;
    }
    let unit = u64::from(chip.shared_unit);
    let allocated = (asked + u64::from(chip.reserved)).next_multiple_of(unit);
    match (allocated, carveout.unwrap_or(chip.shared)) {
        (0, _) => chip.blocks,
        (allocated, carveout) => (u64::from(carveout) / allocated).max(1) as u32,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ComputeCapability;
    use serde::Deserialize;

    const HOPPER: ComputeCapability = ComputeCapability::new(9, 0);

    fn blocks(capability: ComputeCapability, registers: u32, threads: u32, shared: u32) -> Occupancy {
        let demand = Demand { registers, static_shared: shared, dynamic_shared: 0, threads, barriers: 1 };
        theoretical(&Chip::of(capability).unwrap(), &demand, None)
    }

    #[test]
    fn registers_are_divided_by_sub_partition_first() {
        let occupancy = blocks(HOPPER, 44, 256, 0);
        assert_eq!((occupancy.blocks_per_sm, occupancy.percent), (5, 62.5));
        assert_eq!(occupancy.limiters, [Limiter::Registers]);
    }

    #[test]
    fn ties_name_every_limiter() {
        let occupancy = blocks(HOPPER, 32, 256, 0);
        assert_eq!((occupancy.blocks_per_sm, occupancy.percent), (8, 100.0));
        assert_eq!(occupancy.limiters, [Limiter::Registers, Limiter::Warps]);
    }

    #[test]
    fn a_block_that_does_not_fit_gives_none() {
        assert_eq!(blocks(HOPPER, 32, 1056, 0).limiters, [Limiter::Warps]);
        assert_eq!(blocks(HOPPER, 128, 1024, 0).blocks_per_sm, 0);
        assert_eq!(blocks(ComputeCapability::new(8, 9), 32, 128, 99 * 1024).blocks_per_sm, 1);
        assert_eq!(blocks(ComputeCapability::new(8, 9), 32, 128, 99 * 1024 + 1).blocks_per_sm, 0);
        assert_eq!(blocks(HOPPER, 32, 0, 0).percent, 0.0);
    }

    #[test]
    fn turing_rounds_shared_memory_to_256_bytes_and_reserves_none() {
        assert_eq!(
            blocks(ComputeCapability::new(7, 5), 32, 64, 6 * 1024 + 1).limits.shared,
            64 * 1024 / (6 * 1024 + 256)
        );
        assert_eq!(blocks(ComputeCapability::new(7, 5), 32, 64, 0).limits.shared, 16);
    }

    #[test]
    fn absurd_demands_give_no_block() {
        assert_eq!(blocks(HOPPER, u32::MAX, u32::MAX, u32::MAX).blocks_per_sm, 0);
    }

    #[test]
    fn waves_divide_the_grid() {
        assert_eq!(waves(128, 16, 132), Some(128.0 / 2112.0));
        assert_eq!(waves(128, 0, 132), None);
    }

    #[test]
    fn a_last_wave_that_leaves_much_of_the_chip_idle_is_a_tail() {
        assert_eq!([0.3, 1.0, 1.95, 2.0, 3.95].map(tail_fraction), [0.0; 5]);
        assert_eq!([1.1, 2.5, 3.89].map(tail_fraction), [0.5, 1.0 / 3.0, 0.25]);
    }

    #[derive(Deserialize)]
    struct ReportedLimits {
        warps: u32,
        registers: u32,
        shared_mem: u32,
        blocks: u32,
        barriers: u32,
    }

    /// Runs of equal values: value, repeat.
    type Curve = Vec<(u32, usize)>;

    #[derive(Deserialize)]
    struct Curves {
        register_count: Curve,
        block_size: Curve,
        barrier_count: Curve,
        shared_mem_size: Curve,
    }

    /// A launch as ncu reported it (tests/data/occupancy/README.md).
    #[derive(Deserialize)]
    struct Reported {
        registers: u32,
        threads: u32,
        static_shared: u32,
        dynamic_shared: u32,
        reserved: u32,
        carveout: u32,
        barriers: u32,
        grid: u64,
        waves: f64,
        percent: f64,
        limits: ReportedLimits,
        curves: Curves,
    }

    impl Reported {
        fn all() -> Vec<Self> {
            serde_json::from_str(include_str!("../../../../tests/data/occupancy/h200.json")).unwrap()
        }

        fn demand(&self) -> Demand {
            Demand {
                registers: self.registers,
                static_shared: self.static_shared,
                dynamic_shared: self.dynamic_shared,
                threads: self.threads,
                barriers: self.barriers,
            }
        }

        fn warps(&self, demand: &Demand) -> u32 {
            let chip = Chip::of(HOPPER).unwrap();
            theoretical(&chip, demand, Some(self.carveout)).blocks_per_sm * demand.threads.div_ceil(WARP)
        }
    }

    fn points(curve: &Curve) -> Vec<u32> {
        curve.iter().flat_map(|&(value, repeat)| std::iter::repeat_n(value, repeat)).collect()
    }

    #[test]
    fn limits_occupancy_and_waves_equal_those_ncu_reports() {
        let chip = Chip::of(HOPPER).unwrap();
        let all = Reported::all();
        assert!(all.len() >= 6);
        for reported in all {
            assert_eq!(chip.reserved, reported.reserved);
            let occupancy = theoretical(&chip, &reported.demand(), Some(reported.carveout));
            let expected = BlockLimits {
                registers: reported.limits.registers,
                shared: reported.limits.shared_mem,
                warps: reported.limits.warps,
                blocks: reported.limits.blocks,
                barriers: reported.limits.barriers,
            };
            assert_eq!(occupancy.limits, expected);
            assert_eq!(occupancy.percent, reported.percent);
            let waves = waves(reported.grid, occupancy.blocks_per_sm, 132).unwrap();
            assert!((waves - reported.waves).abs() <= f64::EPSILON * waves, "{waves} {}", reported.waves);
        }
    }

    #[test]
    fn every_point_of_the_reported_curves_is_reproduced() {
        for reported in Reported::all() {
            let demand = reported.demand();
            let registers = points(&reported.curves.register_count);
            assert_eq!(registers.len(), 257);
            for (x, expected) in (0..).zip(registers) {
                assert_eq!(reported.warps(&Demand { registers: x, ..demand }), expected, "{x} registers");
            }
            let sizes = points(&reported.curves.block_size);
            assert_eq!(sizes.len(), 65);
            for (x, expected) in (0..).zip(sizes) {
                let threads = if x == 0 { 1 } else { 16 * x };
                assert_eq!(reported.warps(&Demand { threads, ..demand }), expected, "{threads} threads");
            }
            let barriers = points(&reported.curves.barrier_count);
            assert_eq!(barriers.len(), 65);
            for (x, expected) in (0..).zip(barriers) {
                assert_eq!(reported.warps(&Demand { barriers: x, ..demand }), expected, "{x} barriers");
            }
        }
    }

    /// The abscissa includes the reserved part. At its last point, 232,960 bytes, ncu and the chip differ: ncu
    /// compares the sum with the opt-in limit of 232,448 bytes, which excludes the reserved part.
    #[test]
    fn the_shared_memory_curve_is_reproduced_up_to_the_opt_in_limit() {
        for reported in Reported::all() {
            let curve = points(&reported.curves.shared_mem_size);
            assert_eq!((curve.len(), curve.last()), (456, Some(&0)));
            for (x, &expected) in (0..).map(|i: u32| 512 * i).zip(&curve).take(455) {
                let static_shared = x.saturating_sub(reported.reserved);
                let demand = Demand { static_shared, dynamic_shared: 0, ..reported.demand() };
                assert_eq!(reported.warps(&demand), expected, "{x} bytes");
            }
        }
    }
}
