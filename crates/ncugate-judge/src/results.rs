//! Verdicts: of a case, a gate, a variant, a tier, a stage, a phase.

use super::case_outcome::CaseOutcome;
use super::gate_summary::GateSummary;
use super::messages;
use super::tiers::counting;
use super::witness::WorkDurations;
use ncugate_model::expr::{Owner, Requirement};
use ncugate_model::number::counted;
use ncugate_model::{CleanText, Level, Scope, ShapeName, VariantId, Verdict};
use ncugate_phase::config::Waiver;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize, Serializer};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Why a case is inconclusive.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum InconclusiveKind {
    /// A value was not measured, is not a number, or is not proven.
    Missing,
    /// The limit lies inside the interval: more rounds may decide.
    Noise,
    /// The case holds, or may hold, on the samples that selected the variant among several; it was not re-timed.
    Unconfirmed,
    /// It is compared with a command, and was not re-timed alongside it.
    Uncompared,
}

/// Which samples of the run judged a latency.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SampleOrigin {
    /// Samples of the sweep, which select the variant.
    Sweep,
    /// Samples of the confirmation, taken after the selection.
    Confirmation,
}

/// A gate judged for one variant at one shape.
#[derive(Debug, Clone, PartialEq)]
pub struct Case {
    pub variant: VariantId,
    pub shape: ShapeName,
    pub outcome: CaseOutcome,
}

/// Maximum number of inconclusive shapes of a gate with listed reasons.
const UNDECIDED: usize = 4;

/// A judged gate.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct GateResult {
    /// Its name.
    pub name: CleanText,
    /// The requirement as written.
    #[schemars(with = "String")]
    pub require: Requirement,
    /// The judged variants.
    pub on: Scope,
    /// Required or advisory.
    pub level: Level,
    /// Line in the phase's file.
    pub line: usize,
    /// The metric on its left side, if it is a metric.
    pub metric: Option<CleanText>,
    /// Unit of measured, limit, margin and interval.
    pub unit: CleanText,
    /// The verdict.
    pub verdict: Verdict,
    /// Why, as a sentence that stands alone.
    pub reason: CleanText,
    /// Parts that follow from its cases.
    #[serde(flatten)]
    pub summary: GateSummary,
    /// The waiver in force; programs are given its reason, `waivers` has the rest.
    #[serde(serialize_with = "waiver_reason")]
    #[schemars(with = "Option<String>")]
    pub waived: Option<Waiver>,
    #[serde(skip)]
    pub expired_waiver: Option<Waiver>,
    /// The case that decided: the worst failing, or the tightest passing.
    #[serde(skip)]
    pub deciding: Option<usize>,
    /// By variant, then by shape; there may be millions.
    #[serde(skip)]
    pub cases: Arc<Vec<Case>>,
    /// Cases of a variant that have to hold; all of them if none.
    #[serde(skip)]
    pub at_least: Option<usize>,
    /// Pairs of variant and shape that are not judged, because `where` of the variant excludes the shape.
    #[serde(skip_serializing_if = "is_zero")]
    pub not_launched: usize,
}

fn is_zero(count: &usize) -> bool {
    *count == 0
}

fn waiver_reason<S: Serializer>(waiver: &Option<Waiver>, serializer: S) -> Result<S::Ok, S::Error> {
    waiver.as_ref().map(|w| &w.reason).serialize(serializer)
}

impl GateResult {
    pub fn deciding_case(&self) -> Option<&Case> {
        self.cases.get(self.deciding?)
    }

    /// The effective verdict of the gate: a waived failure passes.
    pub fn effective(&self) -> Verdict {
        if self.waived.is_some() { Verdict::Pass } else { self.verdict }
    }

    /// The gate's name, and whether it is advisory.
    pub fn title(&self) -> String {
        match self.level {
            Level::Required => self.name.to_string(),
            Level::Advisory => format!("{} (advisory)", self.name),
        }
    }

