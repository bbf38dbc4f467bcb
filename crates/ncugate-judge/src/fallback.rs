//! The fallback: a variant to use if required gates fail, judged by its own gates.

use super::context::EvalContext;
use super::evaluator::{Candidates, GateEvaluator};
use super::gate_verdict::GateVerdict;
use super::results::FallbackResult;
use super::selection_basis::{Choice, SelectionBasis};
use ncugate_model::metric::Catalogue;
use ncugate_model::number::{self, counted};
use ncugate_model::{CleanText, Verdict};
use ncugate_phase::plan::VariantRole;

/// Judges the phase's fallback, if it has one; `rejected` is the variant that the fallback would replace.
pub fn judge(
    evaluator: &GateEvaluator<'_>,
    rejected: Option<usize>,
    warnings: &mut Vec<String>,
) -> Option<FallbackResult> {
    let context = evaluator.context;
    let fallback = context.phase.gate_plan.fallback.as_ref()?;
    let none = |verdict, reason: String| FallbackResult {
        variant: None,
        verdict,
        reason: reason.into(),
        cost: None,
        gates: Vec::new(),
    };
    let variants = match context.matching(&fallback.variant) {
        Ok(variants) => variants,
        Err(error) => return Some(none(Verdict::Inconclusive, error.to_string())),
    };
    let candidates = Candidates::new(context, &variants);
    let Some(&best) = candidates.ranked.first() else {
        let reason = format!("no variant that matches '{}' is both correct and measured", fallback.variant);
        return Some(none(Verdict::Inconclusive, reason));
    };
    let gates: Vec<GateVerdict> = fallback.gates.iter().map(|gate| evaluator.gate(gate, &candidates, None)).collect();
    let required: Vec<&GateVerdict> = gates.iter().filter(|g| g.is_required()).collect();
    let mut verdict = Verdict::all(required.iter().map(|g| g.effect));
    let id = &context.variant(best).id;
    let stops = required.iter().find(|g| g.effect == verdict);
    let mut reason = match (verdict, stops) {
        (Verdict::Pass, _) => {
            format!("fallback {id}: its {} held", counted(required.len(), "gate"))
        }
        (_, Some(gate)) => format!("fallback {id}, gate '{}': {}", gate.result.name, gate.result.reason),
        (_, None) => format!("fallback {id} has no required gate, so it cannot pass"),
    };
    SelectionBasis::new(Choice::Selected(id), required.iter().map(|g| &g.result)).hold(&mut verdict, &mut reason);
    warnings.extend(gates.iter().flat_map(|g| g.warnings.clone()));
    Some(FallbackResult {
        variant: Some(id.clone()),
        verdict,
        reason: reason.into(),
        cost: cost(context, best, rejected).map(CleanText::from),
        gates: gates.into_iter().map(|g| g.result).collect(),
    })
}

/// `latency_p50 31.20 µs, against 15.00 µs of the rejected 'a' (+108.0 %) and 33.00 µs of the baseline 'b' (-5.5 %)`.
fn cost(context: &EvalContext<'_>, taken: usize, rejected: Option<usize>) -> Option<String> {
    let metric = &context.phase.objective.metric;
    let unit = Catalogue::embedded().get(metric).map_or("", |metric| metric.unit.as_str());
    let ours = context.objective(taken)?;
    let against = |what: &str, other: usize| {
        let theirs = context.objective(other).filter(|_| other != taken)?;
        let (value, id) = (number::with_unit(theirs, unit), &context.variant(other).id);
        Some(format!("{value} of the {what} '{id}' ({})", number::change(ours / theirs)))
    };
    let baseline = context.plan.variants.iter().position(|variant| variant.standing == VariantRole::Baseline);
    let others: Vec<String> = (rejected.and_then(|at| against("rejected", at)).into_iter())
        .chain(baseline.and_then(|at| against("baseline", at)))
        .collect();
    let beside = if others.is_empty() { String::new() } else { format!(", against {}", others.join(" and ")) };
    Some(format!("{metric} {}{beside}", number::with_unit(ours, unit)))
}
