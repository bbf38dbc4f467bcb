//! Judges gates before anything runs, from build, launch and the chip's limits.

use super::bound_gate::BoundGate;
use super::context::{Context, EvalContext, ProofPolicy};
use super::evaluator::{Candidates, GateEvaluator};
use super::feasibility::{BOUNDED, at_theoretical_occupancy, lower_limit};
use super::joint_feasibility::JointFeasibility;
use super::pending_gate::{PendingGate, unknown};
use super::results::GateResult;
use super::scope::ScopeRule;
use super::static_facts::VariantFacts;
use super::tiers::counting;
use ncugate_model::{Level, OnInconclusive, Quantities, VariantId, Verdict};
use ncugate_phase::config::{Gate, OnStageFailure, Phase};
use ncugate_phase::plan::Plan;
use std::collections::{BTreeMap, BTreeSet};

/// The owner of a group of gates.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GroupKind {
    Phase,
    Tier,
    Stage,
    Fallback,
}

/// The gates of a phase, or of one of its tiers, stages or its fallback.
#[derive(Debug, Clone)]
pub struct StaticGroup {
    pub kind: GroupKind,
    /// `tier 'minimum'`, `stage 'one'`, `fallback`; empty for the phase's own gates.
    pub name: String,
    /// Whether the phase fails if the group fails.
    pub required: bool,
    /// Gates decided by build, launch and chip, in file order.
    pub judged: Vec<GateResult>,
    pub unjudged: Vec<PendingGate>,
    /// Why no variant can hold all of them, if already known.
    pub impossible: Option<String>,
}

/// The state of a phase's gates before anything runs.
#[derive(Debug, Default)]
pub struct StaticCheck {
    /// The phase's own gates, then tiers and stages in file order, then the fallback.
    pub groups: Vec<StaticGroup>,
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
        let gates = self.of(GroupKind::Phase).flat_map(|own| &own.judged);
        let gates = gates.filter(|gate| gate.level == Level::Required && gate.effective() == Verdict::Fail);
        let gates = gates.map(|gate| format!("gate '{}' cannot pass: {}", gate.name, gate.reason));
        gates.chain(self.problems()).collect()
    }

    /// The failures that do not belong to a single gate of the phase.
    pub fn problems(&self) -> Vec<String> {
        let tiers = self.of(GroupKind::Tier).filter(|tier| tier.required);
        let tier = |tier: &StaticGroup| Some(format!("{} is not reached: {}", tier.name, tier.impossible.as_ref()?));
        tiers.filter_map(tier).chain(self.impossible.clone()).chain(self.stopped.clone()).collect()
    }

    fn of(&self, kind: GroupKind) -> impl Iterator<Item = &StaticGroup> {
        self.groups.iter().filter(move |group| group.kind == kind)
    }

    /// The remaining option of a failing phase: its fallback, or why the fallback fails too.
    pub fn left(&self) -> Option<String> {
        let fallback = self.of(GroupKind::Fallback).next().filter(|_| !self.failures().is_empty())?;
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
        let is_left = |group: &&StaticGroup| group.kind == GroupKind::Fallback && group.impossible.is_none();
        let groups: Vec<&StaticGroup> = match self.failures().is_empty() {
            true => self.groups.iter().filter(|group| group.counts()).collect(),
            false => self.groups.iter().filter(is_left).collect(),
        };
        if groups.is_empty() {
            return Verdict::Fail;
        }
        let mut gates = groups.iter().flat_map(|group| &group.judged).filter(|gate| gate.level == Level::Required);
        match gates.any(|gate| gate.effective() == Verdict::Inconclusive) {
            true => Verdict::Inconclusive,
            false => Verdict::Pass,
        }
    }
}

impl StaticGroup {
    /// Whether the selected variant must hold its gates.
    fn counts(&self) -> bool {
        self.required && matches!(self.kind, GroupKind::Phase | GroupKind::Tier)
    }

