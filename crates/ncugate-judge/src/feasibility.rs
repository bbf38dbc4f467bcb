//! Finds gates that no variant can pass because of its grid or its theoretical occupancy: a launch never has more
//! resident warps than registers, shared memory and block size allow.

use super::TargetGpu;
use indexmap::IndexMap;
use ncugate_model::expr::{Comparison, Form, NodeKind, Reference};
use ncugate_model::number::{counted, short};
use ncugate_model::occupancy::{Chip, SCHEDULERS, WARP};
use ncugate_model::{Cell, ComputeCapability, Level, Quantities, ShapeName, VariantId};
use ncugate_phase::config::{Gate, Phase};
use ncugate_phase::plan::{KernelLaunch, Plan, Variant};
use std::collections::HashMap;

/// The metric that bounds [`BOUNDED`].
const THEORETICAL: &str = "theoretical_occupancy";
/// Metrics of resident warps.
pub const BOUNDED: [&str; 4] = ["achieved_occupancy", "active_warps_sm", "active_warps", "eligible_warps"];

/// The largest value of a metric for each percent of theoretical occupancy; `None` for metrics without this bound.
fn per_percent(metric: &str, chip: &Chip) -> Option<f64> {
    let warps = f64::from(chip.warps) / 100.0;
    match metric {
        "achieved_occupancy" => Some(1.0),
        "active_warps_sm" => Some(warps),
        "active_warps" | "eligible_warps" => Some(warps / SCHEDULERS),
        _ => None,
    }
}

/// The metric and the lower limit of a gate that requires only that.
pub fn lower_limit(gate: &Gate) -> Option<(&str, f64)> {
    let Form::Compare { left, comparison, right } = gate.require.form() else { return None };
    let NodeKind::Read(Reference::Quantity(quantity)) = &left.kind else { return None };
    let is_least = matches!(comparison, Comparison::Greater | Comparison::GreaterOrEqual);
    let own = Reference::Quantity(quantity.clone()).own().is_some();
    (is_least && own).then_some((quantity.name.as_str(), right.number()?))
}

/// The only launch of a variant at a shape; `None` for programs of several launches, whose occupancies are means.
fn only_launch<'p>(variant: &'p Variant, shape: &ShapeName) -> Option<&'p KernelLaunch> {
    variant.method.kernel()?.program(shape)?.single()
}

/// The table with [`BOUNDED`] at the largest values that theoretical occupancy allows.
pub fn at_theoretical_occupancy(plan: &Plan, table: &Quantities, cc: Option<ComputeCapability>) -> Quantities {
    let variants: HashMap<&VariantId, &Variant> = plan.variants.iter().map(|variant| (&variant.id, variant)).collect();
    let chip = cc.and_then(Chip::of);
    let mut bounds = table.clone();
    for metric in BOUNDED {
        let most = |(id, shape): &(VariantId, ShapeName)| {
            variants.get(id).and_then(|variant| only_launch(variant, shape))?;
            Some(table.read(id, shape, THEORETICAL).value()? * per_percent(metric, chip.as_ref()?)?)
        };
        let cells = table.rows().map(|row| most(row).map_or_else(|| Cell::Missing("not measured".into()), Cell::Value));
        bounds.set_column(metric, cells.collect());
    }
    bounds
}

/// What limits the resident warps of a launch.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum OccupancyLimit {
    /// Its number of blocks.
    Grid,
    /// Registers, shared memory or block size; theoretical occupancy in percent.
    Resources(f64),
}

/// A limit that no candidate can reach.
#[derive(Debug, Clone, Copy)]
pub struct UnreachableLimit<'a> {
    pub gate: &'a Gate,
    pub shape: &'a ShapeName,
    pub metric: &'a str,
    pub limit: f64,
    /// The largest value that the best candidate allows.
    pub most: f64,
    /// Why it allows no more.
    pub cause: OccupancyLimit,
    /// Blocks of that grid.
    pub blocks: u64,
    /// Warps of one of its blocks.
    pub warps: u32,
    /// Multiprocessors of the GPU.
    pub sms: u32,
    /// Warps that one multiprocessor can hold.
    capacity: u32,
}

