//! Judges tiers, stages and the fallback, as far as build and launch decide them.

use super::bound_gate::BoundGate;
use super::context::EvalContext;
use super::evaluator::{Candidates, GateEvaluator};
use super::gate_verdict::GateVerdict;
use super::joint_feasibility::JointFeasibility;
use super::occupancy_ceiling::exceeded;
use super::pending_gate::{PendingGate, unknown};
use super::results::GateResult;
use super::scope::ScopeRule;
use super::tiers::counting;
use ncugate_model::{Level, VariantId, Verdict};
use ncugate_phase::config::{Gate, OnStageFailure};
use std::collections::BTreeSet;

/// The owner of a group of gates.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GroupKind {
    Tier,
    Stage,
    Fallback,
}

/// The gates of a tier, a stage or the fallback.
#[derive(Debug, Clone)]
pub struct StaticGroup {
    pub kind: GroupKind,
    /// `tier 'minimum'`, `stage 'one'`, `fallback`.
    pub name: String,
    /// Whether the phase fails if the group fails.
    pub required: bool,
    /// Gates decided by build, launch and chip, in file order.
    pub judged: Vec<GateResult>,
    pub unjudged: Vec<PendingGate>,
    /// Why no variant can hold all of them, if already known.
    pub impossible: Option<String>,
}

/// Judges groups of gates of a phase.
pub struct Groups<'c, 'a> {
    pub evaluator: &'c GateEvaluator<'a>,
    /// Variants that cannot be built or launched.
    pub refused: &'c BTreeSet<VariantId>,
}

/// Which gates of a group are required.
#[derive(Clone, Copy, PartialEq, Eq)]
enum RequiredGates {
    /// Gates of level `required`.
    Required,
    All,
}

impl Groups<'_, '_> {
    fn context(&self) -> &EvalContext<'_> {
        self.evaluator.context
    }

    /// Every tier; only those up to the last required tier count for the phase.
    pub fn tiers(&self, all: &[usize]) -> Vec<StaticGroup> {
        let tiers = &self.context().phase.gate_plan.tiers;
        let required = counting(tiers, |tier| tier.required);
        let of = |(at, tier): (usize, &ncugate_phase::config::Tier)| {
            let needs = if at < required { RequiredGates::All } else { RequiredGates::Required };
            let name = format!("tier '{}'", tier.name);
            StaticGroup { required: at < required, ..self.group((GroupKind::Tier, name), &tier.gates, all, needs) }
        };
        tiers.iter().enumerate().map(of).collect()
    }

    /// Every stage, judged on its own variants, and why the plan fails, if already known: a stage that cannot be
    /// accepted ends it, or no stage can be accepted.
    pub fn stages(&self) -> (Vec<StaticGroup>, Option<String>) {
        let stages = &self.context().phase.gate_plan.stages;
        let of = |stage: &ncugate_phase::config::Stage| {
            let variants = self.context().matching(&stage.variant).unwrap_or_default();
            let name = format!("stage '{}'", stage.name);
            let group = self.group((GroupKind::Stage, name), &stage.gates, &variants, RequiredGates::Required);
            StaticGroup { required: stage.on_failure == OnStageFailure::Revert, ..group }
        };
        let groups: Vec<StaticGroup> = stages.iter().map(of).collect();
        let out = |group: &&StaticGroup| group.impossible.is_some();
        let ends = groups.iter().filter(out).find(|group| group.required);
        let none = groups.iter().filter(out).count() == groups.len();
        let why = |group: &StaticGroup| group.impossible.clone().unwrap_or_default();
        let failure = match (ends, groups.first()) {
            (Some(group), _) => {
                Some(format!("{} cannot be accepted, and the plan ends there: {}", group.name, why(group)))
            }
            (None, Some(first)) if none => Some(format!("no stage can be accepted; {}: {}", first.name, why(first))),
            (None, _) => None,
        };
        (groups, failure)
    }

    pub fn fallback(&self) -> Option<StaticGroup> {
        let fallback = self.context().phase.gate_plan.fallback.as_ref()?;
        let variants = self.context().matching(&fallback.variant).unwrap_or_default();
        let name = (GroupKind::Fallback, "fallback".to_owned());
        let group = self.group(name, &fallback.gates, &variants, RequiredGates::Required);
        let none = fallback.gates.iter().all(|gate| gate.level != Level::Required);
        let impossible = group.impossible.clone().or_else(|| none.then(|| "it has no required gate".to_owned()));
        Some(StaticGroup { impossible, ..group })
    }

    fn group(
        &self,
        (kind, name): (GroupKind, String),
        gates: &[Gate],
        variants: &[usize],
        needs: RequiredGates,
    ) -> StaticGroup {
        let candidates = Candidates::new(self.context(), variants);
        let mut together = JointFeasibility::new(self.context(), variants, self.refused);
        let (judged, unjudged) = (Vec::new(), Vec::new());
        let mut group = StaticGroup { kind, name, required: false, judged, unjudged, impossible: None };
        for gate in gates {
            let bound = BoundGate::new(gate, self.context(), None);
            let verdict: GateVerdict = match unknown(&bound, self.context()) {
                Some(reason) => match exceeded(gate, self.evaluator, &candidates, &mut together) {
                    Some(verdict) => verdict,
                    None => {
                        group.unjudged.push(PendingGate { name: gate.name.clone(), reason });
                        continue;
                    }
                },
                None => {
                    together.add_gate(&bound);
                    let rule = ScopeRule::of(&gate.on).before_measuring();
                    self.evaluator.bound(&bound, rule, &candidates, None)
                }
            };
            let is_needed = needs == RequiredGates::All || verdict.is_required();
            if verdict.effect == Verdict::Fail && is_needed && group.impossible.is_none() {
                group.impossible = Some(format!("gate '{}': {}", verdict.result.name, verdict.result.reason));
            }
            group.judged.push(verdict.result);
        }
        let meets = format!("no variant can meet all gates of the {}", group.name);
        group.impossible = group.impossible.take().or_else(|| together.impossible(&meets));
        group
    }
}
