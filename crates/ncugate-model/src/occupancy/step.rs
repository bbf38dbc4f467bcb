//! The changes that fit another block per multiprocessor, and occupancy as a function of each resource.

use super::chip::{Chip, WARP};
use super::theoretical::{Demand, Limiter, theoretical};
use crate::MAX_BLOCK_THREADS;
use serde::Serialize;

/// Maximum registers per thread.
const MOST_REGISTERS: u32 = 255;

/// A change of one resource that fits more blocks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct NextStep {
    /// The changed resource: `registers`, `shared memory`.
    pub resource: &'static str,
    pub from: u32,
    /// The largest value that fits more blocks, with the other resources unchanged.
    pub to: u32,
    /// Blocks per multiprocessor after the change.
    pub blocks: u32,
}

/// A range of values of a resource with the same number of blocks per multiprocessor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct CurveStep {
    pub from: u32,
    pub to: u32,
    /// Resident warps per multiprocessor.
    pub warps: u32,
}

/// All next steps of registers and of shared memory, the smallest change first.
pub fn next_steps(chip: &Chip, demand: &Demand) -> Vec<NextStep> {
    let blocks = |demand: &Demand| theoretical(chip, demand, None).blocks_per_sm;
    let shared = demand.static_shared + demand.dynamic_shared;
    let registers = steps("registers", demand.registers, 1, |n| blocks(&Demand { registers: n, ..*demand }));
    let shared = steps("shared memory", shared, chip.shared_unit.min(128), |n| {
        blocks(&Demand { static_shared: n, dynamic_shared: 0, ..*demand })
    });
    registers.into_iter().chain(shared).collect()
}

/// Steps of one resource downwards.
fn steps(resource: &'static str, from: u32, unit: u32, blocks: impl Fn(u32) -> u32) -> Vec<NextStep> {
    const MOST: usize = 3;
    let mut held = blocks(from);
    let mut found = Vec::new();
    for to in (0..from.div_ceil(unit)).rev().map(|n| n * unit) {
        let now = blocks(to);
        if now > held && to > 0 {
            held = now;
            found.push(NextStep { resource, from, to, blocks: now });
        }
        if found.len() == MOST {
            break;
        }
    }
    found
}

/// Resident warps as a function of one resource, the others fixed.
pub fn curve(chip: &Chip, demand: &Demand, resource: Limiter) -> Vec<CurveStep> {
    let values: Vec<u32> = match resource {
        Limiter::Registers => (1..=MOST_REGISTERS).collect(),
        Limiter::Shared => {
            let unit = chip.shared_unit.max(512);
            (0..=chip.shared_optin / unit).map(|n| n * unit).collect()
        }
        Limiter::Warps | Limiter::Blocks => (1..=MAX_BLOCK_THREADS / WARP).map(|n| n * WARP).collect(),
        Limiter::Barriers => (0..=16).collect(),
    };
    let with = |n: u32| match resource {
        Limiter::Registers => Demand { registers: n, ..*demand },
        Limiter::Shared => Demand { static_shared: n, dynamic_shared: 0, ..*demand },
        Limiter::Warps | Limiter::Blocks => Demand { threads: n, ..*demand },
        Limiter::Barriers => Demand { barriers: n, ..*demand },
    };
    let mut curve: Vec<CurveStep> = Vec::new();
    for value in values {
        let demand = with(value);
        let warps = theoretical(chip, &demand, None).blocks_per_sm * demand.threads.div_ceil(WARP);
        match curve.last_mut() {
            Some(last) if last.warps == warps => last.to = value,
            _ => curve.push(CurveStep { from: value, to: value, warps }),
        }
    }
    curve
}

#[cfg(test)]
mod tests {
    use super::*;

    fn demand(registers: u32, threads: u32, shared: u32) -> Demand {
        Demand { registers, threads, static_shared: shared, dynamic_shared: 0, barriers: 1 }
    }

    #[test]
    fn steps_name_the_largest_demand_with_which_more_blocks_fit() {
        let chip = Chip::of((9, 0).into()).unwrap();
        let steps = next_steps(&chip, &demand(88, 256, 20_480));
        assert_eq!(steps[0], NextStep { resource: "registers", from: 88, to: 80, blocks: 3 });
        assert_eq!(steps[1], NextStep { resource: "registers", from: 88, to: 64, blocks: 4 });
        assert!(steps.iter().all(|step| step.resource == "registers"), "shared memory is not what binds: {steps:?}");
        let steps = next_steps(&chip, &demand(32, 128, 100_000));
        let first = &steps[0];
        assert_eq!((first.resource, first.blocks), ("shared memory", 3));
        let fits = |bytes| theoretical(&chip, &demand(32, 128, bytes), None).blocks_per_sm;
        assert_eq!((fits(first.to), fits(first.to + 128)), (3, 2));
    }

    #[test]
    fn a_curve_covers_every_value_once() {
        let chip = Chip::of((9, 0).into()).unwrap();
        let curve = curve(&chip, &demand(88, 256, 0), Limiter::Registers);
        assert_eq!((curve[0].from, curve.last().unwrap().to), (1, 255));
        assert!(curve.windows(2).all(|pair| pair[0].to + 1 == pair[1].from && pair[0].warps > pair[1].warps));
        assert!(curve.contains(&CurveStep { from: 81, to: 128, warps: 16 }), "{curve:?}");
    }
}
