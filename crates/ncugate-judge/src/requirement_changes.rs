//! The requirements in which two phases differ: those of the phase that judges, and earlier ones.

use super::compiled_requirement::{CompiledForm, CompiledRequirement, CompiledSide};
use super::tiers::counting;
use jiff::civil::Date;
use ncugate_model::expr::{Comparison, Reference, Requirement};
use ncugate_model::number::{counted, short};
use ncugate_model::{BoundUnit, Level, NanRule, OnInconclusive, Scope, Tolerance};
use ncugate_phase::config::{Base, BaseKernels, Gate, OnStageFailure, Phase, UntestedTolerance, Waiver, Workload};

/// The effect of a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChangeEffect {
    /// Whatever passed before passes now.
    Weaker,
    /// Whatever passes now passed before.
    Stricter,
    /// Neither follows from the text.
    Unknown,
}

/// A requirement that differs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequirementChange {
    /// A clause: `` `eligible_warps >= 2` became `>= 0.1` ``.
    pub text: String,
    pub effect: ChangeEffect,
}

/// `4 limits differ from the recorded phase: ...`; `None` if none does. The phase that judges is `now`.
pub fn since_the_measurement(measured: &Phase, now: &Phase, today: Date) -> Option<String> {
    let changes = requirement_changes(measured, now, today);
    let (limits, verb) = if changes.len() == 1 { ("limit", "differs") } else { ("limits", "differ") };
    (!changes.is_empty())
        .then(|| format!("{} {limits} {verb} from the recorded phase: {}", changes.len(), listed(changes.iter())))
}

/// `weaker than at the base main (3f2a91c0b1d2): ...`, with `perhaps` if the text does not decide it for all of them;
/// `None` if no requirement of the base is.
pub fn since_the_base(base: &Base, now: &Phase, today: Date) -> Option<String> {
    let BaseKernels::Of(there) = &base.kernels else { return None };
    let changes = requirement_changes(there, now, today);
    let weaker: Vec<_> = changes.iter().filter(|change| change.effect != ChangeEffect::Stricter).collect();
    let is_sure = weaker.iter().all(|change| change.effect == ChangeEffect::Weaker);
    let perhaps = if is_sure { "" } else { "perhaps " };
    (!weaker.is_empty())
        .then(|| format!("{perhaps}weaker than at the base {}: {}", base.label(), listed(weaker.iter().copied())))
}

fn listed<'c>(changes: impl Iterator<Item = &'c RequirementChange>) -> String {
    changes.map(|change| change.text.as_str()).collect::<Vec<_>>().join("; ")
}

/// The requirements of `now` that differ from those of `before`. Waivers count if they hold on the day.
pub fn requirement_changes(before: &Phase, now: &Phase, today: Date) -> Vec<RequirementChange> {
    let mut changes = Changes(Vec::new());
    changes.gates(before, now);
    changes.plan(before, now);
    changes.waivers(before, now, today);
    changes.workload(&before.workload, &now.workload);
    let (old, new) = (&before.objective, &now.objective);
    if (&old.metric, &old.shape) != (&new.metric, &new.shape) {
        let objective =
            format!("the objective is {} at {} instead of {} at {}", new.metric, new.shape, old.metric, old.shape);
        changes.add(objective, ChangeEffect::Unknown);
    }
    if before.select != now.select {
        changes.add("`select` has another value".to_owned(), ChangeEffect::Unknown);
    }
    changes.0
}

/// A gate with its place in the phase.
#[derive(Clone, Copy)]
struct PlacedGate<'p> {
    gate: &'p Gate,
    group: GateGroup<'p>,
    /// Whether the phase cannot pass without it.
    is_required: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum GateGroup<'p> {
    Flat,
    Tier(&'p str),
    Stage(&'p str),
    Fallback,
}

impl GateGroup<'_> {
    fn words(self) -> String {
        match self {
            Self::Flat => "the phase's gates".to_owned(),
            Self::Tier(name) => format!("tier '{name}'"),
            Self::Stage(name) => format!("stage '{name}'"),
            Self::Fallback => "the fallback".to_owned(),
        }
    }
}