/// Gates, with a shape each, whose limit no candidate can reach on that GPU. `measured` gives the theoretical occupancy
/// of built variants. Returns nothing if the number of multiprocessors is unknown, and skips commands, whose grids are
/// unknown.
///
/// A grid of G blocks puts at most ceil(G / multiprocessors) blocks on one multiprocessor at a time, so its warps are
/// at most that number times a block's warps.
pub fn unreachable_limits<'a>(
    phase: &'a Phase,
    plan: &Plan,
    measured: Option<&Quantities>,
    target: TargetGpu,
) -> Vec<UnreachableLimit<'a>> {
    let (Some(chip), Some(sms)) = (Chip::of(target.capability), target.sms) else { return Vec::new() };
    let tiers = phase.gate_plan.tiers.iter().flat_map(|tier| &tier.gates);
    let cases = phase.gates.iter().chain(tiers).flat_map(|gate| gate.shapes.iter().map(move |shape| (gate, shape)));
    let most = |metric: &str, variant: &Variant, shape: &ShapeName, launch: &KernelLaunch| {
        let grid = bound(metric, launch, &chip, sms).map(|most| (most, OccupancyLimit::Grid));
        let percent = measured.and_then(|table| table.read(&variant.id, shape, THEORETICAL).value());
        let resources = percent
            .and_then(|percent| Some((percent * per_percent(metric, &chip)?, OccupancyLimit::Resources(percent))));
        // Of equal bounds, the grid is the cause.
        grid.into_iter().chain(resources).min_by(|a, b| a.0.total_cmp(&b.0))
    };
    let unreachable = |(gate, shape): (&'a Gate, &'a ShapeName)| {
        let (metric, limit) = lower_limit(gate)?;
        let launched = plan.candidates().filter(|variant| variant.left_out_at(shape).is_none());
        let launches: Vec<(&Variant, &KernelLaunch)> =
            launched.map(|variant| Some((variant, only_launch(variant, shape)?))).collect::<Option<_>>()?;
        let bounds = launches.into_iter().filter_map(|(variant, launch)| {
            let (most, cause) = most(metric, variant, shape, launch)?;
            Some((most, cause, launch.blocks(), launch.threads().div_ceil(WARP)))
        });
        let (most, cause, blocks, warps) = bounds.max_by(|a, b| a.0.total_cmp(&b.0).then(a.2.cmp(&b.2)))?;
        let capacity = chip.warps;
        let limit = UnreachableLimit { gate, shape, metric, limit, most, cause, blocks, warps, sms, capacity };
        (most < limit.limit).then_some(limit)
    };
    cases.filter_map(unreachable).collect()
}

/// A sentence for each metric and shape with unreachable limits.
pub fn out_of_reach(phase: &Phase, plan: &Plan, measured: Option<&Quantities>, target: TargetGpu) -> Vec<String> {
    let mut found: IndexMap<(&str, &ShapeName), Vec<UnreachableLimit<'_>>> = IndexMap::new();
    for limit in unreachable_limits(phase, plan, measured, target) {
        found.entry((limit.metric, limit.shape)).or_default().push(limit);
    }
    found.values().filter_map(|limits| sentence(limits)).collect()
}

