//! Tiers: named groups of gates, easiest first.

use super::judgement::TierResult;
use super::verdict::{Judged, over_variants};
use crate::judge::phase::{Ballot, Bench, Chosen, Sheet};
use crate::model::Verdict;

/// Tiers judged.
pub struct Tiers {
    /// In order.
    pub results: Vec<TierResult>,
    /// The highest whose gates and whose predecessors' all hold.
    pub reached: Option<String>,
    /// What the reader must be warned of.
    pub warnings: Vec<String>,
    effects: Vec<Verdict>,
}

/// Judges every tier; gates of tiers up to the last required one count for variants too.
pub fn judge<'a>(bench: &Bench<'a>, chosen: &Chosen<'_>, sheet: &mut Sheet) -> Tiers {
    let tiers = &bench.ground.phase.gate_plan.tiers;
    let required = tiers.iter().rposition(|t| t.required).map_or(0, |last| last + 1);
    let mut judged = Tiers { results: Vec::new(), reached: None, warnings: Vec::new(), effects: Vec::new() };
    let mut climbing = true;
    for (at, tier) in tiers.iter().enumerate() {
        let gates: Vec<Judged> =
            tier.gates.iter().map(|gate| bench.gate(gate, chosen, (at < required).then_some(&mut *sheet))).collect();
        let effect = over_variants(gates.iter().map(|g| g.effect), false);
        climbing = climbing && effect == Verdict::Pass;
        if climbing {
            judged.reached = Some(tier.name.clone());
        }
        judged.effects.push(effect);
        judged.warnings.extend(gates.iter().flat_map(|g| g.warnings.clone()));
        judged.results.push(TierResult {
            name: tier.name.clone(),
            required: tier.required,
            verdict: over_variants(gates.iter().map(|g| g.result.verdict), false),
            gates: gates.into_iter().map(|g| g.result).collect(),
        });
    }
    judged
}

impl Tiers {
    /// A phase answers for the tiers up to the last required one.
    pub fn vote(&self, ballot: &mut Ballot) {
        let required = self.results.iter().rposition(|t| t.required).map_or(0, |last| last + 1);
        for (tier, effect) in self.results.iter().zip(&self.effects).take(required) {
            let keeps_away = tier.gates.iter().find(|g| g.verdict == *effect && g.verdict != Verdict::Pass);
            ballot.count(*effect, || match keeps_away {
                Some(gate) => format!("tier '{}', gate '{}': {}", tier.name, gate.name, gate.reason),
                None => format!("tier '{}' has no gates", tier.name),
            });
        }
    }
}
