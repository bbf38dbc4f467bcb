//! Bounds of measured occupancy by theoretical occupancy: a launch never has more resident warps than registers,
//! shared memory and block size allow. The bound fails gates before anything is measured, and never passes one.

use super::bound_gate::{BoundGate, IntervalDetail};
use super::evaluator::{Candidates, GateEvaluator};
use super::gate_verdict::GateVerdict;
use super::joint_feasibility::JointFeasibility;
use super::scope::ScopeRule;
use ncugate_model::expr::{Comparison, Form, NodeKind, Reference, Requirement};
use ncugate_model::occupancy::{Chip, SCHEDULERS};
use ncugate_model::{OnInconclusive, ShapeName, Verdict};
use ncugate_phase::config::Gate;
use ncugate_phase::plan::{KernelLaunch, Method, Variant};

/// The metric that bounds the others.
pub const THEORETICAL: &str = "theoretical_occupancy";

/// The largest value of a metric for each percent of theoretical occupancy; `None` for metrics without this bound.
pub fn per_percent(metric: &str, chip: &Chip) -> Option<f64> {
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
pub fn only_launch<'p>(variant: &'p Variant, shape: &ShapeName) -> Option<&'p KernelLaunch> {
    match &variant.method {
        Method::Kernel(kernel) => kernel.program(shape)?.single(),
        Method::Function(_) | Method::Command(_) | Method::Captured(_) => None,
    }
}

/// Judges a gate on measured occupancy by theoretical occupancy. `None` unless the bound fails it. `together` gets the
/// gate if the bound excludes at least one candidate.
pub fn exceeded(
    gate: &Gate,
    evaluator: &GateEvaluator<'_>,
    candidates: &Candidates<'_>,
    together: &mut JointFeasibility<'_, '_>,
) -> Option<GateVerdict> {
    let context = evaluator.context;
    let (metric, limit) = lower_limit(gate)?;
    let factor = per_percent(metric, &Chip::of(context.given.cc?)?)?;
    let has_programs = candidates.variants.iter().map(|at| context.variant(*at)).any(|variant| {
        let is_launched = |shape: &&ShapeName| variant.left_out_at(shape).is_none();
        gate.shapes.iter().filter(is_launched).any(|shape| only_launch(variant, shape).is_none())
    });
    if has_programs {
        return None;
    }
    let symbol = gate.require.comparison()?.symbol();
    let left = if factor == 1.0 { THEORETICAL.to_owned() } else { format!("{factor} * {THEORETICAL}") };
    let require = Requirement::parse(&format!("{left} {symbol} {limit}")).ok()?;
    let implied = Gate { require, inconclusive: OnInconclusive::Inconclusive, ..gate.clone() };
    let evaluator = GateEvaluator { context };
    let bound = BoundGate::new(&implied, context, None);
    let rows = bound.judge(candidates.variants, IntervalDetail::Verdicts);
    if rows.iter().any(|row| row.verdict == Verdict::Fail) {
        together.add_gate(&bound);
    }
    let mut verdict = evaluator.bound(&bound, ScopeRule::of(&gate.on).before_measuring(), candidates, None);
    if verdict.result.verdict != Verdict::Fail {
        return None;
    }
    let why = format!("{metric} cannot exceed what {THEORETICAL} allows: {}", verdict.result.reason);
    verdict.result.reason = why.into();
    verdict.result.require = gate.require.clone();
    verdict.result.metric = Some(metric.into());
    Some(verdict)
}
