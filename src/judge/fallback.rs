//! The fallback: a variant to use when required gates fail, judged by its own gates.

use super::judgement::FallbackResult;
use super::verdict::{Judged, over_variants};
use crate::judge::phase::{Bench, Chosen};
use crate::model::Verdict;

/// Judges the phase's fallback, if it has one.
pub fn judge(bench: &Bench<'_>, warnings: &mut Vec<String>) -> Option<FallbackResult> {
    let ground = bench.ground;
    let fallback = ground.phase.gate_plan.fallback.as_ref()?;
    let none = |verdict, reason| FallbackResult { variant: None, verdict, reason, gates: Vec::new() };
    let variants = match ground.matching(&fallback.variant) {
        Ok(variants) => variants,
        Err(reason) => return Some(none(Verdict::Inconclusive, reason)),
    };
    let Some(&best) = ground.ranked(&variants).first() else {
        let reason = format!("no variant that matches '{}' is both correct and measured", fallback.variant);
        return Some(none(Verdict::Inconclusive, reason));
    };
    let chosen = Chosen { selected: Some(best), variants: &variants, previous: None };
    let gates: Vec<Judged> = fallback.gates.iter().map(|gate| bench.gate(gate, &chosen, None)).collect();
    let required: Vec<&Judged> = gates.iter().filter(|g| g.is_required()).collect();
    let verdict = over_variants(required.iter().map(|g| g.effect), false);
    let id = &ground.variant(best).id;
    let stops = required.iter().find(|g| g.effect == verdict);
    let reason = match (verdict, stops) {
        (Verdict::Pass, _) => {
            format!("fallback {id}: {} of its own held", super::sentence::count(required.len(), "gate"))
        }
        (_, Some(gate)) => format!("fallback {id}, gate '{}': {}", gate.result.name, gate.result.reason),
        (_, None) => format!("fallback {id} has no required gate of its own, so nothing vouches for it"),
    };
    warnings.extend(gates.iter().flat_map(|g| g.warnings.clone()));
    Some(FallbackResult {
        variant: Some(id.clone()),
        verdict,
        reason,
        gates: gates.into_iter().map(|g| g.result).collect(),
    })
}
