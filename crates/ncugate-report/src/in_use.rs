//! The recommendation: the variant to use at each shape, with its own numbers, and the fastest variant at each.

use super::inputs::ReportInputs;
use super::number::{self, Number};
use super::{deltas, selected_times, text};
use ncu_explain::MetricColumn;
use ncugate_judge::{Correctness, GateResult, Judgement};
use ncugate_model::expr::Owner;
use ncugate_model::metric::Catalogue;
use ncugate_model::{Better, CleanText, Level, Quantities, Scope, ShapeName, VariantId, Verdict, glob};
use ncugate_phase::config::Phase;
use ncugate_phase::plan::Plan;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Why a variant is the one to use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum UseBasis {
    /// The phase passes with the selected variant.
    Selected,
    /// Required gates failed, and the fallback passes its own.
    Fallback,
    /// No variant is recommended: the phase does not pass, or its objective seeks the worst variant.
    Nothing,
}

/// What to use.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct InUse {
    /// Why.
    pub basis: UseBasis,
    /// In a sentence or two.
    pub sentence: CleanText,
    /// The variant to use at shapes without their own choice; null if no variant is recommended.
    pub variant: Option<CleanText>,
    /// The cost of the fallback compared with the rejected variant and the baseline; null if no fallback is used.
    pub cost: Option<CleanText>,
    /// The metric of the values: the objective of the phase.
    pub metric: CleanText,
    /// Its unit.
    pub unit: CleanText,
    /// Shapes at which the metric was measured, in the order of the phase.
    pub shapes: Vec<ShapeUse>,
}

/// What to use at a shape.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ShapeUse {
    /// The shape.
    pub shape: CleanText,
    /// Its dimensions.
    pub dimensions: BTreeMap<String, i64>,
    /// The variant to use; null if none is recommended.
    pub variant: Option<CleanText>,
    /// Its value of the metric: from the confirmation if it was re-timed; null if it was not measured here.
    pub value: Option<Number>,
    /// Required gates that judged its time at this shape and that it passes.
    pub judged_by: Vec<CleanText>,
    /// The best proven candidate here; not judged by any gate unless it is the one to use. If the fallback is not launched
    /// here, the best of the variants that its glob names.
    pub best: Option<CleanText>,
    /// Value of the best in the sweep; of the one to use its own.
    pub best_value: Option<Number>,
    /// The selected variant or the fallback, if its `where` excludes the shape and no gate chose another one: `best` is
    /// launched here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_launched: Option<CleanText>,
}

impl ShapeUse {
    /// The variant to use; without one, the best variant if the selected one is not launched here.
    pub fn shown(&self) -> Option<&CleanText> {
        self.variant.as_ref().or(self.best.as_ref().filter(|_| self.not_launched.is_some()))
    }
}

impl InUse {
    /// Whether another variant than this one is in use at the shape.
    pub fn has_another(&self, variant: &VariantId, shape: &ShapeName) -> bool {
        let used = self.shapes.iter().find(|used| used.shape == shape.0).and_then(|used| used.variant.as_ref());
        used.is_some_and(|used| *used != variant.0)
    }

    /// Variants in use and the shapes of each, in the order of the shapes.
    pub fn by_variant(&self) -> Vec<(&str, Vec<&ShapeUse>)> {
        let mut groups: Vec<(&str, Vec<&ShapeUse>)> = Vec::new();
        for shape in &self.shapes {
            let Some(variant) = shape.variant.as_deref() else { continue };
            match groups.iter_mut().find(|(known, _)| *known == variant) {
                Some((_, shapes)) => shapes.push(shape),
                None => groups.push((variant, vec![shape])),
            }
        }
        groups
    }
}

/// The variant in the banner: the fallback if it is used, else the selected one, whether or not it passes.
pub fn banner_variant(judgement: &Judgement) -> Option<&VariantId> {
    let fallback = judgement.fallback.as_ref().filter(|fallback| fallback.verdict == Verdict::Pass);
    let taken = fallback.and_then(|fallback| fallback.variant.as_ref());
    taken.or(judgement.selected.as_ref().map(|selected| &selected.variant))
}

/// The variants to use, as far as the phase passes.
pub fn in_use(inputs: &ReportInputs<'_>, metrics: &[MetricColumn]) -> InUse {
    let chooser = Chooser::new(inputs.phase, inputs.plan, inputs.judgement, inputs.quantities);
    let (basis, default) = chooser.basis();
    let fallback = inputs.judgement.fallback.as_ref();
    let shapes: Vec<ShapeUse> = chooser.timed().map(|shape| chooser.at(shape, basis, default)).collect();
    let mut found = InUse {
        basis,
        sentence: CleanText::default(),
        variant: default.map(|id| id.0.clone()),
        cost: fallback.filter(|_| basis == UseBasis::Fallback).and_then(|taken| taken.cost.clone()),
        metric: chooser.metric.into(),
        unit: metrics.iter().find(|m| m.name == *chooser.metric).map_or_else(CleanText::default, |m| (&m.unit).into()),
        shapes,
    };
    found.sentence = CleanText::whole(&sentence(inputs, metrics, &found));
    found
}

