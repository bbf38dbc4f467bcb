//! A gate bound to what was measured, judging variants one by one.

use super::ground::{Ground, Proof, finite};
use super::judgement::{Correctness, Doubt};
use super::launches::Launches;
use super::outcome::{Outcome, certain, holds, margin, of_difference};
use super::slot::{Absence, Slot, Timed, Timing, bind, own_timed, redrawn, scalar_value};
use super::test::{Form, Side, Test};
use crate::config::Gate;
use crate::expr::Value;
use crate::expr::reference::Reference;
use crate::expr::{Comparison, Requirement};
use crate::frame::MetricCells;
use crate::metric::{Catalogue, Metric};
use crate::model::Verdict;
use crate::stats::{Statistic, StatsError, Stream};
use minijinja::Environment;
use rayon::prelude::*;

/// Whether intervals are worked out where the verdict is clear without.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Detail {
    /// For people: every timed case has its interval.
    Intervals,
    /// For thousands of variants: only where the verdict needs it. The verdicts are the same.
    Verdicts,
}

/// A variant judged by a gate, with one outcome a shape of the gate.
pub struct Row {
    /// Index of the variant.
    pub variant: usize,
    /// Over the shapes.
    pub verdict: Verdict,
    /// By shape.
    pub cases: Vec<Outcome>,
}

/// A gate ready to judge.
pub struct Panel<'a> {
    /// The gate.
    pub gate: &'a Gate,
    ground: &'a Ground<'a>,
    test: Result<Test<'a>, String>,
    slots: Vec<Slot<'a>>,
}

/// What a comparison is about to be decided from.
struct Sides<'s, 'a> {
    left: &'s Side<'a>,
    comparison: Comparison,
    right: &'s Side<'a>,
    values: &'s mut [Value],
    timed: &'s [Option<Timed>],
}

impl<'a> Panel<'a> {
    /// Compiles and binds a gate; `previous` is the last accepted stage.
    pub fn new(
        gate: &'a Gate,
        ground: &'a Ground<'a>,
        environment: &'a Environment<'static>,
        previous: Option<usize>,
    ) -> Self {
        let test = Test::compile(&gate.require, environment);
        let references = test.as_ref().map_or(&[][..], |test| &test.references);
        let slots = bind(references, ground, &gate.shapes, previous);
        Self { gate, ground, test, slots }
    }

