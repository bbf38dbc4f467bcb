//! Gates that no variant can hold because of its grid, whatever is measured: the arithmetic that the configuration decides.

use super::TargetGpu;
use crate::config::{Gate, Phase};
use crate::expr::{Comparison, Form, NodeKind, Reference};
use crate::model::{Level, ShapeName};
use crate::number::short;
use crate::occupancy::{Chip, WARP};
use crate::plan::{Launch, Method, Plan};

/// Sub-partitions of a multiprocessor, each with a scheduler of its own.
const SCHEDULERS: f64 = 4.0;

/// A sentence for each gate whose limit no candidate's grid can reach on that GPU. The level is said with it; nothing where the GPU's
/// multiprocessors are not known, and nothing about commands, whose grids are their own.
///
/// A grid of G blocks puts at most ceil(G / multiprocessors) blocks on one of them at a time, so at most that many times a block's warps.
pub fn out_of_reach(phase: &Phase, plan: &Plan, target: TargetGpu) -> Vec<String> {
    let (Some(chip), Some(sms)) = (Chip::of(target.capability), target.sms) else { return Vec::new() };
    let tiers = phase.gate_plan.tiers.iter().flat_map(|tier| &tier.gates);
    let gates = phase.gates.iter().chain(tiers);
    gates.flat_map(|gate| gate.shapes.iter().filter_map(|shape| sentence(gate, shape, plan, &chip, sms))).collect()
}

fn sentence(gate: &Gate, shape: &ShapeName, plan: &Plan, chip: &Chip, sms: u32) -> Option<String> {
    let (metric, limit) = least(gate)?;
    let launches: Vec<&Launch> = plan
        .candidates()
        .map(|variant| match &variant.method {
            Method::Kernel(kernel) => kernel.program(shape)?.single(),
            Method::Function(_) | Method::Command(_) | Method::Captured(_) => None,
        })
        .collect::<Option<_>>()?;
    let (most, launch) = launches
        .into_iter()
        .filter_map(|launch| Some((bound(metric, launch, chip, sms)?, launch)))
        .max_by(|a, b| a.0.total_cmp(&b.0).then(a.1.blocks().cmp(&b.1.blocks())))?;
    let level = match gate.level {
        Level::Required => "required",
        Level::Advisory => "advisory",
    };
    (most < limit).then(|| {
        let (blocks, warps) = (launch.blocks(), launch.threads().div_ceil(WARP));
        format!(
            "{level} gate '{}' asks for {metric} of {} at '{shape}', and no variant can have more than {}: at best {blocks} blocks of \
             {warps} warps on {sms} multiprocessors put {} on one of them, which holds {}",
            gate.name,
            short(limit),
            short(most),
            crate::number::counted(resident(launch, sms) as usize * warps as usize, "warp"),
            chip.warps
        )
    })
}

/// The metric and the least value that a gate asks for, where it asks for nothing else.
fn least(gate: &Gate) -> Option<(&str, f64)> {
    let Form::Compare { left, comparison, right } = gate.require.form() else { return None };
    let (NodeKind::Read(Reference::Quantity(quantity)), NodeKind::Literal(value)) = (&left.kind, &right.kind) else {
        return None;
    };
    let is_least = matches!(comparison, Comparison::Greater | Comparison::GreaterOrEqual);
    let own = Reference::Quantity(quantity.clone()).own().is_some();
    (is_least && own).then_some((quantity.name.as_str(), value.number()?))
}

/// Blocks at a time on the fullest multiprocessor, by the grid alone.
fn resident(launch: &Launch, sms: u32) -> u64 {
    launch.blocks().div_ceil(u64::from(sms))
}

/// The most that a metric can be, by the grid alone; none for metrics that it does not bound.
fn bound(metric: &str, launch: &Launch, chip: &Chip, sms: u32) -> Option<f64> {
    let warps = resident(launch, sms) as f64 * f64::from(launch.threads().div_ceil(WARP));
    let warps = warps.min(f64::from(chip.warps));
    match metric {
        "achieved_occupancy" => Some(100.0 * warps / f64::from(chip.warps)),
        "active_warps" | "eligible_warps" => Some(warps / SCHEDULERS),
        _ => None,
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::config::load;
    use crate::plan::unroll;
    use std::path::Path;

    fn of(config: &str, sms: Option<u32>) -> Vec<String> {
        let phase = load(Path::new(config)).map_err(|e| e.render(false)).unwrap();
        let plan = unroll(&phase).unwrap();
        out_of_reach(&phase, &plan, TargetGpu { capability: (9, 0).into(), sms })
    }

    /// 128 blocks of 8 warps on 132 multiprocessors of 64 warps: 12.5 %.
    #[test]
    fn an_occupancy_that_the_grid_cannot_give_is_named_with_the_arithmetic() {
        let found = of("configs/phase_d.toml", Some(132));
        let first = found.iter().find(|sentence| sentence.contains("achieved_occupancy")).unwrap();
        assert!(first.contains("no variant can have more than 12.5"), "{first}");
        assert!(first.contains("128 blocks of 8 warps on 132 multiprocessors put 8 warps on one"), "{first}");
        assert!(of("configs/phase_d.toml", None).is_empty(), "another chip may have fewer multiprocessors");
        assert!(of("configs/phase_d.toml", Some(16)).iter().all(|sentence| !sentence.contains("achieved_occupancy")));
    }

    #[test]
    fn what_can_be_reached_is_not_named() {
        assert_eq!(of("configs/softmax.toml", Some(132)), Vec::<String>::new());
    }
}
