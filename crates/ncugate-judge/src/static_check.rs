//! Judges gates before anything runs, from build, launch and the chip's limits.

use super::bound_gate::BoundGate;
use super::context::{Context, EvalContext, ProofPolicy};
use super::evaluator::{Candidates, GateEvaluator};
use super::joint_feasibility::JointFeasibility;
use super::occupancy_ceiling::exceeded;
use super::pending_gate::{PendingGate, unknown};
use super::results::GateResult;
use super::scope::ScopeRule;
use super::static_facts::VariantFacts;
use super::static_groups::{GroupKind, Groups, StaticGroup};
use super::tiers::counting;
use crate::frame::Quantities;
use ncugate_model::{Level, VariantId, Verdict};
use ncugate_phase::config::Phase;
use ncugate_phase::plan::Plan;
use std::collections::{BTreeMap, BTreeSet};

/// The state of a phase's gates before anything runs.
#[derive(Debug, Default)]
pub struct StaticCheck {
    /// Gates decided by build, launch and chip, in file order.
    pub judged: Vec<GateResult>,
    pub unjudged: Vec<PendingGate>,
    /// Tiers and stages, in file order.
    pub groups: Vec<StaticGroup>,
    /// The fallback, which replaces the selected variant if the phase fails.
    pub fallback: Option<StaticGroup>,
    /// Why no variant can hold all required gates together, if already known.
    pub impossible: Option<String>,
    /// Why the staged plan fails, if already known.
    pub stopped: Option<String>,
    /// Facts of build, launch and chip for each variant of the plan; empty if not requested.
    pub facts: Vec<VariantFacts>,
    /// Required gates that fewer than half of the candidates can hold, a sentence each.
    pub narrow: Vec<String>,
}

impl StaticCheck {
    /// Why the phase fails whatever is measured, except for its fallback, a sentence each.
    pub fn failures(&self) -> Vec<String> {
        let gates = self.judged.iter().filter(|gate| is_failure(gate));
        let gates = gates.map(|gate| format!("gate '{}' cannot pass: {}", gate.name, gate.reason));
        gates.chain(self.problems()).collect()
    }

    /// The failures that do not belong to a single gate of the phase.
    pub fn problems(&self) -> Vec<String> {
        let tier = |tier: &StaticGroup| Some(format!("{} is not reached: {}", tier.name, tier.impossible.as_ref()?));
        self.required_tiers().filter_map(tier).chain(self.impossible.clone()).chain(self.stopped.clone()).collect()
    }

    fn required_tiers(&self) -> impl Iterator<Item = &StaticGroup> {
        self.groups.iter().filter(|group| group.required && group.kind == GroupKind::Tier)
    }

    /// The remaining option of a failing phase: its fallback, or why the fallback fails too.
    pub fn left(&self) -> Option<String> {
        let fallback = self.fallback.as_ref().filter(|_| !self.failures().is_empty())?;
        Some(match &fallback.impossible {
            None => {
                "only the fallback can pass: a run ends with status 0 if the fallback is correct and passes its gates"
                    .to_owned()
            }
            Some(why) => format!("the fallback cannot pass either: {why}"),
        })
    }

    /// Fail if `run` cannot succeed: the phase fails and no fallback remains. Gates that are not judged are ignored.
    pub fn verdict(&self) -> Verdict {
        let gates: Vec<&GateResult> = match (self.failures().is_empty(), &self.fallback) {
            (true, _) => self.judged.iter().chain(self.required_tiers().flat_map(|tier| &tier.judged)).collect(),
            (false, Some(fallback)) if fallback.impossible.is_none() => fallback.judged.iter().collect(),
            (false, _) => return Verdict::Fail,
        };
        let mut counted = gates.into_iter().filter(|gate| gate.level == Level::Required && gate.waived.is_none());
        match counted.any(|gate| gate.verdict == Verdict::Inconclusive) {
            true => Verdict::Inconclusive,
            false => Verdict::Pass,
        }
    }
}

fn is_failure(gate: &GateResult) -> bool {
    gate.level == Level::Required && gate.waived.is_none() && gate.verdict == Verdict::Fail
}

/// Judges the gates that build and launch alone decide, before anything runs, and gives the missing values of the
/// others. `refused` are the variants that cannot be built or launched.
///
/// Theoretical occupancy fails a gate on measured occupancy that exceeds it; it never passes one.
///
/// A gate on the selected variant is checked for every candidate: if no candidate can hold it, neither can the
/// selected one. All such gates are then checked together, because the selected variant must hold each of them. Two
/// gates that only different candidates hold cannot both pass.
pub fn static_check(
    phase: &Phase,
    plan: &Plan,
    quantities: &Quantities,
    refused: &BTreeSet<VariantId>,
    given: &Context<'_>,
) -> StaticCheck {
    let context = EvalContext::new(phase, plan, quantities, &BTreeMap::new(), given, ProofPolicy::NotYet);
    let all = context.candidates();
    let candidates = Candidates::new(&context, &all);
    let evaluator = GateEvaluator { context: &context };
    let mut found = StaticCheck::default();
    let mut together = JointFeasibility::new(&context, &all, refused);
    for gate in &phase.gates {
        let bound = BoundGate::new(gate, &context, None);
        match unknown(&bound, &context) {
            Some(reason) => match exceeded(gate, &evaluator, &candidates, &mut together) {
                Some(verdict) => found.judged.push(verdict.result),
                None => found.unjudged.push(PendingGate { name: gate.name.clone(), reason }),
            },
            None => {
                together.add_gate(&bound);
                let rule = ScopeRule::of(&gate.on).before_measuring();
                found.judged.push(evaluator.bound(&bound, rule, &candidates, None).result);
            }
        }
    }
    let tiers = &phase.gate_plan.tiers;
    let required = counting(tiers, |tier| tier.required);
    for gate in tiers.iter().take(required).flat_map(|tier| &tier.gates) {
        let bound = BoundGate::new(gate, &context, None);
        match unknown(&bound, &context) {
            None => together.add_gate(&bound),
            Some(_) => {
                exceeded(gate, &evaluator, &candidates, &mut together);
            }
        }
    }
    found.impossible = together.impossible("no variant can meet all required gates");
    found.narrow = together.narrow();
    let groups = Groups { evaluator: &evaluator, refused };
    let (stages, stopped) = groups.stages();
    found.groups = groups.tiers(&all).into_iter().chain(stages).collect();
    found.stopped = stopped;
    found.fallback = groups.fallback();
    found
}