    /// Why a case of the gate did not pass; `None` if it did.
    pub fn reason_of(&self, case: &Case) -> Option<String> {
        (case.outcome.verdict != Verdict::Pass).then(|| messages::case_reason(&self.require, &self.unit, &case.outcome))
    }

    /// The reasons of inconclusive cases other than the deciding one: those of the same variant by shape and, if the
    /// gate fails over several variants, the first of another variant. `None` if there is no such case.
    pub fn undecided(&self) -> Option<String> {
        let deciding = self.deciding_case()?;
        let said = |case: &Case| format!("{}: {}", case.shape, self.reason_of(case).unwrap_or_default());
        let open = self
            .cases
            .iter()
            .enumerate()
            .filter(|(at, case)| Some(*at) != self.deciding && case.outcome.verdict == Verdict::Inconclusive);
        let (own, others): (Vec<&Case>, Vec<&Case>) =
            open.map(|(_, case)| case).partition(|case| case.variant == deciding.variant);
        let (same, own): (Vec<&Case>, Vec<&Case>) =
            own.into_iter().partition(|case| self.reason_of(case) == self.reason_of(deciding));
        let mut parts: Vec<String> = Vec::new();
        if !same.is_empty() {
            let shapes: Vec<&str> = same.iter().map(|case| case.shape.0.as_str()).collect();
            parts.push(format!("inconclusive for the same reason at {}", shapes.join(", ")));
        }
        parts.extend(own.iter().take(UNDECIDED).map(|case| format!("inconclusive at {}", said(case))));
        if own.len() > UNDECIDED {
            parts.push(format!("and inconclusive at {} more shapes", own.len() - UNDECIDED));
        }
        if let Some(first) = others.first().filter(|_| self.verdict == Verdict::Fail) {
            let count = match others.len() {
                1 => "1 case of another variant is inconclusive".to_owned(),
                many => format!("{many} cases of other variants are inconclusive, first"),
            };
            parts.push(format!("{count}: {} at {}", first.variant, said(first)));
        }
        (!parts.is_empty()).then(|| parts.join("; "))
    }

    /// `judged at 8 of 16 pairs of variant and shape; the others are not launched (`where`)`; `None` if all are judged.
    pub fn judged_pairs(&self) -> Option<String> {
        let judged = self.cases.len();
        (self.not_launched > 0).then(|| {
            let all = counted(judged + self.not_launched, "pair");
            format!("judged at {judged} of {all} of variant and shape; the others are not launched (`where`)")
        })
    }

    /// The verdict for one variant over its shapes; `None` if the gate does not judge that variant.
    pub fn of(&self, id: &VariantId) -> Option<Verdict> {
        let cases = self.cases.iter().filter(|case| case.variant == *id).map(|case| case.outcome.verdict);
        let cases: Vec<Verdict> = cases.collect();
        (!cases.is_empty()).then(|| Verdict::at_least(self.at_least.unwrap_or(cases.len()), cases))
    }
}

/// Whether a variant is correct.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "status", rename_all = "snake_case")]
pub enum Correctness {
    /// Every shape and seed that the phase asks for is correct.
    /// `max_abs`: largest absolute difference over all of them.
    Proven { cases: usize, max_abs: f64 },
    /// A case is wrong or crashed.
    /// `reason`: the first such case and the reason.
    Wrong { reason: String },
    /// Its checks are correct, but the timed program is not the checked one.
    /// `reason`: the evidence from the timed launches or from the counters.
    Cheats { reason: String },
    /// Nothing was checked, but gates are judged: launches of another program, judged by counters alone or on the
    /// user's request.
    /// `reason`: who decided that.
    Unchecked { reason: String },
    /// A case is missing.
    Unproven { reason: String },
}

impl Correctness {
    /// Replaces the result with a fault found later. A variant with wrong checks stays wrong, and the first fault
    /// stays.
    pub fn replace_by(&mut self, fault: Self) {
        match self {
            Self::Proven { .. } | Self::Unchecked { .. } | Self::Unproven { .. } => *self = fault,
            Self::Wrong { .. } | Self::Cheats { .. } => {}
        }
    }

