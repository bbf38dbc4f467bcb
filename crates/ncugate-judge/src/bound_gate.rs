//! A gate bound to the measurements; judges variants one by one.

use super::bind::{bind, compared, scalar_value};
use super::case_outcome::{CaseOutcome, holds, margin};
use super::compiled_requirement::{CompiledForm, CompiledRequirement, CompiledSide};
use super::context::{Doubt, EvalContext, ProofPolicy, finite};
use super::excused_pairs::PairState;
use super::launches::Launches;
use super::operand::{Absence, CaseSamples, Operand, SPEED, SampleSeries};
use super::results::{Correctness, InconclusiveKind};
use super::scope::{Combine, ScopeRule};
use super::step_bounds::StepBounds;
use ncugate_model::Verdict;
use ncugate_model::expr::{Comparison, Owner, Quantity, Reference, Value};
use ncugate_model::metric::{Catalogue, LogicalMetric};
use ncugate_model::quantities::MetricCells;
use ncugate_phase::config::Gate;
use rayon::prelude::*;

/// When bootstrap intervals are computed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IntervalDetail {
    /// For people: every timed case gets an interval.
    Intervals,
    /// For thousands of variants: only if the verdict needs the interval. The verdicts are the same.
    Verdicts,
}

/// A variant judged by a gate.
pub struct VariantOutcome {
    pub variant: usize,
    /// Over all its cases.
    pub verdict: Verdict,
    /// The index of each shape of the gate and the outcome there, without excused pairs.
    pub cases: Vec<(usize, CaseOutcome)>,
}

impl VariantOutcome {
    /// Whether every case that does not hold is a comparison that was not made.
    pub fn is_uncompared(&self) -> bool {
        let open = |case: &CaseOutcome| case.inconclusive == Some(InconclusiveKind::Uncompared);
        self.verdict == Verdict::Inconclusive && self.outcomes().all(|case| case.verdict == Verdict::Pass || open(case))
    }

    /// The outcomes, in the order of the shapes.
    pub fn outcomes(&self) -> impl Iterator<Item = &CaseOutcome> {
        self.cases.iter().map(|(_, outcome)| outcome)
    }

    /// The outcome without excused pairs; `state` is by shape of the gate.
    #[must_use]
    pub fn excused(self, gate: &Gate, state: impl Fn(usize) -> PairState) -> Self {
        let case = |(shape, outcome): (usize, CaseOutcome)| match state(shape) {
            PairState::Judged => Some((shape, outcome)),
            PairState::Excused => None,
            PairState::ShapeWithoutVariant => Some((
                shape,
                outcome.unless_launched(&format!("no variant is launched at shape `{}`", gate.shapes[shape])),
            )),
            PairState::VariantWithoutShape => {
                Some((shape, outcome.unless_launched("launched at no shape of the gate")))
            }
        };
        let cases: Vec<_> = self.cases.into_iter().filter_map(case).collect();
        Self { verdict: over_shapes(gate, &cases), cases, ..self }
    }

    /// The outcome of a variant that was picked from several: a case holds only on samples that took no part in the
    /// selection.
    #[must_use]
    pub fn confirmed(self, gate: &Gate) -> Self {
        let confirmed = |(shape, outcome): (usize, CaseOutcome)| (shape, outcome.unless_unconfirmed());
        let cases: Vec<_> = self.cases.into_iter().map(confirmed).collect();
        Self { verdict: over_shapes(gate, &cases), cases, ..self }
    }
}

fn over_shapes(gate: &Gate, cases: &[(usize, CaseOutcome)]) -> Verdict {
    let needed = gate.at_least.map_or(cases.len(), |n| n as usize);
    Verdict::at_least(needed, cases.iter().map(|(_, case)| case.verdict))
}

pub struct BoundGate<'a> {
    pub gate: &'a Gate,
    pub(super) context: &'a EvalContext<'a>,
    pub(super) requirement: CompiledRequirement,
    pub(super) operands: Vec<Operand<'a>>,
    /// Variants of this run that each of its comparisons compares with, by index; `None` for stored runs.
    compared: Vec<Vec<Option<usize>>>,
    /// Number of confirmed cases any of which makes the gate pass: each is a chance for noise.
    chances: usize,
}

/// The values on which a comparison is decided.
pub(super) struct Sides<'s> {
    pub left: &'s CompiledSide,
    pub comparison: Comparison,
    pub right: &'s CompiledSide,
    pub values: &'s mut [Value],
    pub samples: &'s CaseSamples,
    /// Row of the case.
    pub row: Option<usize>,
    /// Level of the interval.
    pub level: f64,
}