    /// The results of its gates, and of pending gates at their bounds.
    fn results(&self) -> impl Iterator<Item = &GateResult> {
        self.judged.iter().chain(self.unjudged.iter().filter_map(|gate| gate.at_bound.as_deref()))
    }
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
    let table = at_theoretical_occupancy(plan, quantities, given.cc);
    let context = EvalContext::new(phase, plan, &table, &BTreeMap::new(), given, ProofPolicy::NotYet);
    let (judge, all) = (StaticJudge { context: &context, refused }, context.candidates());
    let gate_plan = &phase.gate_plan;
    let mut groups = vec![judge.group(GroupKind::Phase, String::new(), true, &phase.gates, &all)];
    let counted = counting(&gate_plan.tiers, |tier| tier.required);
    groups.extend(gate_plan.tiers.iter().enumerate().map(|(at, tier)| {
        judge.group(GroupKind::Tier, format!("tier '{}'", tier.name), at < counted, &tier.gates, &all)
    }));
    let joint = judge.joint(&all, groups.iter().filter(|group| group.counts()));
    let stages: Vec<StaticGroup> = (gate_plan.stages.iter())
        .map(|stage| {
            let variants = context.matching(&stage.variant).unwrap_or_default();
            let ends = stage.on_failure == OnStageFailure::Revert;
            judge.group(GroupKind::Stage, format!("stage '{}'", stage.name), ends, &stage.gates, &variants)
        })
        .collect();
    let stopped = stopped(&stages);
    groups.extend(stages);
    groups.extend(gate_plan.fallback.as_ref().map(|fallback| {
        let variants = context.matching(&fallback.variant).unwrap_or_default();
        let mut group = judge.group(GroupKind::Fallback, "fallback".to_owned(), false, &fallback.gates, &variants);
        if fallback.gates.iter().all(|gate| gate.level != Level::Required) {
            group.impossible.get_or_insert_with(|| "it has no required gate".to_owned());
        }
        group
    }));
    let impossible = joint.impossible("no variant can meet all required gates");
    StaticCheck { groups, impossible, stopped, facts: Vec::new(), narrow: joint.narrow() }
}

/// Why the plan fails, if already known: a stage that cannot be accepted ends it, or no stage can be accepted.
fn stopped(stages: &[StaticGroup]) -> Option<String> {
    let out: Vec<(&StaticGroup, &String)> =
        stages.iter().filter_map(|stage| Some((stage, stage.impossible.as_ref()?))).collect();
    match (out.iter().find(|(stage, _)| stage.required), out.first()) {
        (Some((stage, why)), _) => Some(format!("{} cannot be accepted, and the plan ends there: {why}", stage.name)),
        (None, Some((first, why))) if out.len() == stages.len() => {
            Some(format!("no stage can be accepted; {}: {why}", first.name))
        }
        (None, _) => None,
    }
}

/// Judges groups of gates of a phase, over a table with measured occupancy at its bounds.
struct StaticJudge<'c, 'a> {
    context: &'c EvalContext<'a>,
    refused: &'c BTreeSet<VariantId>,
}

impl StaticJudge<'_, '_> {
    fn group(&self, kind: GroupKind, name: String, required: bool, gates: &[Gate], variants: &[usize]) -> StaticGroup {
        let candidates = Candidates::new(self.context, variants);
        let mut group =
            StaticGroup { kind, name, required, judged: Vec::new(), unjudged: Vec::new(), impossible: None };
        for gate in gates {
            match self.gate(gate, &candidates) {
                Ok(result) => group.judged.push(result),
                Err(pending) => group.unjudged.push(pending),
            }
        }
        if kind == GroupKind::Phase {
            return group;
        }
        // A tier that counts needs all of its gates.
        let needs = |gate: &&GateResult| group.counts() || gate.level == Level::Required;
        let stops = group.judged.iter().filter(needs).find(|gate| gate.effective() == Verdict::Fail);
        let alone = stops.map(|gate| format!("gate '{}': {}", gate.name, gate.reason));
        let lead = || format!("no variant can meet all gates of the {}", group.name);
        let together = || self.joint(variants, std::iter::once(&group)).impossible(&lead());
        group.impossible = alone.or_else(together);
        group
    }

    /// The result of a gate that build and launch decide, or why it waits. The bound by theoretical occupancy only
    /// fails a gate.
    fn gate(&self, gate: &Gate, candidates: &Candidates<'_>) -> Result<GateResult, PendingGate> {
        let judge = |gate: &Gate| {
            let (bound, rule) = (BoundGate::new(gate, self.context, None), ScopeRule::of(&gate.on).before_measuring());
            GateEvaluator { context: self.context }.bound(&bound, rule, candidates, None).result
        };
        let Some(reason) = unknown(&gate.require, self.context) else { return Ok(judge(gate)) };
        let mut pending = PendingGate { name: gate.name.clone(), reason, at_bound: None };
        if lower_limit(gate).is_some_and(|(metric, _)| BOUNDED.contains(&metric)) {
            // Without a bound, the gate waits, even if it fails where it is inconclusive.
            let mut result = judge(&Gate { inconclusive: OnInconclusive::Inconclusive, ..gate.clone() });
            if result.verdict == Verdict::Fail {
                result.reason =
                    format!("even with all warps that theoretical_occupancy allows, {}", result.reason).into();
                return Ok(result);
            }
            let is_bound = result.cases.iter().any(|case| case.outcome.verdict == Verdict::Fail);
            pending.at_bound = is_bound.then(|| Box::new(result));
        }
        Err(pending)
    }

    fn joint<'g>(&self, variants: &[usize], groups: impl Iterator<Item = &'g StaticGroup>) -> JointFeasibility {
        let mut joint = JointFeasibility::new(self.context, variants, self.refused);
        groups.flat_map(StaticGroup::results).for_each(|result| joint.add_gate(self.context, result));
        joint
    }
}