    /// Why no gate can hold for it: it is wrong, or it cheats.
    pub fn disqualified(&self) -> Option<String> {
        match self {
            Self::Wrong { reason } => Some(reason.clone()),
            Self::Cheats { reason } => Some(format!("cheats: {reason}")),
            Self::Proven { .. } | Self::Unchecked { .. } | Self::Unproven { .. } => None,
        }
    }

    /// Whether it is ranked and can pass gates.
    pub fn may_hold(&self) -> bool {
        match self {
            Self::Proven { .. } | Self::Unchecked { .. } => true,
            Self::Wrong { .. } | Self::Cheats { .. } | Self::Unproven { .. } => false,
        }
    }
}

/// The result of one variant.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct VariantResult {
    pub variant: VariantId,
    pub correctness: Correctness,
    /// Value of the objective, if it is correct and was measured.
    pub objective: Option<f64>,
    /// Why its objective is rejected: then it ranks after all variants with an accepted objective.
    pub doubt: Option<String>,
    /// Its undisturbed and profiled durations by shape, if both are known.
    pub durations: BTreeMap<ShapeName, WorkDurations>,
    /// Rank by the objective among correct candidates, from 1.
    pub rank: Option<usize>,
    /// Whether every required gate holds for this variant alone.
    pub verdict: Verdict,
    /// Gates that do not hold for it, worst first.
    pub stopped_by: Vec<Shortfall>,
}

/// The reason why a variant does not pass.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Shortfall {
    /// Line of the gate in the phase file; `None` if a gate is not the reason.
    pub line: Option<usize>,
    /// Fail or inconclusive.
    pub verdict: Verdict,
    /// Includes the amount (`registers <= 64 by 6`).
    pub text: CleanText,
    /// Whether it is open only because the variant was not re-timed alongside the command it is compared with.
    pub uncompared: bool,
}

impl VariantResult {
    /// Whether the variant fails to pass only because comparisons were not made, since it was not selected.
    pub fn is_uncompared(&self) -> bool {
        self.verdict == Verdict::Inconclusive
            && !self.stopped_by.is_empty()
            && self.stopped_by.iter().all(|stop| stop.uncompared)
    }
}

/// The variant the objective chose.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SelectedVariant {
    pub variant: VariantId,
    /// The objective's metric.
    pub metric: String,
    /// Its value at the objective's shape.
    pub value: f64,
    pub unit: String,
    /// Number of correct candidates it was chosen from.
    pub among: usize,
}

/// A judged tier.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct TierResult {
    /// Its name.
    pub name: CleanText,
    /// Whether the phase must reach it.
    pub required: bool,
    /// The verdict.
    pub verdict: Verdict,
    /// Its gates.
    pub gates: Vec<GateResult>,
}

/// A judged stage of a staged plan.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct StageResult {
    /// Its name.
    pub name: CleanText,
    /// The variant that represents it.
    pub variant: Option<VariantId>,
    /// Whether it was accepted.
    pub accepted: bool,
    /// The verdict of its exit gates.
    pub verdict: Verdict,
    /// Why it was accepted or rejected.
    pub reason: CleanText,
    /// Expected speedup over the last accepted stage, from and to.
    pub expected: Option<(f64, f64)>,
    /// Measured speedup over the last accepted stage.
    pub measured: Option<f64>,
    /// Measured speedup of the accepted stages so far over the first.
    pub cumulative: Option<f64>,
    /// The best three correct variants of the stage, best first.
    pub elite: Vec<VariantId>,
    /// Its gates.
    pub gates: Vec<GateResult>,
}

/// The judged fallback.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct FallbackResult {
    /// The variant used.
    pub variant: Option<VariantId>,
    /// The verdict of its gates.
    pub verdict: Verdict,
    /// Why.
    pub reason: CleanText,
    /// Its cost compared with the rejected variant and the first baseline.
    #[serde(skip)]
    pub cost: Option<CleanText>,
    /// Its gates.
    pub gates: Vec<GateResult>,
}

