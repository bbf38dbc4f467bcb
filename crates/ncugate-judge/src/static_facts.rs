//! Facts of build, launch and chip for each variant.

use ncugate_model::{Quantities, ShapeName, VariantId};
use ncugate_phase::config::Shape;
use ncugate_phase::plan::{Plan, Variant};
use serde::Serialize;

/// The metrics behind a variant's facts.
pub const FACTS: [&str; 9] = [
    "registers",
    "spills",
    "shared_mem",
    "theoretical_occupancy",
    "blocks_per_sm",
    "occupancy_limit_registers",
    "occupancy_limit_shared_mem",
    "occupancy_limit_warps",
    "occupancy_limit_blocks",
];
const LIMITS: &str = "occupancy_limit_";

/// Facts of a variant at one shape, in the units of the metrics with these names; `None` without a value, as for an
/// external command.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct VariantFacts {
    /// The shape: the objective's, else the first one where the variant is launched.
    pub shape: Option<ShapeName>,
    /// Registers per thread.
    pub registers: Option<f64>,
    /// Spill instructions.
    pub spills: Option<f64>,
    /// Bytes of shared memory per block.
    pub shared_mem: Option<f64>,
    /// In percent.
    pub theoretical_occupancy: Option<f64>,
    /// Resident blocks per multiprocessor.
    pub blocks_per_sm: Option<f64>,
    /// The limiting resources: `registers`, `shared_mem`, `warps`, `blocks`.
    pub limiters: Vec<&'static str>,
}

/// The facts of every variant in plan order.
pub fn facts(plan: &Plan, table: &Quantities, (objective, shapes): (&ShapeName, &[Shape])) -> Vec<VariantFacts> {
    let none = VariantFacts::default();
    let facts = |variant: &Variant| {
        let shapes = std::iter::once(objective).chain(shapes.iter().map(|shape| &shape.name));
        let mut all = shapes.map(|shape| (shape, of(&variant.id, table, shape))).filter(|(_, facts)| *facts != none);
        let first = all.next().map(|(shape, facts)| VariantFacts { shape: Some(shape.clone()), ..facts });
        first.unwrap_or_default()
    };
    plan.variants.iter().map(facts).collect()
}

fn of(variant: &VariantId, table: &Quantities, shape: &ShapeName) -> VariantFacts {
    let read = |metric: &str| table.read(variant, shape, metric).value();
    VariantFacts {
        shape: None,
        registers: read("registers"),
        spills: read("spills"),
        shared_mem: read("shared_mem"),
        theoretical_occupancy: read("theoretical_occupancy"),
        blocks_per_sm: read("blocks_per_sm"),
        limiters: occupancy_limiters(variant, table, shape),
    }
}

/// The resources that limit the blocks of a variant per multiprocessor; empty if the limits are unknown.
pub fn occupancy_limiters(variant: &VariantId, table: &Quantities, shape: &ShapeName) -> Vec<&'static str> {
    let read = |metric: &str| table.read(variant, shape, metric).value();
    let limits = FACTS.iter().filter_map(|name| Some((name.strip_prefix(LIMITS)?, read(name)?)));
    let limits: Vec<(&'static str, f64)> = limits.collect();
    let least = limits.iter().map(|(_, blocks)| *blocks).fold(f64::INFINITY, f64::min);
    limits.into_iter().filter(|(_, blocks)| *blocks == least).map(|(name, _)| name).collect()
}