impl<'a> BoundGate<'a> {
    /// Compiles and binds a gate; `previous` is the last accepted stage.
    pub fn new(gate: &'a Gate, context: &'a EvalContext<'a>, previous: Option<usize>) -> Self {
        let requirement = CompiledRequirement::new(&gate.require);
        let operands = bind(&requirement.references, context, &gate.shapes, previous);
        let compared = compared(&gate.require, context, previous);
        let chances = chances(gate, context);
        Self { gate, context, requirement, operands, compared, chances }
    }

    /// Level of the interval of a case that is decided by this number of comparisons: all of them and all cases of the
    /// gate together err as rarely as a single one (C. E. Bonferroni, 1936).
    pub(super) fn level(&self, comparisons: usize) -> f64 {
        let error = 1.0 - self.context.resampler.settings().level;
        1.0 - error / (self.chances * comparisons).max(1) as f64
    }

    /// The logical metric on the left side, if the side reads nothing else.
    pub fn metric(&self) -> Option<&'static LogicalMetric> {
        self.gate.require.subject()?.own().and_then(|name| Catalogue::embedded().get(name))
    }

    /// Unit of the measured value.
    pub fn unit(&self) -> String {
        match self.gate.require.subject() {
            Some(Reference::Speedup { .. }) => "x".to_owned(),
            _ => self.metric().map_or_else(String::new, |m| m.unit.clone()),
        }
    }

    /// ` at large`, for a shape of the gate other than the objective's.
    pub fn elsewhere(&self, shape: usize) -> String {
        let shape = self.gate.shapes.get(shape).filter(|shape| **shape != self.context.phase.objective.shape);
        shape.map_or_else(String::new, |shape| format!(" at {shape}"))
    }

    pub fn references(&self) -> &[Reference] {
        &self.requirement.references
    }

    /// Samples or launches per case after all rounds that the phase allows.
    pub fn full(&self) -> usize {
        let timed = |operand: &Operand<'_>| match operand {
            Operand::Column { timing, .. } => timing.is_some(),
            Operand::Fixed(of) => of.iter().any(|fixed| fixed.timed.is_some()),
            Operand::Speedup { .. } => true,
            Operand::Param(_) | Operand::Scalar(_) | Operand::Correct => false,
        };
        let (bench, profile) = (&self.context.phase.bench, &self.context.phase.profile);
        let full = if self.operands.iter().any(timed) { bench.rounds.max(bench.max_rounds) } else { profile.repeat };
        full as usize
    }

    /// Judges variants, in the order given.
    pub fn judge(&self, variants: &[usize], detail: IntervalDetail) -> Vec<VariantOutcome> {
        variants.par_iter().with_min_len(64).map(|&variant| self.row(variant, detail)).collect()
    }

    fn row(&self, variant: usize, detail: IntervalDetail) -> VariantOutcome {
        let shapes = 0..self.gate.shapes.len();
        let cases: Vec<_> = shapes.map(|shape| (shape, self.case(variant, shape, detail))).collect();
        VariantOutcome { variant, verdict: over_shapes(self.gate, &cases), cases }
    }

    fn case(&self, variant: usize, shape: usize, detail: IntervalDetail) -> CaseOutcome {
        match (self.context.proof, self.context.correctness(variant)) {
            (_, correctness @ (Correctness::Wrong { .. } | Correctness::Cheats { .. })) => {
                CaseOutcome::wrong(correctness.disqualified().unwrap_or_default())
            }
            (ProofPolicy::Demanded, Correctness::Unproven { reason }) => {
                self.measured(variant, shape, detail).unless_unproven(reason)
            }
            _ => self.measured(variant, shape, detail),
        }
        .unless_compared_with(self.compares_only_with(variant).then(|| self.context.variant(variant).id.0.as_str()))
    }

    /// Whether one of its comparisons is only of this variant with itself. Then the limit alone decides.
    fn compares_only_with(&self, variant: usize) -> bool {
        self.compared.iter().any(|others| others.iter().all(|other| *other == Some(variant)))
    }

    fn measured(&self, variant: usize, shape: usize, detail: IntervalDetail) -> CaseOutcome {
        let row = self.context.row(variant, &self.gate.shapes[shape]);
        // No requirement, not even one on the correctness of other shapes, can be judged at a shape without a launch.
        if let Some(reason) = row.and_then(|row| self.context.quantities.left_out_at(row)) {
            return CaseOutcome::missing(reason.to_string());
        }
        let mut values = Vec::with_capacity(self.operands.len());
        for (operand, reference) in self.operands.iter().zip(self.references()) {
            match self.value(operand, reference, variant, shape, row) {
                Ok(value) => values.push(value),
                Err(reason) => return CaseOutcome::missing(reason.to_string()),
            }
        }
        let samples = match self.samples(row, shape, &mut values) {
            Ok(samples) => samples,
            Err(reason) => return CaseOutcome::missing(reason.to_string()),
        };
        let launches = Launches::new(&self.operands, &values, row, shape);
        let steps = StepBounds::new(&self.operands, self.references(), &values, row, shape);
        let is_timed = samples.timed.iter().any(|timed| timed.own.is_some() || timed.other.is_some());
        let doubt = match is_timed {
            true => self.context.doubt(&self.context.variant(variant).id, &self.gate.shapes[shape]).map(Doubt::Latency),
            false => self.doubt_of_counters(variant, shape),
        };
        let measured = samples.all().any(SampleSeries::is_throttled).then(|| values.clone());
        let outcome = match &self.requirement.form {
            CompiledForm::Compare { left, comparison, right } => {
                let (comparison, level) = (*comparison, self.level(1));
                let sides = Sides { left, comparison, right, values: &mut values, samples: &samples, row, level };
                self.compare(sides, shape, detail)
            }
            CompiledForm::Condition(side) => self.condition(side, &mut values, &samples, (row, shape)),
        };
        let outcome = CaseOutcome { origin: samples.origin, ..outcome };
        let outcome = match measured {
            Some(values) => self.unless_throttled(outcome, values, &samples, shape),
            None => outcome,
        };
        let outcome = match launches {
            Some(launches) => launches.judge(&self.requirement.form, outcome),
            None => outcome,
        };
        let outcome = match steps {
            Some(steps) => steps.judge(&self.requirement.form, outcome),
            None => outcome,
        };
        match doubt {
            Some(doubt) => outcome.unless_doubted(doubt),
            None => outcome,
        }
    }

    /// Why a counter of the variant itself is rejected at a shape.
    fn doubt_of_counters(&self, variant: usize, shape: usize) -> Option<Doubt<'a>> {
        let (id, shape) = (&self.context.variant(variant).id, &self.gate.shapes[shape]);
        self.references().iter().find_map(|reference| match reference {
            Reference::Quantity(Quantity { owner: Owner::Case, name }) => self.context.doubt_of(name, id, shape),
            Reference::Quantity(_) | Reference::Speedup { .. } => None,
        })
    }

    fn value(
        &self,
        operand: &Operand<'a>,
        reference: &Reference,
        variant: usize,
        shape: usize,
        row: Option<usize>,
    ) -> Result<Value, Absence> {
        let name = || reference.to_string();
        let read = |cells: Option<&MetricCells>, metric: &dyn Fn() -> String| match (cells, row) {
            (None, _) => Err(format!("metric '{}' was not collected", metric()).into()),
            (_, None) => Err(format!("nothing was measured at shape '{}'", self.gate.shapes[shape]).into()),
            (Some(cells), Some(row)) => {
                let value = cells.cells().get(row).map_or_else(|| Err("not measured".into()), finite);
                value.map_err(|reason| format!("{}: {reason}", metric()).into())
            }
        };
        match operand {
            Operand::Column { cells, .. } => read(*cells, &name).map(Value::Float),
            Operand::Fixed(of) => of[shape].value.clone(),
            Operand::Param(name) => {
                let params = &self.context.variant(variant).params;
                let found = params.iter().find(|(param, _)| param == name).map(|(_, value)| value.clone());
                found.ok_or_else(|| {
                    format!("'{name}' is not a metric, parameter, dimension or scalar of this variant").into()
                })
            }
            Operand::Scalar(scalar) => {
                let params = &self.context.variant(variant).params;
                let value = scalar_value(self.context, scalar, &self.gate.shapes[shape], params);
                value.map(Value::Float).map_err(|e| format!("scalar '{}': {e}", scalar.name).into())
            }
            Operand::Correct => match self.context.correctness(variant) {
                Correctness::Proven { .. } => Ok(Value::Bool(true)),
                Correctness::Wrong { .. } | Correctness::Cheats { .. } => Ok(Value::Bool(false)),
                Correctness::Unproven { reason } | Correctness::Unchecked { reason } => Err(reason.as_str().into()),
            },
            Operand::Speedup { over, cells } => {
                let own = read(*cells, &|| SPEED.to_owned())?;
                ratio(over[shape].value.clone()?, own)
                    .ok_or_else(|| format!("{}: latency is not positive", name()).into())
            }
        }
    }

    fn compare(&self, sides: Sides<'_>, shape: usize, detail: IntervalDetail) -> CaseOutcome {
        let numbers = sides.left.number(sides.values).and_then(|l| Ok((l, sides.right.number(sides.values)?)));
        let (left, right) = match numbers {
            Ok(numbers) => numbers,
            Err(reason) => return CaseOutcome::missing(format!("'{}': {reason}", self.gate.require)),
        };
        let verdict = if holds(sides.comparison, left, right) { Verdict::Pass } else { Verdict::Fail };
        let outcome = CaseOutcome {
            measured: Some(left),
            limit: Some(right),
            margin: Some(margin(sides.comparison, left, right)),
            ..CaseOutcome::bare(verdict, None)
        };
        if !sides.samples.varies() {
            return self.counted_once(sides, shape, outcome);
        }
        if let Some(unchanged) = self.unchanged(&sides, shape) {
            return unchanged;
        }
        let own = sides.samples.timed.iter().filter_map(|timed| timed.own.as_ref());
        let samples = own.map(|timed| timed.samples.len()).min().unwrap_or(1);
        let outcome = CaseOutcome { samples, ..outcome };
        if detail == IntervalDetail::Verdicts && self.clear(&sides, shape) == Some(verdict) {
            return outcome;
        }
        self.resampled(sides, shape, outcome)
    }

    fn condition(
        &self,
        side: &CompiledSide,
        values: &mut [Value],
        samples: &CaseSamples,
        (row, shape): (Option<usize>, usize),
    ) -> CaseOutcome {
        let truth = match side.truth(values) {
            Ok(truth) => truth,
            Err(reason) => return CaseOutcome::missing(format!("'{}': {reason}", self.gate.require)),
        };
        let verdict = if truth { Verdict::Pass } else { Verdict::Fail };
        let with = || self.with(values);
        let note = (!truth).then(|| format!("'{}' does not hold{}", self.gate.require, with()).into());
        let outcome = CaseOutcome::bare(verdict, note);
        if !samples.varies() {
            return outcome;
        }
        let own = samples.timed.iter().filter_map(|timed| timed.own.as_ref());
        let outcome = CaseOutcome { samples: own.map(|timed| timed.samples.len()).min().unwrap_or(1), ..outcome };
        let open = |case: CaseOutcome| CaseOutcome {
            verdict: Verdict::Inconclusive,
            inconclusive: case.inconclusive,
            estimate: Some(verdict),
            note: case.note,
            ..outcome.clone()
        };
        let is_timed = |at: usize| samples.timed[at].own.is_some() || samples.timed[at].other.is_some();
        let Some(parts) = side.timed_parts(values.len(), &is_timed) else {
            return open(CaseOutcome::missing(
                "noise can be judged only in comparisons of numbers; compare each latency with a limit",
            ));
        };
        let level = self.level(parts.comparisons.len());
        let decided: Vec<CaseOutcome> = (parts.comparisons.iter())
            .map(|part| {
                let samples = &samples.only(&part.operands);
                let (left, comparison, right) = (&part.left, part.comparison, &part.right);
                let sides = Sides { left, comparison, right, values, samples, row, level };
                self.compare(sides, shape, IntervalDetail::Intervals)
            })
            .collect();
        match parts.agree(values, &decided, truth) {
            true => outcome,
            false => {
                let unlike = || {
                    CaseOutcome::missing("its comparisons with their intervals do not give the value of the medians")
                };
                open(decided.into_iter().find(|part| part.verdict == Verdict::Inconclusive).unwrap_or_else(unlike))
            }
        }
    }

    fn with(&self, values: &[Value]) -> String {
        let shown = |(reference, value): (&Reference, &Value)| match value {
            Value::Float(v) => format!("{} is {}", reference, ncugate_model::number::short(*v)),
            other => format!("{} is {other}", reference),
        };
        let list: Vec<String> = self.references().iter().zip(values).map(shown).collect();
        if list.is_empty() { String::new() } else { format!(": {}", list.join(", ")) }
    }
}

/// Number of cases any of which makes the gate pass, if it is judged on confirmed samples: the candidates of `any`, times
/// the shapes that can complete `at_least`.
fn chances(gate: &Gate, context: &EvalContext<'_>) -> usize {
    let is_confirmed = |variant: &usize| {
        let mut rows = gate.shapes.iter().filter_map(|shape| context.row(*variant, shape));
        rows.any(|row| context.quantities.sampling_at(row).is_some_and(|sampling| sampling.fresh.is_some()))
    };
    let candidates = match ScopeRule::of(&gate.on).combine {
        Combine::Any => context.candidates().iter().filter(|variant| is_confirmed(variant)).count(),
        Combine::All => 1,
    };
    let shapes = gate.at_least.map_or(1, |needed| (gate.shapes.len() + 1).saturating_sub(needed as usize));
    candidates.max(1) * shapes.max(1)
}

fn ratio(numerator: Value, denominator: f64) -> Option<Value> {
    let ratio = numerator.number().filter(|n| *n > 0.0)? / denominator;
    (ratio.is_finite() && ratio > 0.0).then_some(Value::Float(ratio))
}
