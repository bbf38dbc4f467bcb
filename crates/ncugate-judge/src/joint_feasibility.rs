//! Checks all required gates together for each candidate, before anything runs.

use super::context::EvalContext;
use super::results::{Case, GateResult};
use indexmap::IndexMap;
use ncugate_model::number::counted;
use ncugate_model::{Level, Scope, VariantId, Verdict};
use std::collections::BTreeSet;

/// The candidates that can pass each gate.
pub struct JointFeasibility {
    /// Gates that each candidate fails, in candidate order.
    fails: IndexMap<VariantId, Vec<String>>,
    /// A phrase per gate: the number of candidates that can pass it.
    leaves: Vec<String>,
    /// The number of candidates that can pass each gate, with its name and text.
    left: Vec<(usize, String)>,
    /// The number of candidates that cannot be built or launched.
    refused: usize,
}

impl JointFeasibility {
    /// No gate checked yet. Variants that cannot be built or launched fail from the start.
    pub fn new(context: &EvalContext<'_>, candidates: &[usize], refused: &BTreeSet<VariantId>) -> Self {
        let ids = candidates.iter().map(|at| context.variant(*at).id.clone());
        let build = |id: &VariantId| refused.contains(id).then(|| "its build".to_owned()).into_iter().collect();
        let fails: IndexMap<VariantId, Vec<String>> = ids.map(|id| (id.clone(), build(&id))).collect();
        let out = fails.values().filter(|fails| !fails.is_empty()).count();
        let leaves = (out > 0).then(|| format!("{} can be launched", fails.len() - out)).into_iter().collect();
        Self { fails, leaves, left: Vec::new(), refused: out }
    }

    /// Adds a gate that every candidate would have to pass if selected.
    pub fn add_gate(&mut self, context: &EvalContext<'_>, gate: &GateResult) {
        let today = context.given.today;
        let is_waived = context.phase.gate_plan.waivers.iter().any(|w| w.gate == gate.name && w.holds_on(today));
        // `any` and the best of a glob may be satisfied by a variant other than the selected one
        let elsewhere = matches!(gate.on, Scope::Any | Scope::Best(_));
        if gate.level != Level::Required || is_waived || elsewhere {
            return;
        }
        let mut left = self.fails.len();
        for cases in gate.cases.chunk_by(|one, next| one.variant == next.variant) {
            let verdicts = cases.iter().map(|case: &Case| case.outcome.verdict);
            let is_failed = Verdict::at_least(gate.at_least.unwrap_or(cases.len()), verdicts) == Verdict::Fail;
            if let Some(fails) = self.fails.get_mut(&cases[0].variant).filter(|_| is_failed) {
                fails.push(format!("'{}'", gate.name));
                left -= 1;
            }
        }
        let require = gate.require.to_string();
        let text = if gate.name == require { format!("'{require}'") } else { format!("'{}' ({require})", gate.name) };
        self.leaves.push(format!("{left} can pass {text}"));
        self.left.push((left, text));
    }

    /// A sentence for each gate that fewer than half of the candidates can pass, whatever is measured.
    pub fn narrow(&self) -> Vec<String> {
        let all = self.fails.len();
        let few = self.left.iter().filter(|(left, _)| 2 * left < all);
        few.map(|(left, gate)| format!("only {left} of {} can pass {gate}", counted(all, "candidate"))).collect()
    }

    /// `LEAD: of 33 candidates, 20 can pass 'registers' (registers <= 64), ... and none can pass all; the nearest, a,
    /// fails 'b'`; `None` if a candidate can pass all gates, or without candidates.
    pub fn impossible(&self, lead: &str) -> Option<String> {
        if self.fails.values().any(Vec::is_empty) {
            return None;
        }
        let (nearest, fails) = self.fails.iter().min_by_key(|(_, fails)| fails.len())?;
        let all = counted(self.fails.len(), "candidate");
        if self.refused == self.fails.len() {
            return Some(format!("{lead}: none of {all} can be built and launched"));
        }
        let (leaves, fails) = (self.leaves.join(", "), fails.join(", "));
        Some(format!("{lead}: of {all}, {leaves}, and none can pass all; the nearest, {nearest}, fails {fails}"))
    }
}