    /// The logical metric on the left side, when nothing else is.
    pub fn metric(&self) -> Option<&'static Metric> {
        match self.test.as_ref().ok()?.subject()? {
            Reference::Own(name) => Catalogue::embedded().get(name),
            Reference::Of { .. } | Reference::Speedup { .. } => None,
        }
    }

    /// The left side, as a gate writes it.
    pub fn subject(&self) -> String {
        let reference = self.test.as_ref().ok().and_then(Test::subject);
        reference.map_or_else(
            || match &self.gate.require {
                Requirement::Compare { left, .. } => left.text().to_owned(),
                Requirement::Condition { condition } => condition.text().to_owned(),
            },
            Reference::text,
        )
    }

    /// Unit of what is measured.
    pub fn unit(&self) -> String {
        match self.test.as_ref().ok().and_then(Test::subject) {
            Some(Reference::Speedup { .. }) => "x".to_owned(),
            _ => self.metric().map_or_else(String::new, |m| m.unit.clone()),
        }
    }

    /// ` at large`, for a case at another shape than the objective's.
    pub fn elsewhere(&self, case: usize) -> String {
        let shape = self.gate.shapes.get(case).filter(|shape| **shape != self.ground.phase.objective.shape);
        shape.map_or_else(String::new, |shape| format!(" at {shape}"))
    }

    /// What it looks at; nothing where it cannot be compiled.
    pub fn references(&self) -> &[Reference] {
        self.test.as_ref().map_or(&[][..], |test| &test.references)
    }

    /// The comparison, when it is one.
    pub fn comparison(&self) -> Option<Comparison> {
        match &self.test.as_ref().ok()?.form {
            Form::Compare { comparison, .. } => Some(*comparison),
            Form::Condition(_) => None,
        }
    }

    /// Judges variants, in the order given.
    pub fn judge(&self, variants: &[usize], detail: Detail) -> Vec<Row> {
        variants.par_iter().with_min_len(64).map(|&variant| self.row(variant, detail)).collect()
    }

    fn row(&self, variant: usize, detail: Detail) -> Row {
        let cases: Vec<Outcome> = (0..self.gate.shapes.len()).map(|shape| self.case(variant, shape, detail)).collect();
        Row { variant, verdict: over_shapes(&cases, self.gate.at_least), cases }
    }

    fn case(&self, variant: usize, shape: usize, detail: Detail) -> Outcome {
        match (self.ground.proof, self.ground.correctness(variant)) {
            (_, Correctness::Wrong { reason }) => Outcome::wrong(reason.as_str()),
            (Proof::Demanded, Correctness::Unproven { reason }) => {
                self.measured(variant, shape, detail).unless_unproven(reason)
            }
            _ => self.measured(variant, shape, detail),
        }
    }

    fn measured(&self, variant: usize, shape: usize, detail: Detail) -> Outcome {
        let test = match &self.test {
            Ok(test) => test,
            Err(reason) => return Outcome::missing(format!("the requirement cannot be evaluated: {reason}")),
        };
        let row = self.ground.row(variant, &self.gate.shapes[shape]);
        let mut values = Vec::with_capacity(self.slots.len());
        for (slot, reference) in self.slots.iter().zip(&test.references) {
            match self.value(slot, reference, variant, shape, row) {
                Ok(value) => values.push(value),
                Err(reason) => return Outcome::missing(reason.to_string()),
            }
        }
        let timed: Vec<Option<Timed>> = match self.timed(row) {
            Ok(timed) => timed,
            Err(reason) => return Outcome::missing(reason),
        };
        let launches = Launches::new(&self.slots, &values, row, shape);
        let outcome = match &test.form {
            Form::Compare { left, comparison, right } => {
                let sides = Sides { left, comparison: *comparison, right, values: &mut values, timed: &timed };
                self.compare(sides, shape, detail)
            }
            Form::Condition(side) => self.condition(side, &mut values, &timed, shape),
        };
        match launches {
            Some(launches) => launches.judge(&test.form, outcome),
            None => outcome,
        }
    }

    fn value(
        &self,
        slot: &Slot<'a>,
        reference: &Reference,
        variant: usize,
        shape: usize,
        row: Option<usize>,
    ) -> Result<Value, Absence> {
        let name = || reference.text();
        let read = |cells: &Option<MetricCells>, metric: &dyn Fn() -> String| match (cells, row) {
            (None, _) => Err(format!("metric '{}' was not collected", metric()).into()),
            (_, None) => Err(format!("nothing was measured at shape '{}'", self.gate.shapes[shape]).into()),
            (Some(cells), Some(row)) => {
                finite(&cells.at(row)).map_err(|reason| format!("{}: {reason}", metric()).into())
            }
        };
        match slot {
            Slot::Column { cells, .. } => read(cells, &name).map(Value::Float),
            Slot::Fixed(of) => of[shape].value.clone(),
            Slot::Param(name) => {
                let params = &self.ground.variant(variant).params;
                let found = params.iter().find(|(param, _)| param == name).map(|(_, value)| value.clone());
                found.ok_or_else(|| {
                    format!("'{name}' is no metric, parameter, dimension or scalar of this variant").into()
                })
            }
            Slot::Scalar(scalar) => {
                let params = &self.ground.variant(variant).params;
                let value = scalar_value(self.ground, scalar, &self.gate.shapes[shape], params);
                value.map(Value::Float).map_err(|e| format!("scalar '{}': {e}", scalar.name).into())
            }
            Slot::Correct => match self.ground.correctness(variant) {
                Correctness::Proven { .. } => Ok(Value::Bool(true)),
                Correctness::Wrong { .. } => Ok(Value::Bool(false)),
                Correctness::Unproven { reason } => Err(reason.as_str().into()),
            },
            Slot::Speedup { over, cells } => {
                let own = read(cells, &|| "latency_p50".to_owned())?;
                ratio(over[shape].value.clone()?, own)
                    .ok_or_else(|| format!("{}: latency is not positive", name()).into())
            }
        }
    }

    /// Own samples of every slot that follows from them; an error where there should be samples and are none.
    fn timed(&self, row: Option<usize>) -> Result<Vec<Option<Timed>>, String> {
        let of = |slot: &Slot<'a>| {
            let timing = match slot {
                Slot::Column { timing: Some(timing), .. } => *timing,
                Slot::Speedup { .. } => Timing::Statistic(Statistic::MEDIAN),
                _ => return Ok(None),
            };
            let timed = row.and_then(|row| own_timed(self.ground, row, timing));
            timed.map(Some).ok_or_else(|| "latency has no samples, so its noise is not known".to_owned())
        };
        self.slots.iter().map(of).collect()
    }

    fn compare(&self, sides: Sides<'_, 'a>, shape: usize, detail: Detail) -> Outcome {
        let numbers = sides.left.number(sides.values).and_then(|l| Ok((l, sides.right.number(sides.values)?)));
        let (left, right) = match numbers {
            Ok(numbers) => numbers,
            Err(reason) => return Outcome::missing(format!("'{}': {reason}", self.gate.require.text())),
        };
        let verdict = if holds(sides.comparison, left, right) { Verdict::Pass } else { Verdict::Fail };
        let outcome = Outcome {
            measured: Some(left),
            limit: Some(right),
            margin: Some(margin(sides.comparison, left, right)),
            ..Outcome::bare(verdict, None)
        };
        if !self.varies(sides.timed, shape) {
            return outcome;
        }
        let samples = sides.timed.iter().flatten().map(|t| t.samples.len()).min().unwrap_or(1);
        let outcome = Outcome { samples, ..outcome };
        let clear = self.clear(&sides, shape).filter(|clear| *clear == verdict);
        if clear.is_some() && detail == Detail::Verdicts {
            return outcome;
        }
        self.resampled(sides, shape, outcome)
    }

    /// The verdict by the bootstrap interval of `left - right`.
    fn resampled(&self, sides: Sides<'_, 'a>, shape: usize, outcome: Outcome) -> Outcome {
        let Sides { left, comparison, right, values, timed } = sides;
        let mut difference = Vec::new();
        let drawn = self.resample(values, timed, shape, |values| {
            let sides = left.number(values).and_then(|l| Ok((l, right.number(values)?)));
            sides.map(|(l, r)| difference.push(l - r))
        });
        let unresolvable = self.unresolvable(left, right, values, timed, shape);
        let interval = drawn.and_then(|()| self.ground.resampler.interval(&difference).map_err(|e| e.to_string()));
        let interval = match interval {
            Ok(interval) => interval,
            Err(reason) => {
                return Outcome {
                    verdict: Verdict::Inconclusive,
                    doubt: Some(Doubt::Noise),
                    note: Some(format!("noise: {reason}").into()),
                    ..outcome
                };
            }
        };
        let limit = outcome.limit.unwrap_or_default();
        let around = Some((limit + interval.low, limit + interval.high));
        match of_difference(comparison, interval.low, interval.high) {
            Some(verdict) if verdict == outcome.verdict => Outcome { interval: around, ..outcome },
            _ => Outcome {
                verdict: Verdict::Inconclusive,
                doubt: Some(Doubt::Noise),
                interval: around,
                note: Some(unresolvable.unwrap_or_else(|| "noise: needs more rounds".to_owned()).into()),
                ..outcome
            },
        }
    }

    /// Why no verdict can be had here, where the limit is nearer to equality than the machine's own noise reaches.
    fn unresolvable(
        &self,
        left: &Side<'a>,
        right: &Side<'a>,
        values: &[Value],
        timed: &[Option<Timed>],
        shape: usize,
    ) -> Option<String> {
        let noise = self.ground.context.noise.get(&self.gate.shapes[shape])?;
        let varying: Vec<(usize, &Timed)> = (0..values.len())
            .filter_map(|at| Some((at, timed[at].as_ref().or_else(|| fixed_timed(&self.slots[at], shape))?)))
            .collect();
        let ratios = varying.iter().filter(|(at, _)| matches!(self.slots[*at], Slot::Speedup { .. })).count();
        if varying.len() + ratios < 2 {
            return None;
        }
        // how far the limit is from equality: both sides timed alike
        let alike = as_float(&values[varying.first()?.0])?;
        let mut equal = values.to_vec();
        for (at, _) in &varying {
            let ratio = matches!(self.slots[*at], Slot::Speedup { .. });
            equal[*at] = Value::Float(if ratio { 1.0 } else { alike });
        }
        let room = (right.number(&equal).ok()? / left.number(&equal).ok()? - 1.0).abs();
        let tail = |timed: &Timed| matches!(timed.timing, Timing::Statistic(statistic) if statistic.is_tail());
        let tail = varying.iter().any(|(_, timed)| tail(timed));
        let samples = varying.iter().map(|(_, timed)| timed.samples.len()).min()?;
        let noise = noise.at(if tail { Statistic::P90 } else { Statistic::MEDIAN }, samples)?;
        (room > 0.0 && room < noise).then(|| {
            let percent = |part: f64| crate::number::short((part * 1000.0).round() / 10.0);
            format!(
                "noise: a {} % limit cannot be resolved: this machine's own noise is {} % at {samples} rounds",
                percent(room),
                percent(noise)
            )
        })
    }

    fn condition(&self, side: &Side<'a>, values: &mut [Value], timed: &[Option<Timed>], shape: usize) -> Outcome {
        let truth = match side.truth(values) {
            Ok(truth) => truth,
            Err(reason) => return Outcome::missing(format!("'{}': {reason}", self.gate.require.text())),
        };
        let verdict = if truth { Verdict::Pass } else { Verdict::Fail };
        let with = || self.with(values);
        let note = (!truth).then(|| format!("'{}' does not hold{}", self.gate.require.text(), with()).into());
        let outcome = Outcome::bare(verdict, note);
        if !self.varies(timed, shape) {
            return outcome;
        }
        let (mut held, mut all) = (0_usize, 0_usize);
        let drawn = self.resample(values, timed, shape, |values| {
            all += 1;
            held += usize::from(side.truth(values)?);
            Ok(())
        });
        let tail = (1.0 - self.ground.resampler.settings().level) / 2.0;
        let share = held as f64 / all.max(1) as f64;
        match (drawn, verdict) {
            (Ok(()), Verdict::Pass) if share >= 1.0 - tail => outcome,
            (Ok(()), Verdict::Fail) if share <= tail => outcome,
            (Ok(()), _) => noisy("needs more rounds"),
            (Err(reason), _) => noisy(&reason),
        }
    }

    fn with(&self, values: &[Value]) -> String {
        let Ok(test) = &self.test else { return String::new() };
        let shown = |(reference, value): (&Reference, &Value)| match value {
            Value::Float(v) => format!("{} is {}", reference.text(), crate::number::short(*v)),
            other => format!("{} is {other}", reference.text()),
        };
        let list: Vec<String> = test.references.iter().zip(values).map(shown).collect();
        if list.is_empty() { String::new() } else { format!(": {}", list.join(", ")) }
    }

    /// Whether anything it looks at follows from samples.
    fn varies(&self, timed: &[Option<Timed>], shape: usize) -> bool {
        timed.iter().any(Option::is_some) || self.slots.iter().any(|slot| fixed_timed(slot, shape).is_some())
    }

    /// The verdict that every resample would give, where the samples' ranges settle it.
    fn clear(&self, sides: &Sides<'_, 'a>, shape: usize) -> Option<Verdict> {
        let of_slot = |slot: usize| {
            let value = as_float(&sides.values[slot])?;
            let own = sides.timed[slot].as_ref();
            let over = fixed_timed(&self.slots[slot], shape);
            match &self.slots[slot] {
                Slot::Speedup { over: fixed, .. } => {
                    let numerator = as_float(fixed[shape].value.as_ref().ok()?)?;
                    let (low, high) = over.map_or(Some((numerator, numerator)), |t| t.range(self.ground, numerator))?;
                    let own = own?.range(self.ground, numerator / value)?;
                    Some((low / own.1, high / own.0))
                }
                _ => own.or(over).map_or(Some((value, value)), |timed| timed.range(self.ground, value)),
            }
        };
        certain(sides.comparison, sides.left.range(of_slot)?, sides.right.range(of_slot)?)
    }

    /// Calls `each` with the slots of every resample.
    fn resample(
        &self,
        values: &mut [Value],
        timed: &[Option<Timed>],
        shape: usize,
        mut each: impl FnMut(&[Value]) -> Result<(), String>,
    ) -> Result<(), String> {
        let others = self.slots.iter().filter_map(|slot| fixed_timed(slot, shape));
        let own = redrawn(timed.iter().flatten().chain(others));
        let drawn: Vec<(usize, Vec<f64>)> = (0..values.len())
            .filter_map(|at| Some((at, self.replicates(at, &values[at], (timed[at].as_ref(), own), shape)?)))
            .map(|(at, replicates)| replicates.map(|r| (at, r)).map_err(|e| e.to_string()))
            .collect::<Result<_, _>>()?;
        for index in 0..self.ground.resampler.settings().resamples {
            for (at, replicates) in &drawn {
                values[*at] = Value::Float(replicates[index]);
            }
            each(values)?;
        }
        Ok(())
    }

    fn replicates(
        &self,
        at: usize,
        value: &Value,
        (own, stream): (Option<&Timed>, Stream),
        shape: usize,
    ) -> Option<Result<Vec<f64>, StatsError>> {
        let value = as_float(value)?;
        let other = fixed_timed(&self.slots[at], shape);
        let Slot::Speedup { over, .. } = &self.slots[at] else {
            return own.or(other).map(|timed| timed.replicates(self.ground, value, stream));
        };
        let numerator = as_float(over[shape].value.as_ref().ok()?)?;
        let own = own?.replicates(self.ground, numerator / value, stream);
        Some(own.and_then(|own| match other {
            Some(other) => {
                let numerators = other.replicates(self.ground, numerator, stream)?;
                Ok(numerators.iter().zip(&own).map(|(n, d)| n / d).collect())
            }
            None => Ok(own.iter().map(|d| numerator / d).collect()),
        }))
    }
}