fn placed(phase: &Phase) -> Vec<PlacedGate<'_>> {
    let of = |group, counts: bool| {
        move |gate| PlacedGate { gate, group, is_required: counts && gate.level == Level::Required }
    };
    let plan = &phase.gate_plan;
    let required = counting(&plan.tiers, |tier| tier.required);
    let mut all: Vec<PlacedGate<'_>> = phase.gates.iter().map(of(GateGroup::Flat, true)).collect();
    for (at, tier) in plan.tiers.iter().enumerate() {
        all.extend(tier.gates.iter().map(of(GateGroup::Tier(&tier.name), at < required)));
    }
    for stage in &plan.stages {
        all.extend(stage.gates.iter().map(of(GateGroup::Stage(&stage.name), true)));
    }
    all.extend(plan.fallback.iter().flat_map(|fallback| fallback.gates.iter().map(of(GateGroup::Fallback, true))));
    all
}

/// The gates of two phases.
struct Pairing<'p> {
    pairs: Vec<(PlacedGate<'p>, PlacedGate<'p>)>,
    dropped: Vec<PlacedGate<'p>>,
    added: Vec<PlacedGate<'p>>,
}

/// Whether two gates are likely to be the same one.
type Likeness<'l> = &'l dyn Fn(&Gate, &Gate) -> bool;

