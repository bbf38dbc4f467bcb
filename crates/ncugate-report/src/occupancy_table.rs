//! Theoretical occupancy of a kernel's demands, as text and as JSON.

use super::document::{Column, Document, DocumentBlock, DocumentTable, Section, TableCell};
use super::number::{self, counted};
use ncugate_model::occupancy::{Chip, CurveStep, Demand, Limiter, NextStep, Occupancy, curve, next_steps, theoretical};
use serde::Serialize;

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

impl OccupancyAnswer {
    pub fn document(&self, chip: &Chip) -> Document {
        let blocks = |blocks: u32| counted(blocks as usize, "block");
        let (most, percent) = (blocks(self.blocks_per_sm), number::short(self.percent));
        let limits: Vec<String> = self.limits.iter().map(|(name, blocks)| format!("{name} {blocks}")).collect();
        let (limits, bound) = (limits.join(", "), self.limited_by.join(" and "));
        let mut parts = vec![
            DocumentBlock::Text(format!(
                "{most} a multiprocessor, {} of {} warps: {percent} %",
                self.warps_per_sm, chip.warps
            )),
            DocumentBlock::Text(format!("limits in blocks: {limits}; bound by {bound}")),
        ];
        let next =
            |step: &NextStep| format!("{} from {} to {}: {}", step.resource, step.from, step.to, blocks(step.blocks));
        parts.extend(self.next_steps.iter().map(|step| DocumentBlock::Next(next(step))));
        for (what, curve) in [
            ("registers a thread", &self.over_registers),
            ("bytes of shared memory", &self.over_shared_memory),
            ("threads a block", &self.over_block_size),
        ] {
            let mut table =
                DocumentTable::new(what, vec![Column::number(what), Column::number("warps"), Column::text("")]);
            for CurveStep { from, to, warps } in curve {
                let range = if from == to { from.to_string() } else { format!("{from} to {to}") };
                table.row([range, warps.to_string(), "#".repeat((warps / 2) as usize)].map(TableCell::new).to_vec());
            }
            table.is_whole = true;
            parts.push(Section::new("", "", vec![DocumentBlock::Table(table)]).into());
        }
        Document { title: "Occupancy".to_owned(), sentence: String::new(), blocks: parts }
    }
}
