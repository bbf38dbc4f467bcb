//! Cases whose values follow from latency samples: judged by resampling, where the samples' ranges leave it open.

use super::bound_gate::{BoundGate, Sides};
use super::case_outcome::{CaseOutcome, certain, of_difference};
use super::compiled::CompiledSide;
use super::operand::{Operand, Timed, Timing, redrawn};
use super::results::InconclusiveKind;
use crate::expr::Value;
use crate::model::Verdict;
use crate::stats::{Statistic, StatsError, Stream};

impl<'a> BoundGate<'a> {
    /// The verdict by the bootstrap interval of `left - right`.
    pub(super) fn resampled(&self, sides: Sides<'_>, shape: usize, outcome: CaseOutcome) -> CaseOutcome {
        let Sides { left, comparison, right, values, timed } = sides;
        let mut difference = Vec::new();
        let drawn = self.resample(values, timed, shape, |values| {
            let sides = left.number(values).and_then(|l| Ok((l, right.number(values)?)));
            sides.map(|(l, r)| difference.push(l - r))
        });
        let unresolvable = self.unresolvable(left, right, values, timed, shape);
        let interval = drawn.and_then(|()| self.context.resampler.interval(&difference).map_err(|e| e.to_string()));
        let interval = match interval {
            Ok(interval) => interval,
            Err(reason) => {
                return CaseOutcome {
                    verdict: Verdict::Inconclusive,
                    inconclusive: Some(InconclusiveKind::Noise),
                    note: Some(format!("noise: {reason}").into()),
                    ..outcome
                };
            }
        };
        let limit = outcome.limit.unwrap_or_default();
        let around = Some((limit + interval.low, limit + interval.high));
        match of_difference(comparison, interval.low, interval.high) {
            Some(verdict) if verdict == outcome.verdict => CaseOutcome { interval: around, ..outcome },
            _ => CaseOutcome {
                verdict: Verdict::Inconclusive,
                inconclusive: Some(InconclusiveKind::Noise),
                estimate: Some(outcome.verdict),
                interval: around,
                note: Some(unresolvable.unwrap_or_else(|| "noise: needs more rounds".to_owned()).into()),
                ..outcome
            },
        }
    }

    /// Why no verdict can be had here, where the limit is nearer to equality than the machine's own noise reaches.
    fn unresolvable(
        &self,
        left: &CompiledSide,
        right: &CompiledSide,
        values: &[Value],
        timed: &[Option<Timed>],
        shape: usize,
    ) -> Option<String> {
        let noise = self.context.given.noise.get(&self.gate.shapes[shape])?;
        let varying: Vec<(usize, &Timed)> = (0..values.len())
            .filter_map(|at| Some((at, timed[at].as_ref().or_else(|| self.operands[at].fixed_samples(shape))?)))
            .collect();
        let ratios = varying.iter().filter(|(at, _)| matches!(self.operands[*at], Operand::Speedup { .. })).count();
        if varying.len() + ratios < 2 {
            return None;
        }
        // how far the limit is from equality: both sides timed alike
        let alike = values[varying.first()?.0].number()?;
        let mut equal = values.to_vec();
        for (at, _) in &varying {
            let ratio = matches!(self.operands[*at], Operand::Speedup { .. });
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

    /// Whether anything it looks at follows from samples.
    pub(super) fn varies(&self, timed: &[Option<Timed>], shape: usize) -> bool {
        timed.iter().any(Option::is_some) || self.operands.iter().any(|operand| operand.fixed_samples(shape).is_some())
    }

    /// The verdict that every resample would give, where the samples' ranges settle it.
    pub(super) fn clear(&self, sides: &Sides<'_>, shape: usize) -> Option<Verdict> {
        let of_operand = |at: usize| {
            let value = sides.values[at].number()?;
            let own = sides.timed[at].as_ref();
            let over = self.operands[at].fixed_samples(shape);
            match &self.operands[at] {
                Operand::Speedup { over: fixed, .. } => {
                    let numerator = fixed[shape].value.as_ref().ok()?.number()?;
                    let (low, high) =
                        over.map_or(Some((numerator, numerator)), |t| t.range(self.context, numerator))?;
                    let own = own?.range(self.context, numerator / value)?;
                    Some((low / own.1, high / own.0))
                }
                _ => own.or(over).map_or(Some((value, value)), |timed| timed.range(self.context, value)),
            }
        };
        certain(sides.comparison, sides.left.range(of_operand)?, sides.right.range(of_operand)?)
    }

    /// Calls `each` with the operands of every resample.
    pub(super) fn resample(
        &self,
        values: &mut [Value],
        timed: &[Option<Timed>],
        shape: usize,
        mut each: impl FnMut(&[Value]) -> Result<(), String>,
    ) -> Result<(), String> {
        let others = self.operands.iter().filter_map(|operand| operand.fixed_samples(shape));
        let own = redrawn(timed.iter().flatten().chain(others));
        let drawn: Vec<(usize, Vec<f64>)> = (0..values.len())
            .filter_map(|at| Some((at, self.replicates(at, &values[at], (timed[at].as_ref(), own), shape)?)))
            .map(|(at, replicates)| replicates.map(|r| (at, r)).map_err(|e| e.to_string()))
            .collect::<Result<_, _>>()?;
        for index in 0..self.context.resampler.settings().resamples {
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
        let value = value.number()?;
        let other = self.operands[at].fixed_samples(shape);
        let Operand::Speedup { over, .. } = &self.operands[at] else {
            return own.or(other).map(|timed| timed.replicates(self.context, value, stream));
        };
        let numerator = over[shape].value.as_ref().ok()?.number()?;
        let own = own?.replicates(self.context, numerator / value, stream);
        Some(own.and_then(|own| match other {
            Some(other) => {
                let numerators = other.replicates(self.context, numerator, stream)?;
                Ok(numerators.iter().zip(&own).map(|(n, d)| n / d).collect())
            }
            None => Ok(own.iter().map(|d| numerator / d).collect()),
        }))
    }
}
