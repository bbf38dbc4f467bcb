//! The fallback: a variant to use when required gates fail, judged by its own gates.

use super::evaluator::{Candidates, GateEvaluator};
use super::gate_verdict::GateVerdict;
use super::results::FallbackResult;
use crate::model::Verdict;
use crate::number::counted;

/// Judges the phase's fallback, if it has one.
pub fn judge(evaluator: &GateEvaluator<'_>, warnings: &mut Vec<String>) -> Option<FallbackResult> {
    let context = evaluator.context;
    let fallback = context.phase.gate_plan.fallback.as_ref()?;
    let none = |verdict, reason| FallbackResult { variant: None, verdict, reason, gates: Vec::new() };
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
    let verdict = Verdict::all(required.iter().map(|g| g.effect));
    let id = &context.variant(best).id;
    let stops = required.iter().find(|g| g.effect == verdict);
    let reason = match (verdict, stops) {
        (Verdict::Pass, _) => {
            format!("fallback {id}: {} of its own held", counted(required.len(), "gate"))
        }
        (_, Some(gate)) => format!("fallback {id}, gate '{}': {}", gate.result.name, gate.result.reason),
        (_, None) => format!("fallback {id} has no required gate of its own, so it cannot pass"),
    };
    warnings.extend(gates.iter().flat_map(|g| g.warnings.clone()));
    Some(FallbackResult {
        variant: Some(id.clone()),
        verdict,
        reason,
        gates: gates.into_iter().map(|g| g.result).collect(),
    })
}