/// Variants and shapes for advice, the objective's shape first: those in use, and the selected variant if the phase
/// does not pass with it.
pub fn subjects(
    phase: &Phase,
    plan: &Plan,
    judgement: &Judgement,
    quantities: &Quantities,
) -> Vec<(VariantId, ShapeName)> {
    let chooser = Chooser::new(phase, plan, judgement, quantities);
    let (basis, default) = chooser.basis();
    let objective = &phase.objective.shape;
    if basis != UseBasis::Selected {
        let selected = judgement.selected.iter();
        return selected.map(|selected| (selected.variant.clone(), objective.clone())).collect();
    }
    let used = chooser.timed().filter_map(|shape| Some((chooser.chosen(&shape.name, basis, default).0?, &shape.name)));
    let mut subjects: Vec<(VariantId, ShapeName)> = used.map(|(id, shape)| (id.clone(), shape.clone())).collect();
    subjects.sort_by_key(|(_, shape)| shape != objective);
    if subjects.is_empty() {
        subjects.extend(default.map(|id| (id.clone(), objective.clone())));
    }
    subjects
}

/// Chooses variants by the objective's metric.
struct Chooser<'a> {
    phase: &'a Phase,
    plan: &'a Plan,
    judgement: &'a Judgement,
    quantities: &'a Quantities,
    metric: &'a str,
}

impl<'a> Chooser<'a> {
    fn new(phase: &'a Phase, plan: &'a Plan, judgement: &'a Judgement, quantities: &'a Quantities) -> Self {
        Self { phase, plan, judgement, quantities, metric: &phase.objective.metric }
    }

    /// Why a variant is recommended, and the default variant for shapes without their own choice.
    fn basis(&self) -> (UseBasis, Option<&'a VariantId>) {
        let falls_back = self.judgement.fallback.as_ref().is_some_and(|fallback| fallback.verdict == Verdict::Pass);
        let basis = match (self.judgement.verdict, falls_back) {
            _ if seeks_the_worst(self.phase) => UseBasis::Nothing,
            (Verdict::Pass, true) => UseBasis::Fallback,
            (Verdict::Pass, false) => UseBasis::Selected,
            (Verdict::Fail | Verdict::Inconclusive, _) => UseBasis::Nothing,
        };
        (basis, banner_variant(self.judgement).filter(|_| basis != UseBasis::Nothing))
    }