/// Pairs the gates of two phases, the likeliest first.
fn paired<'p>(before: Vec<PlacedGate<'p>>, now: Vec<PlacedGate<'p>>) -> Pairing<'p> {
    let same_name = |a: &Gate, b: &Gate| a.name == b.name;
    let same_text = |a: &Gate, b: &Gate| a.require.text() == b.require.text();
    let same_subject = |a: &Gate, b: &Gate| {
        let direction = |gate: &Gate| gate.require.comparison().map(|comparison| &comparison.symbol()[..1]);
        (a.require.left(), direction(a)) == (b.require.left(), direction(b))
    };
    let same_metric = |a: &Gate, b: &Gate| {
        let first = |gate: &Gate| gate.require.references().first().map(|(reference, _)| (*reference).clone());
        first(a) == first(b)
    };
    let likeness: [(bool, Likeness<'_>); 6] = [
        (true, &same_name),
        (true, &same_subject),
        (false, &same_name),
        (false, &same_text),
        (false, &same_subject),
        (true, &same_metric),
    ];
    let (mut before, mut now, mut pairs) = (before, now, Vec::new());
    for (in_group, is_like) in likeness {
        before.retain(|old| {
            let is_partner =
                |new: &PlacedGate<'_>| (!in_group || old.group == new.group) && is_like(old.gate, new.gate);
            match now.iter().position(is_partner) {
                Some(at) => {
                    pairs.push((*old, now.remove(at)));
                    false
                }
                None => true,
            }
        });
    }
    Pairing { pairs, dropped: before, added: now }
}

struct Changes(Vec<RequirementChange>);

impl Changes {
    fn add(&mut self, text: String, effect: ChangeEffect) {
        self.0.push(RequirementChange { text, effect });
    }

    fn gates(&mut self, before: &Phase, now: &Phase) {
        let Pairing { mut pairs, dropped, added } = paired(placed(before), placed(now));
        pairs.sort_by_key(|(_, new)| new.gate.line);
        for (old, new) in pairs {
            self.gate(old, new);
        }
        for old in dropped {
            self.add(format!("{} is missing", shown(old.gate)), ChangeEffect::Weaker);
        }
        let is_new_fallback = before.gate_plan.fallback.is_none();
        for new in added.into_iter().filter(|new| !(is_new_fallback && new.group == GateGroup::Fallback)) {
            self.add(format!("{} is new", shown(new.gate)), ChangeEffect::Stricter);
        }
    }

    fn gate(&mut self, old: PlacedGate<'_>, new: PlacedGate<'_>) {
        let name = shown(old.gate);
        if let Some(effect) = limit_effect(&old.gate.require, &new.gate.require) {
            self.add(limit_change(old.gate, new.gate), effect);
        }
        let (before, now) = (old.gate, new.gate);
        if before.on != now.on {
            let effect = if now.on == Scope::Each { ChangeEffect::Stricter } else { ChangeEffect::Unknown };
            self.add(format!("{name} has `on = \"{}\"` instead of \"{}\"", now.on, before.on), effect);
        }
        let level = |is_required: bool| if is_required { "required" } else { "advisory" };
        let ordered = |is_weaker: bool| if is_weaker { ChangeEffect::Weaker } else { ChangeEffect::Stricter };
        if old.is_required != new.is_required {
            let (is, was) = (level(new.is_required), level(old.is_required));
            self.add(format!("{name} is {is} instead of {was}"), ordered(old.is_required));
        }
        if old.group != new.group {
            let text = format!("{name} is among {} instead of {}", new.group.words(), old.group.words());
            self.add(text, ChangeEffect::Unknown);
        }
        if before.shapes.iter().any(|shape| !now.shapes.contains(shape))
            || now.shapes.iter().any(|shape| !before.shapes.contains(shape))
        {
            let is_narrower = before.shapes.iter().any(|shape| !now.shapes.contains(shape));
            let shapes =
                |gate: &Gate| gate.shapes.iter().map(|shape| shape.0.to_string()).collect::<Vec<_>>().join(", ");
            let effect = match (is_narrower, now.at_least) {
                (false, None) => ChangeEffect::Stricter,
                _ => ChangeEffect::Unknown,
            };
            self.add(format!("{name} is judged at {} instead of {}", shapes(now), shapes(before)), effect);
        }
        if before.at_least != now.at_least {
            let needed = |gate: &Gate| gate.at_least.map_or_else(|| "all shapes".to_owned(), |n| format!("{n} shapes"));
            let is_weaker = now.at_least.is_some_and(|now| before.at_least.is_none_or(|before| now < before));
            self.add(format!("{name} must hold at {} instead of {}", needed(now), needed(before)), ordered(is_weaker));
        }
        if before.inconclusive != now.inconclusive {
            let rank = |effect: OnInconclusive| match effect {
                OnInconclusive::Fail => 0,
                OnInconclusive::Inconclusive => 1,
                OnInconclusive::Warn => 2,
            };
            let word = |effect: OnInconclusive| {
                OnInconclusive::WORDS.iter().find(|(_, value)| *value == effect).map_or("", |(word, _)| word)
            };
            let (is, was) = (word(now.inconclusive), word(before.inconclusive));
            let is_weaker = rank(now.inconclusive) > rank(before.inconclusive);
            self.add(format!("{name} has `inconclusive = \"{is}\"` instead of \"{was}\""), ordered(is_weaker));
        }
    }

    /// Preconditions, stages and the fallback.
    fn plan(&mut self, before: &Phase, now: &Phase) {
        let (old, new) = (&before.gate_plan, &now.gate_plan);
        for condition in &old.preconditions {
            let name = &condition.name;
            match new.preconditions.iter().find(|other| other.name == *name) {
                None => self.add(format!("precondition '{name}' is missing"), ChangeEffect::Weaker),
                Some(other) if other.condition != condition.condition => {
                    let text =
                        format!("precondition '{name}' is `{}` instead of `{}`", other.condition, condition.condition);
                    self.add(text, ChangeEffect::Unknown);
                }
                Some(_) => {}
            }
        }
        for condition in &new.preconditions {
            if !old.preconditions.iter().any(|other| other.name == condition.name) {
                self.add(format!("precondition '{}' is new", condition.name), ChangeEffect::Stricter);
            }
        }
        for stage in &old.stages {
            let name = &stage.name;
            match new.stages.iter().find(|other| other.name == *name) {
                None => self.add(format!("stage '{name}' is missing"), ChangeEffect::Unknown),
                Some(other) => {
                    if other.variant != stage.variant {
                        let text = format!("stage '{name}' is of `{}` instead of `{}`", other.variant, stage.variant);
                        self.add(text, ChangeEffect::Unknown);
                    }
                    if other.on_failure != stage.on_failure {
                        let (then, effect) = match other.on_failure {
                            OnStageFailure::Skip => ("is skipped", ChangeEffect::Weaker),
                            OnStageFailure::Revert => ("ends the plan", ChangeEffect::Stricter),
                        };
                        self.add(format!("stage '{name}' {then} if it fails"), effect);
                    }
                }
            }
        }
        for stage in new.stages.iter().filter(|stage| !old.stages.iter().any(|other| other.name == stage.name)) {
            self.add(format!("stage '{}' is new", stage.name), ChangeEffect::Unknown);
        }
        match (&old.fallback, &new.fallback) {
            (None, Some(fallback)) => {
                self.add(format!("the fallback `{}` is new", fallback.variant), ChangeEffect::Weaker)
            }
            (Some(fallback), None) => {
                self.add(format!("the fallback `{}` is missing", fallback.variant), ChangeEffect::Stricter);
            }
            (Some(old), Some(new)) if old.variant != new.variant => {
                self.add(
                    format!("the fallback is `{}` instead of `{}`", new.variant, old.variant),
                    ChangeEffect::Unknown,
                );
            }
            (Some(_), Some(_)) | (None, None) => {}
        }
    }

    fn waivers(&mut self, before: &Phase, now: &Phase, today: Date) {
        let of = |phase: &'_ Phase| -> Vec<Waiver> {
            phase.gate_plan.waivers.iter().filter(|waiver| waiver.holds_on(today)).cloned().collect()
        };
        let (old, new) = (of(before), of(now));
        let is_same = |a: &Waiver, b: &Waiver| (&a.gate, &a.variant) == (&b.gate, &b.variant);
        for waiver in &new {
            let Waiver { gate, variant, owner, expires, .. } = waiver;
            match old.iter().find(|other| is_same(other, waiver)) {
                Some(other) if other.expires >= *expires => {}
                _ => self.add(
                    format!("'{gate}' is waived for `{variant}` until {expires} by {owner}"),
                    ChangeEffect::Weaker,
                ),
            }
        }
        for waiver in old.iter().filter(|waiver| !new.iter().any(|other| is_same(other, waiver))) {
            let text = format!("'{}' is no longer waived for `{}`", waiver.gate, waiver.variant);
            self.add(text, ChangeEffect::Stricter);
        }
    }

    /// Tolerances and seeds.
    fn workload(&mut self, before: &Workload, now: &Workload) {
        let (old, new) = (&before.tolerance, &now.tolerance);
        for ((key, was), (_, is)) in std::iter::zip(bounds(old), bounds(new)) {
            let shown = |bound: Option<f64>| bound.map_or_else(|| "no bound".to_owned(), short);
            let effect = match (was, is) {
                (was, is) if was == is => continue,
                (Some(was), Some(is)) if is > was => ChangeEffect::Weaker,
                (Some(_), None) => ChangeEffect::Weaker,
                (Some(_) | None, Some(_)) | (None, None) => ChangeEffect::Stricter,
            };
            self.add(format!("tolerance `{key}` is {} instead of {}", shown(is), shown(was)), effect);
        }
        let unit = |tolerance: &Tolerance| tolerance.allclose.unwrap_or_default().unit;
        match (unit(old), unit(new)) {
            (BoundUnit::One, BoundUnit::Derived) => {
                self.add("the tolerance is derived".to_owned(), ChangeEffect::Unknown)
            }
            (BoundUnit::Derived, BoundUnit::One) => {
                self.add("the tolerance is not derived".to_owned(), ChangeEffect::Unknown);
            }
            _ => {}
        }
        match (old.nan, new.nan) {
            (NanRule::Refused, NanRule::Allowed) => self.add("answers may be NaN".to_owned(), ChangeEffect::Weaker),
            (NanRule::Allowed, NanRule::Refused) => self.add("no answer may be NaN".to_owned(), ChangeEffect::Stricter),
            _ => {}
        }
        if old.ill_conditioned != new.ill_conditioned {
            self.add("tolerance `ill_conditioned` has another value".to_owned(), ChangeEffect::Unknown);
        }
        for bound in &now.own_bounds {
            let own = before.own_bounds.iter().find(|other| other.of == bound.of);
            let own = own.map(|was| (was.atol, was.rtol, was.unit));
            let was = own.or(old.allclose.map(|general| (general.atol, general.rtol, general.unit)));
            if was != Some((bound.atol, bound.rtol, bound.unit)) {
                let is_tighter = was.is_none_or(|(atol, rtol, _)| bound.atol <= atol && bound.rtol <= rtol);
                let effect = match was {
                    Some((.., unit)) if unit != bound.unit => ChangeEffect::Unknown,
                    _ if is_tighter => ChangeEffect::Stricter,
                    _ => ChangeEffect::Weaker,
                };
                let text = |(atol, rtol, unit): (f64, f64, BoundUnit)| match unit {
                    BoundUnit::One => format!("{} + {} x", short(atol), short(rtol)),
                    BoundUnit::Derived => "derived".to_owned(),
                };
                let is = text((bound.atol, bound.rtol, bound.unit));
                let was = was.map_or_else(|| "no bound".to_owned(), text);
                self.add(format!("the tolerance of {} is {is} instead of {was}", bound.of), effect);
            }
        }
        for bound in before.own_bounds.iter().filter(|old| !now.own_bounds.iter().any(|new| new.of == old.of)) {
            self.add(format!("the tolerance of {} is missing", bound.of), ChangeEffect::Unknown);
        }
        for (what, differs) in [
            ("`laws`", before.laws != now.laws),
            ("the reference", before.reference != now.reference),
            ("a check of outputs", before.checks != now.checks),
            ("a scalar", before.scalars != now.scalars),
        ] {
            if differs {
                self.add(format!("{what} has another value"), ChangeEffect::Unknown);
            }
        }
        let (seeds, seeds_now) = (before.seeds.len(), now.seeds.len());
        if seeds_now != seeds {
            let effect = if seeds_now < seeds { ChangeEffect::Weaker } else { ChangeEffect::Stricter };
            self.add(format!("{} instead of {seeds}", counted(seeds_now, "seed")), effect);
        }
        match (before.untested_tolerance, now.untested_tolerance) {
            (UntestedTolerance::Refused, UntestedTolerance::Accepted) => {
                self.add("an untested tolerance is accepted".to_owned(), ChangeEffect::Weaker);
            }
            (UntestedTolerance::Accepted, UntestedTolerance::Refused) => {
                self.add("an untested tolerance is refused".to_owned(), ChangeEffect::Stricter);
            }
            _ => {}
        }
    }
}