/// `required gate 'a' requires eligible_warps of 3 at 'mission' (2 more gates up to 4), but no variant can have more than 2: ...`.
fn sentence(limits: &[UnreachableLimit<'_>]) -> Option<String> {
    let first = limits.iter().find(|limit| limit.gate.level == Level::Required).or(limits.first())?;
    let level = match first.gate.level {
        Level::Required => "required",
        Level::Advisory => "advisory",
    };
    let most = limits.iter().map(|limit| limit.limit).fold(first.limit, f64::max);
    let more = match limits.len() - 1 {
        0 => String::new(),
        others => format!(" ({} up to {})", counted(others, "more gate"), short(most)),
    };
    let UnreachableLimit { gate, shape, metric, limit, most, cause, blocks, warps, sms, capacity } = first;
    let why = match cause {
        OccupancyLimit::Grid => format!(
            "{blocks} blocks of {warps} warps on {sms} SMs are at most {} per SM of {capacity}",
            counted(blocks.div_ceil(u64::from(*sms)) as usize * *warps as usize, "warp"),
        ),
        OccupancyLimit::Resources(percent) => {
            format!("registers, shared memory and block size allow a theoretical occupancy of {} %", short(*percent))
        }
    };
    Some(format!(
        "{level} gate '{}' requires {metric} of {} at '{shape}'{more}, but no variant can have more than {}: {why}",
        gate.name,
        short(*limit),
        short(*most),
    ))
}

/// The largest value of a metric that the grid allows; `None` for metrics that the grid does not limit.
fn bound(metric: &str, launch: &KernelLaunch, chip: &Chip, sms: u32) -> Option<f64> {
    let resident = launch.blocks().div_ceil(u64::from(sms));
    let warps = resident as f64 * f64::from(launch.threads().div_ceil(WARP));
    let warps = warps.min(f64::from(chip.warps));
    match metric {
        "achieved_occupancy" => Some(100.0 * warps / f64::from(chip.warps)),
        "active_warps" | "eligible_warps" => Some(warps / SCHEDULERS),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ncugate_fixtures::root;
    use ncugate_phase::config::load;
    use ncugate_phase::plan::unroll;
    use std::path::Path;

    fn of(config: &str, sms: Option<u32>) -> Vec<String> {
        let phase =
            load(Path::new(config), &root(), jiff::civil::date(2026, 6, 15)).map_err(|e| e.render(false)).unwrap();
        let plan = unroll(&phase).unwrap();
        out_of_reach(&phase, &plan, None, TargetGpu { capability: (9, 0).into(), sms })
    }

    /// 128 blocks of 8 warps on 132 multiprocessors of 64 warps: 12.5 %.
    #[test]
    fn an_occupancy_that_the_grid_cannot_give_is_named_with_the_arithmetic() {
        let found = of("configs/phase_d.toml", Some(132));
        let first = found.iter().find(|sentence| sentence.contains("achieved_occupancy")).unwrap();
        assert!(first.contains("no variant can have more than 12.5"), "{first}");
        assert!(first.contains("128 blocks of 8 warps on 132 SMs are at most 8 warps per SM of 64"), "{first}");
        assert!(of("configs/phase_d.toml", None).is_empty(), "another chip may have fewer multiprocessors");
        assert!(of("configs/phase_d.toml", Some(16)).iter().all(|sentence| !sentence.contains("achieved_occupancy")));
    }

    /// One block of 4 warps on each of 64 multiprocessors is 6.25 %; on one multiprocessor 2 blocks of 8 are resident at
    /// 12.5 %.
    #[test]
    fn theoretical_occupancy_limits_what_the_grid_allows() {
        let phase = load(Path::new("configs/v3_report.toml"), &root(), jiff::civil::date(2026, 6, 15));
        let phase = phase.map_err(|e| e.render(false)).unwrap();
        let plan = unroll(&phase).unwrap();
        let rows = plan
            .variants
            .iter()
            .flat_map(|v| phase.workload.shapes.iter().map(|shape| (v.id.clone(), shape.name.clone())));
        let mut table = Quantities::new(rows.collect::<Vec<_>>());
        let cells = table.rows().map(|_| ncugate_model::Cell::Value(12.5)).collect();
        table.set_column("theoretical_occupancy", cells);
        let of = |sms| {
            let target = TargetGpu { capability: (9, 0).into(), sms: Some(sms) };
            let found = out_of_reach(&phase, &plan, Some(&table), target);
            found
                .into_iter()
                .find(|line| line.contains("achieved_occupancy") && line.contains("'batches_causal0_bfloat0'"))
        };
        let wide = of(132).unwrap();
        assert!(wide.contains("more than 6.25: 64 blocks of 4 warps on 132 SMs"), "{wide}");
        let narrow = of(8).unwrap();
        assert!(narrow.contains("required gate 'occupancy'") && narrow.contains("more than 12.5"), "{narrow}");
        assert!(narrow.ends_with("allow a theoretical occupancy of 12.5 %"), "{narrow}");
    }

    #[test]
    fn what_can_be_reached_is_not_named() {
        assert_eq!(of("configs/softmax.toml", Some(132)), Vec::<String>::new());
    }
}