fn fixed_timed<'s>(slot: &'s Slot<'_>, shape: usize) -> Option<&'s Timed> {
    match slot {
        Slot::Fixed(of) | Slot::Speedup { over: of, .. } => of[shape].timed.as_ref(),
        Slot::Column { .. } | Slot::Param(_) | Slot::Scalar(_) | Slot::Correct => None,
    }
}

fn noisy(reason: &str) -> Outcome {
    Outcome {
        doubt: Some(Doubt::Noise),
        ..Outcome::bare(Verdict::Inconclusive, Some(format!("noise: {reason}").into()))
    }
}

fn as_float(value: &Value) -> Option<f64> {
    match value {
        Value::Float(v) => Some(*v),
        Value::Int(v) => Some(*v as f64),
        Value::Bool(_) | Value::Text(_) => None,
    }
}

fn ratio(numerator: Value, denominator: f64) -> Option<Value> {
    let ratio = as_float(&numerator).filter(|n| *n > 0.0)? / denominator;
    (ratio.is_finite() && ratio > 0.0).then_some(Value::Float(ratio))
}

/// Over shapes: at least so many must hold, all when nothing is said. No shapes are no pass.
fn over_shapes(cases: &[Outcome], at_least: Option<u32>) -> Verdict {
    if cases.is_empty() {
        return Verdict::Inconclusive;
    }
    let needed = at_least.map_or(cases.len(), |n| (n as usize).max(1));
    let passing = cases.iter().filter(|c| c.verdict == Verdict::Pass).count();
    let open = cases.iter().filter(|c| c.verdict == Verdict::Inconclusive).count();
    match (passing >= needed, passing + open >= needed) {
        (true, _) => Verdict::Pass,
        (false, true) => Verdict::Inconclusive,
        (false, false) => Verdict::Fail,
    }
}
