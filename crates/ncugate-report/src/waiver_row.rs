//! Waivers that matched a gate.

use ncugate_judge::{GateResult, Judgement};
use ncugate_phase::config::Waiver;
use schemars::JsonSchema;
use serde::Serialize;

/// A waiver.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct WaiverRow {
    #[serde(flatten)]
    pub waiver: Waiver,
    /// Whether it has expired.
    pub expired: bool,
}

/// Every waiver that matched a gate, those in force first.
pub fn waivers(judgement: &Judgement) -> Vec<WaiverRow> {
    let nested = judgement
        .tiers
        .iter()
        .flat_map(|t| &t.gates)
        .chain(judgement.stages.iter().flat_map(|s| &s.gates))
        .chain(judgement.fallback.iter().flat_map(|f| &f.gates));
    let gates: Vec<&GateResult> = judgement.gates.iter().chain(nested).collect();
    let mut rows: Vec<WaiverRow> = Vec::new();
    let in_force = gates.iter().filter_map(|g| g.waived.clone()).map(|waiver| (waiver, false));
    let expired = gates.iter().filter_map(|g| g.expired_waiver.clone()).map(|waiver| (waiver, true));
    for (waiver, expired) in in_force.chain(expired) {
        let row = WaiverRow { waiver, expired };
        if !rows.contains(&row) {
            rows.push(row);
        }
    }
    rows
}