/// The bounds of a tolerance by key.
fn bounds(tolerance: &Tolerance) -> [(&'static str, Option<f64>); 6] {
    let allclose = tolerance.allclose.filter(|bound| bound.unit == BoundUnit::One);
    [
        ("max_abs", tolerance.max_abs),
        ("rel_l2", tolerance.rel_l2),
        ("times_error", tolerance.times_error),
        ("atol", allclose.map(|bound| bound.atol)),
        ("rtol", allclose.map(|bound| bound.rtol)),
        ("mismatches", allclose.map(|bound| bound.mismatches)),
    ]
}

/// A gate for readers: its name, and its requirement if that is not the name.
fn shown(gate: &Gate) -> String {
    let text = gate.require.text();
    if gate.name.as_str() == text { format!("`{text}`") } else { format!("'{}' (`{text}`)", gate.name) }
}

/// `` `eligible_warps >= 2` became `>= 0.1` ``
fn limit_change(old: &Gate, new: &Gate) -> String {
    let (was, is) = (&old.require, &new.require);
    let left = is.left();
    let rest = is
        .text()
        .get(left.len()..)
        .filter(|rest| was.left() == left && is.text().starts_with(left) && !rest.is_empty());
    format!("{} became `{}`", shown(old), rest.unwrap_or_else(|| is.text()).trim())
}

/// The effect of a changed requirement; `None` if both say the same.
fn limit_effect(old: &Requirement, new: &Requirement) -> Option<ChangeEffect> {
    let words = |requirement: &Requirement| requirement.text().split_whitespace().collect::<Vec<_>>().join(" ");
    let is_same_text = words(old) == words(new);
    match (limit(old), limit(new)) {
        (Some(was), Some(is)) if was.left == is.left && was.of == is.of && was.is_upper == is.is_upper => {
            let Some(order) = was.factor.partial_cmp(&is.factor) else { return Some(ChangeEffect::Unknown) };
            match (order, was.is_strict, is.is_strict) {
                (std::cmp::Ordering::Equal, was, is) if was == is => None,
                (std::cmp::Ordering::Equal, was, _) => {
                    Some(if was { ChangeEffect::Weaker } else { ChangeEffect::Stricter })
                }
                (order, ..) => {
                    let is_weaker = (order == std::cmp::Ordering::Less) == was.is_upper;
                    Some(if is_weaker { ChangeEffect::Weaker } else { ChangeEffect::Stricter })
                }
            }
        }
        _ if is_same_text => None,
        _ => Some(ChangeEffect::Unknown),
    }
}

/// A requirement that compares its left side with a number, or with a multiple of one value.
struct Limit {
    left: String,
    is_upper: bool,
    is_strict: bool,
    factor: f64,
    of: Option<Reference>,
}

fn limit(requirement: &Requirement) -> Option<Limit> {
    let compiled = CompiledRequirement::new(requirement);
    let CompiledForm::Compare { comparison, right, .. } = &compiled.form else { return None };
    let (factor, of) = match right {
        CompiledSide::Constant(number) => (*number, None),
        CompiledSide::Scaled { factor, operand } => (*factor, Some(compiled.references.get(*operand)?.clone())),
        CompiledSide::General(_) => return None,
    };
    let (is_upper, is_strict) = match comparison {
        Comparison::Less => (true, true),
        Comparison::LessOrEqual => (true, false),
        Comparison::Greater => (false, true),
        Comparison::GreaterOrEqual => (false, false),
        Comparison::Equal | Comparison::NotEqual => return None,
    };
    Some(Limit { left: requirement.left().to_owned(), is_upper, is_strict, factor, of })
}