    /// Shapes with a value for some candidate.
    fn timed(&self) -> impl Iterator<Item = &'a ncugate_phase::config::Shape> {
        let (plan, quantities, metric) = (self.plan, self.quantities, self.metric);
        let is_timed = move |shape: &&ncugate_phase::config::Shape| {
            plan.candidates().any(|v| quantities.read(&v.id, &shape.name, metric).value().is_some())
        };
        self.phase.workload.shapes.iter().filter(is_timed)
    }

    /// Whether the phase launches a variant at a shape.
    fn is_launched(&self, id: &VariantId, shape: &ShapeName) -> bool {
        self.plan.variant(id).is_some_and(|variant| variant.left_out_at(shape).is_none())
    }

    fn value(&self, id: &VariantId, shape: &ShapeName) -> Option<f64> {
        self.quantities.read(id, shape, self.metric).value().filter(|value| value.is_finite())
    }

    fn confirmed(&self, id: &VariantId, shape: &ShapeName) -> Option<f64> {
        selected_times::value(self.quantities, id, shape, self.metric).filter(|value| value.is_finite())
    }

    fn is_proven(&self, id: &VariantId) -> bool {
        let result = self.judgement.variants.iter().find(|result| result.variant == *id);
        result.is_some_and(|result| matches!(result.correctness, Correctness::Proven { .. }))
    }

    /// The best of these by the metric at a shape; the first one on a tie.
    fn best(&self, ids: impl Iterator<Item = &'a VariantId>, shape: &ShapeName) -> Option<(&'a VariantId, f64)> {
        let lower = self.phase.objective.better != Better::Higher;
        let values = ids.filter_map(|id| Some((id, self.value(id, shape)?)));
        values.reduce(|best, next| match (next.1 < best.1, next.1 > best.1) {
            (true, _) if lower => next,
            (_, true) if !lower => next,
            _ => best,
        })
    }

    /// The variant to use at a shape, and the gates that judged candidates there.
    fn chosen(
        &self,
        name: &ShapeName,
        basis: UseBasis,
        default: Option<&'a VariantId>,
    ) -> (Option<&'a VariantId>, BTreeMap<&'a VariantId, Vec<CleanText>>) {
        let judged = match basis {
            // The fallback and the stage kept by the plan are judged as one variant for all shapes.
            UseBasis::Selected if self.judgement.stages.is_empty() => {
                let required = self.judged(name, Level::Required);
                if required.is_empty() { self.judged(name, Level::Advisory) } else { required }
            }
            UseBasis::Selected | UseBasis::Fallback | UseBasis::Nothing => BTreeMap::new(),
        };
        let default = default.filter(|id| self.is_launched(id, name));
        (self.best(judged.keys().copied(), name).map(|(id, _)| id).or(default), judged)
    }

    fn at(&self, shape: &ncugate_phase::config::Shape, basis: UseBasis, default: Option<&'a VariantId>) -> ShapeUse {
        let name = &shape.name;
        let (chosen, judged) = self.chosen(name, basis, default);
        let candidates = || self.plan.candidates().map(|v| &v.id).filter(|id| self.is_proven(id));
        let fallback = self.phase.gate_plan.fallback.as_ref();
        let own = fallback.filter(|_| basis == UseBasis::Fallback && chosen.is_none()).and_then(|fallback| {
            let fallbacks = glob(&fallback.variant).ok()?;
            self.best(candidates().filter(|id| fallbacks.is_match(&id.0)), name)
        });
        let best = own.or_else(|| self.best(candidates(), name));
        let not_launched = banner_variant(self.judgement)
            .filter(|id| chosen.is_none() && best.is_some() && !self.is_launched(id, name));
        ShapeUse {
            shape: name.0.clone(),
            dimensions: shape.dims.iter().cloned().collect(),
            variant: chosen.map(|id| id.0.clone()),
            value: chosen.and_then(|id| self.confirmed(id, name)).map(Number::new),
            judged_by: chosen.and_then(|id| judged.get(id)).cloned().unwrap_or_default(),
            best: best.map(|(id, _)| id.0.clone()),
            best_value: best
                .map(|(id, value)| if chosen == Some(id) { self.confirmed(id, name).unwrap_or(value) } else { value })
                .map(Number::new),
            not_launched: not_launched.map(|id| id.0.clone()),
        }
    }

    /// Variants with time gates of a level at a shape, with those gates, unless one fails there. A gate on `each` judges the
    /// selected variant's competitors; it names a variant to use only where the selected one is not launched.
    fn judged(&self, shape: &ShapeName, level: Level) -> BTreeMap<&'a VariantId, Vec<CleanText>> {
        let of_level = |gate: &&GateResult| gate.level == level && gate.waived.is_none();
        let mut judged: BTreeMap<&VariantId, Vec<CleanText>> = BTreeMap::new();
        let mut stopped: Vec<&VariantId> = Vec::new();
        let selected = self.judgement.selected.as_ref().map(|selected| &selected.variant);
        let is_elsewhere = selected.is_some_and(|id| !self.is_launched(id, shape));
        let names = |scope: &Scope| match scope {
            Scope::Each => is_elsewhere,
            Scope::Any => false,
            Scope::Selected | Scope::Matching(_) | Scope::Best(_) => true,
        };
        for gate in self.judgement.gates.iter().filter(of_level) {
            for case in gate.cases.iter().filter(|case| case.shape == *shape) {
                if case.outcome.verdict != Verdict::Pass {
                    stopped.push(&case.variant);
                } else if case.outcome.origin.is_some() && names(&gate.on) {
                    judged.entry(&case.variant).or_default().push(gate.name.clone());
                }
            }
        }
        judged.retain(|id, _| !stopped.contains(id) && self.is_proven(id));
        judged
    }
}

