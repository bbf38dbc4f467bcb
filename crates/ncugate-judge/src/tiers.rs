//! Tiers: named groups of gates, easiest first.

use super::evaluator::{Candidates, GateEvaluator};
use super::gate_verdict::GateVerdict;
use super::results::{GateResult, TierResult};
use super::shortfall::Shortfalls;
use super::tally::VerdictTally;
use ncugate_model::{CleanText, Verdict};

/// Number of tiers that count for the phase: those up to the last required one.
pub fn counting<T>(tiers: &[T], is_required: impl FnMut(&T) -> bool) -> usize {
    tiers.iter().rposition(is_required).map_or(0, |last| last + 1)
}

pub struct Tiers {
    /// In order.
    pub results: Vec<TierResult>,
    /// The highest tier that holds together with all tiers before it.
    pub reached: Option<CleanText>,
    /// Warnings for the reader.
    pub warnings: Vec<String>,
    effects: Vec<Verdict>,
}

/// Judges every tier; gates of tiers up to the last required one also count for variants.
pub fn judge(evaluator: &GateEvaluator<'_>, candidates: &Candidates<'_>, shortfalls: &mut Shortfalls) -> Tiers {
    let tiers = &evaluator.context.phase.gate_plan.tiers;
    let required = counting(tiers, |tier| tier.required);
    let mut judged = Tiers { results: Vec::new(), reached: None, warnings: Vec::new(), effects: Vec::new() };
    let mut climbing = true;
    for (at, tier) in tiers.iter().enumerate() {
        let counts = at < required;
        let judge = |gate| evaluator.gate(gate, candidates, counts.then_some(&mut *shortfalls));
        let gates: Vec<GateVerdict> = tier.gates.iter().map(judge).collect();
        let effect = Verdict::all(gates.iter().map(|g| g.effect));
        climbing = climbing && effect == Verdict::Pass;
        if climbing {
            judged.reached = Some(tier.name.clone());
        }
        judged.effects.push(effect);
        judged.warnings.extend(gates.iter().flat_map(|g| g.warnings.clone()));
        judged.results.push(TierResult {
            name: tier.name.clone(),
            required: tier.required,
            verdict: Verdict::all(gates.iter().map(|g| g.result.verdict)),
            gates: gates.into_iter().map(|g| g.result).collect(),
        });
    }
    judged
}

impl Tiers {
    /// Gates of the tiers up to the last required one.
    pub fn required(&self) -> impl Iterator<Item = &GateResult> {
        let required = counting(&self.results, |tier| tier.required);
        self.results.iter().take(required).flat_map(|tier| &tier.gates)
    }

    /// Counts the tiers up to the last required one.
    pub fn count_in(&self, tally: &mut VerdictTally) {
        let required = counting(&self.results, |tier| tier.required);
        for (tier, effect) in self.results.iter().zip(&self.effects).take(required) {
            if *effect == Verdict::Pass && tier.verdict != Verdict::Pass {
                match tier.gates.iter().any(|gate| gate.waived.is_some()) {
                    true => tally.waived(),
                    false => tally.warned(),
                }
            }
            let keeps_away = tier.gates.iter().find(|g| g.verdict == *effect && g.verdict != Verdict::Pass);
            tally.count(*effect, || match keeps_away {
                Some(gate) => format!("tier '{}', gate '{}': {}", tier.name, gate.name, gate.reason),
                None => format!("tier '{}' has no gates", tier.name),
            });
        }
    }
}