/// A judged go/no-go condition.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct PreconditionResult {
    /// Its name.
    pub name: CleanText,
    /// As written.
    pub condition: CleanText,
    /// The verdict.
    pub verdict: Verdict,
    /// Why.
    pub reason: CleanText,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Judgement {
    /// Pass when every required gate holds, fail when one does not, else inconclusive.
    pub verdict: Verdict,
    pub reason: String,
    pub selected: Option<SelectedVariant>,
    /// Gates, in the order of the file.
    pub gates: Vec<GateResult>,
    /// Variants: candidates and baselines, in the order of the plan.
    pub variants: Vec<VariantResult>,
    /// Tiers, easiest first.
    pub tiers: Vec<TierResult>,
    /// Highest tier whose gates and whose predecessors' all hold.
    pub tier_reached: Option<CleanText>,
    /// Stages, in order.
    pub stages: Vec<StageResult>,
    /// The fallback, when required gates failed and the phase has one.
    pub fallback: Option<FallbackResult>,
    /// Go/no-go conditions.
    pub preconditions: Vec<PreconditionResult>,
    /// Requirements that differ from those of the measured phase, or are weaker than at the base, a sentence each; the
    /// first screen of every report shows all of them.
    pub changed_limits: Vec<String>,
    /// Cautions for reading the verdict, a sentence each; the first screen of every report shows all of them.
    pub cautions: Vec<String>,
    /// Warnings for the reader.
    pub warnings: Vec<String>,
    /// Why the run would not pass even if every gate did: evidence that it lacks.
    pub withheld: Option<String>,
}

impl Judgement {
    /// Whether only required gates that compare with the previous run keep it from passing.
    pub fn lacks_previous_alone(&self) -> bool {
        self.verdict == Verdict::Inconclusive && self.selected.is_some() && self.stops(&[Owner::Previous]).is_none()
    }

    /// What keeps the selected variant from passing, apart from required gates that are open because they read stored
    /// runs of these owners; `None` if nothing else does.
    pub fn stops(&self, owners: &[Owner]) -> Option<String> {
        if let Some(fallback) = self.fallback.as_ref().filter(|fallback| fallback.verdict == Verdict::Pass) {
            let variant = fallback.variant.as_ref().map_or("none", |id| id.0.as_str());
            return Some(format!("the selected variant did not pass, and the fallback {variant} is used"));
        }
        if self.verdict != Verdict::Inconclusive {
            return (self.verdict == Verdict::Fail).then(|| self.reason.clone());
        }
        let counts = counting(&self.tiers, |tier| tier.required);
        let tiers = self.tiers.iter().take(counts).flat_map(|tier| &tier.gates);
        let required = self.gates.iter().filter(|gate| gate.level == Level::Required).chain(tiers);
        let reads = |gate: &&GateResult| gate.require.reads().owners().any(|owner| owners.contains(owner));
        let (waiting, decided): (Vec<_>, Vec<_>) =
            required.partition(|gate| gate.verdict == Verdict::Inconclusive && gate.waived.is_none() && reads(gate));
        let open = decided.into_iter().find(|gate| gate.verdict != Verdict::Pass && gate.waived.is_none());
        let is_met = self.preconditions.iter().all(|condition| condition.verdict == Verdict::Pass);
        match (open, &self.withheld) {
            (Some(gate), _) => Some(format!("gate '{}' is inconclusive: {}", gate.name, gate.reason)),
            (None, Some(withheld)) => Some(withheld.clone()),
            (None, None) if waiting.is_empty() || !is_met || !self.stages.is_empty() => Some(self.reason.clone()),
            (None, None) => None,
        }
    }

    /// Downgrades a pass to inconclusive, for a reason outside the gates. Any other verdict stays.
    pub fn withhold_pass(&mut self, reason: &str) {
        if self.verdict == Verdict::Pass {
            self.verdict = Verdict::Inconclusive;
            self.reason = format!("{reason}; otherwise {}", self.reason);
        }
        self.withheld.get_or_insert_with(|| reason.to_owned());
    }
}