/// `Use wide_grid at medium and large (60.1 µs), A=1 at mission (4.45 µs).`
fn sentence(inputs: &ReportInputs<'_>, metrics: &[MetricColumn], found: &InUse) -> String {
    let judgement = inputs.judgement;
    let title = metrics.iter().find(|m| m.name == found.metric).map_or(found.metric.as_str(), |m| m.title.as_str());
    if found.basis == UseBasis::Nothing {
        return match judgement.verdict {
            _ if seeks_the_worst(inputs.phase) => {
                format!("No variant is recommended: the phase selects the worst {}.", text::inside(title))
            }
            Verdict::Fail => match judgement.variants.iter().any(|v| v.rank.is_some() && v.verdict == Verdict::Pass) {
                true => "The selected variant does not pass.".to_owned(),
                false => "No variant passes.".to_owned(),
            },
            Verdict::Pass | Verdict::Inconclusive => "No variant passes yet: the phase is inconclusive.".to_owned(),
        };
    }
    let fallback = if found.basis == UseBasis::Fallback { "the fallback " } else { "" };
    let groups = found.by_variant();
    let whole = groups.len() < 2;
    let said: Vec<String> = groups
        .iter()
        .map(|(variant, shapes)| {
            let at: Vec<String> = shapes
                .iter()
                .map(|shape| match &shape.value {
                    // Its shape precedes it.
                    Some(value) if !whole && shapes.len() == 1 => number::with_unit(value.value, &found.unit),
                    Some(value) => format!("{} at {}", number::with_unit(value.value, &found.unit), shape.shape),
                    None => format!("not measured at {}", shape.shape),
                })
                .collect();
            let names: Vec<&str> = shapes.iter().map(|shape| shape.shape.as_str()).collect();
            match whole {
                true => format!("{variant}: {} {}", text::inside(title), joined(&at)),
                false => format!("{variant} at {} ({})", joined(&names), joined(&at)),
            }
        })
        .collect();
    if let Some(sentence) = slower(inputs, metrics, found) {
        return sentence;
    }
    let mut sentence = match said.is_empty() {
        true => found.variant.as_deref().map_or_else(String::new, |id| format!("Use {fallback}{id}.")),
        false => format!("Use {fallback}{}.", said.join("; ")),
    };
    let note = banner_variant(judgement).and_then(|id| Some((id, beside_baseline(inputs, id)?)));
    if let Some((id, note)) = note {
        let of = match groups.iter().position(|(variant, _)| id.0 == *variant) {
            _ if whole => "It",
            Some(0) => "The first",
            Some(1) => "The second",
            Some(_) | None => id.0.as_str(),
        };
        sentence.push_str(&format!(" {of} is {note} at {}.", inputs.phase.objective.shape));
    }
    sentence
}

/// Whether the phase selects the variant that is worst by its metric: `maximise = "latency_p50"` ranks defects.
fn seeks_the_worst(phase: &Phase) -> bool {
    let metric = Catalogue::embedded().get(&phase.objective.metric);
    metric.is_some_and(|metric| match (metric.better, phase.objective.better) {
        (Better::Lower, Better::Higher) | (Better::Higher, Better::Lower) => true,
        (Better::Lower | Better::Higher | Better::Context, _) => false,
    })
}

/// The text that replaces a recommendation if the variant in use is slower than the first baseline: always for a
/// fallback, and for a selected variant if no required gate compares its time with that of another.
fn slower(inputs: &ReportInputs<'_>, metrics: &[MetricColumn], found: &InUse) -> Option<String> {
    let metric = metrics.iter().find(|metric| metric.name == found.metric)?;
    let id = banner_variant(inputs.judgement)?;
    let baseline = &inputs.plan.baselines().next()?.id;
    let shape = &inputs.phase.objective.shape;
    let (value, theirs) = selected_times::pair(inputs.quantities, (id, baseline), shape, &metric.name)?;
    let loses = match metric.better {
        Better::Lower => value > theirs,
        Better::Higher => value < theirs,
        Better::Context => false,
    };
    let compared = |gate: &GateResult| {
        let reads = gate.require.reads();
        gate.level == Level::Required
            && (!reads.speedups.is_empty() || reads.quantities.iter().any(|read| read.owner != Owner::Case))
    };
    if !loses || found.basis == UseBasis::Selected && inputs.judgement.gates.iter().any(compared) {
        return None;
    }
    let (who, gates) = match found.basis {
        UseBasis::Fallback => ("The fallback", "the fallback's gates"),
        UseBasis::Selected | UseBasis::Nothing => ("The selected variant", "every required gate"),
    };
    let note = beside_baseline(inputs, id)?;
    let value = number::with_unit(value, &metric.unit);
    Some(format!("{who} {id} passes {gates}, but is {note} at {shape} ({value})."))
}

/// `a`, `a and b`, `a, b and c`.
fn joined<T: AsRef<str>>(parts: &[T]) -> String {
    let parts: Vec<&str> = parts.iter().map(AsRef::as_ref).collect();
    match parts.as_slice() {
        [] => String::new(),
        [one] => (*one).to_owned(),
        [head @ .., last] => format!("{} and {last}", head.join(", ")),
    }
}

/// The objective's metric of a variant relative to the first baseline: `2.04× faster than sdpa_default`; none without a
/// baseline, or if either has no value.
pub fn beside_baseline(inputs: &ReportInputs<'_>, id: &VariantId) -> Option<String> {
    inputs.plan.baselines().next()?;
    let metric = MetricColumn::known(&inputs.phase.objective.metric);
    let (baseline, change) = deltas::against_first(inputs, &metric, (id, &inputs.phase.objective.shape))?;
    Some(deltas::compared_words(&metric, &change, &baseline))
}
