//! Checks all required gates together for each candidate, before anything runs.

use super::bound_gate::{BoundGate, IntervalDetail};
use super::context::EvalContext;
use ncugate_model::number::counted;
use ncugate_model::{Level, Scope, VariantId, Verdict, glob};
use std::collections::BTreeSet;

/// The candidates that can pass each gate.
pub struct JointFeasibility<'c, 'a> {
    context: &'c EvalContext<'a>,
    candidates: &'c [usize],
    /// Gates that each candidate fails, in candidate order.
    fails: Vec<Vec<String>>,
    /// A phrase per gate: the number of candidates that can pass it.
    leaves: Vec<String>,
    /// The number of candidates that can pass each gate, with its name and text.
    left: Vec<(usize, String)>,
    /// The number of candidates that cannot be built or launched.
    refused: usize,
}

impl<'c, 'a> JointFeasibility<'c, 'a> {
    /// No gate checked yet. Variants that cannot be built or launched fail from the start.
    pub fn new(context: &'c EvalContext<'a>, candidates: &'c [usize], refused: &BTreeSet<VariantId>) -> Self {
        let build = |at: &usize| {
            if refused.contains(&context.variant(*at).id) { vec!["its build".to_owned()] } else { Vec::new() }
        };
        let fails: Vec<Vec<String>> = candidates.iter().map(build).collect();
        let out = fails.iter().filter(|fails| !fails.is_empty()).count();
        let leaves = (out > 0).then(|| format!("{} can be launched", candidates.len() - out)).into_iter().collect();
        Self { context, candidates, fails, leaves, left: Vec::new(), refused: out }
    }

    /// Checks a gate for every candidate that would have to pass it if selected.
    pub fn add_gate(&mut self, bound: &BoundGate<'_>) {
        let gate = bound.gate;
        let today = self.context.given.today;
        let is_waived = self.context.phase.gate_plan.waivers.iter().any(|w| w.gate == gate.name && w.holds_on(today));
        // `any` and the best of a glob may be satisfied by a variant other than the selected one
        let elsewhere = matches!(gate.on, Scope::Any | Scope::Best(_));
        if gate.level != Level::Required || is_waived || elsewhere {
            return;
        }
        let matcher = gate.on.glob().and_then(|pattern| glob(pattern).ok());
        let judges = |at: usize| matcher.as_ref().is_none_or(|m| m.is_match(&self.context.variant(at).id.0));
        let rows = bound.judge(self.candidates, IntervalDetail::Verdicts);
        let mut left = 0;
        for (row, fails) in rows.iter().zip(&mut self.fails) {
            match row.verdict {
                Verdict::Fail if judges(row.variant) => fails.push(format!("'{}'", gate.name)),
                Verdict::Pass | Verdict::Inconclusive | Verdict::Fail => left += 1,
            }
        }
        let require = gate.require.to_string();
        let text = if gate.name == require { format!("'{require}'") } else { format!("'{}' ({require})", gate.name) };
        self.leaves.push(format!("{left} can pass {text}"));
        self.left.push((left, text));
    }

    /// A sentence for each gate that fewer than half of the candidates can pass, whatever is measured.
    pub fn narrow(&self) -> Vec<String> {
        let all = self.candidates.len();
        let few = self.left.iter().filter(|(left, _)| 2 * left < all);
        few.map(|(left, gate)| format!("only {left} of {} can pass {gate}", counted(all, "candidate"))).collect()
    }

    /// `LEAD: of 33 candidates, 20 can pass 'registers' (registers <= 64), ... and none can pass all; the nearest, a,
    /// fails 'b'`; `None` if a candidate can pass all gates, or without candidates.
    pub fn impossible(&self, lead: &str) -> Option<String> {
        if self.fails.iter().any(Vec::is_empty) {
            return None;
        }
        let (nearest, fails) = self.candidates.iter().zip(&self.fails).min_by_key(|(_, fails)| fails.len())?;
        let all = counted(self.candidates.len(), "candidate");
        if self.refused == self.candidates.len() {
            return Some(format!("{lead}: none of {all} can be built and launched"));
        }
        let (leaves, fails) = (self.leaves.join(", "), fails.join(", "));
        let id = &self.context.variant(*nearest).id;
        Some(format!("{lead}: of {all}, {leaves}, and none can pass all; the nearest, {id}, fails {fails}"))
    }
}
