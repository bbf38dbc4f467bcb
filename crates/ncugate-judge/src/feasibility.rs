//! Finds gates that no variant can pass because of its grid. The configuration alone decides this.

use super::TargetGpu;
use indexmap::IndexMap;
use ncugate_model::expr::{Comparison, Form, NodeKind, Reference};
use ncugate_model::number::{counted, short};
use ncugate_model::occupancy::{Chip, SCHEDULERS, WARP};
use ncugate_model::{Level, ShapeName};
use ncugate_phase::config::{Gate, Phase};
use ncugate_phase::plan::{KernelLaunch, Method, Plan};

/// A limit that no candidate can reach, because of its grid.
#[derive(Debug, Clone, Copy)]
pub struct UnreachableLimit<'a> {
    pub gate: &'a Gate,
    pub shape: &'a ShapeName,
    pub metric: &'a str,
    pub limit: f64,
    /// The largest value that the best candidate's grid allows.
    pub most: f64,
    /// Blocks of that grid.
    pub blocks: u64,
    /// Warps of one of its blocks.
    pub warps: u32,
    /// Multiprocessors of the GPU.
    pub sms: u32,
    /// Warps that one multiprocessor can hold.
    capacity: u32,
}

/// Gates, with a shape each, whose limit no candidate's grid can reach on that GPU. Returns nothing if the number of
/// multiprocessors is unknown, and skips commands, whose grids are unknown.
///
/// A grid of G blocks puts at most ceil(G / multiprocessors) blocks on one multiprocessor at a time, so its warps are
/// at most that number times a block's warps.
pub fn unreachable_limits<'a>(phase: &'a Phase, plan: &Plan, target: TargetGpu) -> Vec<UnreachableLimit<'a>> {
    let (Some(chip), Some(sms)) = (Chip::of(target.capability), target.sms) else { return Vec::new() };
    let tiers = phase.gate_plan.tiers.iter().flat_map(|tier| &tier.gates);
    let cases = phase.gates.iter().chain(tiers).flat_map(|gate| gate.shapes.iter().map(move |shape| (gate, shape)));
    cases.filter_map(|(gate, shape)| unreachable(gate, shape, plan, &chip, sms)).collect()
}

/// A sentence for each metric and shape with unreachable limits.
pub fn out_of_reach(phase: &Phase, plan: &Plan, target: TargetGpu) -> Vec<String> {
    let mut found: IndexMap<(&str, &ShapeName), Vec<UnreachableLimit<'_>>> = IndexMap::new();
    for limit in unreachable_limits(phase, plan, target) {
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
    let UnreachableLimit { gate, shape, metric, limit, most, blocks, warps, sms, capacity } = first;
    Some(format!(
        "{level} gate '{}' requires {metric} of {} at '{shape}'{more}, but no variant can have more than {}: {blocks} blocks of \
         {warps} warps on {sms} SMs are at most {} per SM of {capacity}",
        gate.name,
        short(*limit),
        short(*most),
        counted(blocks.div_ceil(u64::from(*sms)) as usize * *warps as usize, "warp"),
    ))
}

fn unreachable<'a>(
    gate: &'a Gate,
    shape: &'a ShapeName,
    plan: &Plan,
    chip: &Chip,
    sms: u32,
) -> Option<UnreachableLimit<'a>> {
    let (metric, limit) = least(gate)?;
    let launches: Vec<&KernelLaunch> = plan
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
    let (blocks, warps) = (launch.blocks(), launch.threads().div_ceil(WARP));
    let capacity = chip.warps;
    (most < limit).then_some(UnreachableLimit { gate, shape, metric, limit, most, blocks, warps, sms, capacity })
}

/// The metric and the lower limit of a gate that requires only that.
fn least(gate: &Gate) -> Option<(&str, f64)> {
    let Form::Compare { left, comparison, right } = gate.require.form() else { return None };
    let NodeKind::Read(Reference::Quantity(quantity)) = &left.kind else { return None };
    let is_least = matches!(comparison, Comparison::Greater | Comparison::GreaterOrEqual);
    let own = Reference::Quantity(quantity.clone()).own().is_some();
    (is_least && own).then_some((quantity.name.as_str(), right.number()?))
}

/// Concurrent blocks on the fullest multiprocessor, limited only by the grid.
fn resident(launch: &KernelLaunch, sms: u32) -> u64 {
    launch.blocks().div_ceil(u64::from(sms))
}

/// The largest value of a metric that the grid allows; `None` for metrics that the grid does not limit.
fn bound(metric: &str, launch: &KernelLaunch, chip: &Chip, sms: u32) -> Option<f64> {
    let warps = resident(launch, sms) as f64 * f64::from(launch.threads().div_ceil(WARP));
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
        out_of_reach(&phase, &plan, TargetGpu { capability: (9, 0).into(), sms })
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

    #[test]
    fn what_can_be_reached_is_not_named() {
        assert_eq!(of("configs/softmax.toml", Some(132)), Vec::<String>::new());
    }
}
