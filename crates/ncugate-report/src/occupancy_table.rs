//! Theoretical occupancy of a kernel's demands, as text and as JSON.

use super::number::{self, counted};
use ncugate_model::occupancy::{Chip, CurveStep, Demand, Limiter, NextStep, Occupancy, curve, next_steps, theoretical};
use serde::Serialize;
use std::fmt::Write as _;

/// The result of the occupancy calculator.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct OccupancyAnswer {
    /// Blocks per multiprocessor.
    pub blocks_per_sm: u32,
    /// Resident warps per multiprocessor.
    pub warps_per_sm: u32,
    /// Percent of the multiprocessor's warp slots.
    pub percent: f64,
    /// The limit in blocks from each resource alone.
    pub limits: Vec<(&'static str, u32)>,
    /// The limiting resources.
    pub limited_by: Vec<&'static str>,
    /// Changes that let more blocks fit.
    pub next_steps: Vec<NextStep>,
    /// Resident warps over registers per thread.
    pub over_registers: Vec<CurveStep>,
    /// Resident warps over bytes of shared memory per block.
    pub over_shared_memory: Vec<CurveStep>,
    /// Resident warps over threads per block.
    pub over_block_size: Vec<CurveStep>,
}

/// The occupancy for these demands on that chip.
pub fn occupancy_answer(chip: &Chip, demand: &Demand) -> OccupancyAnswer {
    let Occupancy { blocks_per_sm, percent, limits, limiters } = theoretical(chip, demand, None);
    OccupancyAnswer {
        blocks_per_sm,
        warps_per_sm: blocks_per_sm * demand.threads.div_ceil(ncugate_model::occupancy::WARP),
        percent,
        limits: vec![
            ("registers", limits.registers),
            ("shared memory", limits.shared),
            ("warps", limits.warps),
            ("blocks", limits.blocks),
            ("barriers", limits.barriers),
        ],
        limited_by: limiters.into_iter().map(Limiter::name).collect(),
        next_steps: next_steps(chip, demand),
        over_registers: curve(chip, demand, Limiter::Registers),
        over_shared_memory: curve(chip, demand, Limiter::Shared),
        over_block_size: curve(chip, demand, Limiter::Warps),
    }
}

pub fn occupancy_text(chip: &Chip, answer: &OccupancyAnswer) -> String {
    let mut out = format!(
        "{} a multiprocessor, {} of {} warps: {} %\n",
        counted(answer.blocks_per_sm as usize, "block"),
        answer.warps_per_sm,
        chip.warps,
        number::short(answer.percent)
    );
    let limits: Vec<String> = answer.limits.iter().map(|(name, blocks)| format!("{name} {blocks}")).collect();
    let _ = writeln!(out, "limits in blocks: {}; bound by {}", limits.join(", "), answer.limited_by.join(" and "));
    for step in &answer.next_steps {
        let blocks = counted(step.blocks as usize, "block");
        let _ = writeln!(out, "next: {} from {} to {}: {blocks}", step.resource, step.from, step.to);
    }
    for (what, curve) in [
        ("registers a thread", &answer.over_registers),
        ("bytes of shared memory", &answer.over_shared_memory),
        ("threads a block", &answer.over_block_size),
    ] {
        let _ = writeln!(out, "\n{what:>24}  warps");
        for step in curve {
            let range =
                if step.from == step.to { step.from.to_string() } else { format!("{} to {}", step.from, step.to) };
            let bar = "#".repeat((step.warps / 2) as usize);
            let _ = writeln!(out, "{range:>24}  {:>5}  {bar}", step.warps);
        }
    }
    out
}
