//! Compares counters of one launch across cases or runs, using the repeatability from the metric catalogue.

use super::bound_gate::{BoundGate, Sides};
use super::case_outcome::{CaseOutcome, of_difference};
use super::operand::Operand;
use super::results::InconclusiveKind;
use ncugate_model::Verdict;
use ncugate_model::expr::{Reference, Value};
use ncugate_model::metric::Catalogue;
use ncugate_model::stats::normal_quantile;

/// Confidence level of the counter interval.
const LEVEL: f64 = 0.95;

impl BoundGate<'_> {
    /// Judges by the interval that the counters' spread gives for the difference of both sides, if the other side is
    /// a counter of another case or run and each was measured in one launch. Otherwise returns the outcome unchanged:
    /// a comparison with a number uses the counted value.
    pub(super) fn counted_once(&self, sides: Sides<'_>, shape: usize, outcome: CaseOutcome) -> CaseOutcome {
        let counters: Vec<(usize, f64)> =
            (0..self.operands.len()).filter_map(|at| Some((at, self.spread(at, shape, sides.row)?))).collect();
        let compared = counters.iter().any(|(at, _)| matches!(self.operands[*at], Operand::Fixed(_)));
        let Some(half) = self.half_width(&sides, &counters).filter(|half| compared && *half > 0.0) else {
            return outcome;
        };
        let (Some(left), Some(right)) = (outcome.measured, outcome.limit) else { return outcome };
        let interval = Some((left - half, left + half));
        match of_difference(sides.comparison, left - right - half, left - right + half) {
            Some(verdict) if verdict == outcome.verdict => CaseOutcome { interval, ..outcome },
            _ => CaseOutcome {
                verdict: Verdict::Inconclusive,
                inconclusive: Some(InconclusiveKind::Noise),
                interval,
                note: Some(
                    "only one launch of each was counted, and launches differ by this much; set `[profile] repeat`"
                        .into(),
                ),
                ..outcome
            },
        }
    }

    /// Coefficient of variation of an operand that is a counter of one launch.
    fn spread(&self, at: usize, shape: usize, row: Option<usize>) -> Option<f64> {
        let Reference::Quantity(quantity) = &self.references()[at] else { return None };
        let repeated = match &self.operands[at] {
            Operand::Column { cells, .. } => cells.zip(row).is_some_and(|(cells, row)| cells.repeats(row).is_some()),
            Operand::Fixed(of) => of[shape].spread.is_some(),
            Operand::Param(_) | Operand::Scalar(_) | Operand::Correct | Operand::Speedup { .. } => return None,
        };
        let spread = Catalogue::embedded().get(&quantity.name)?.spread;
        spread.filter(|_| !repeated)
    }

    /// Half-width of the interval of the difference, from the slopes of both sides.
    fn half_width(&self, sides: &Sides<'_>, counters: &[(usize, f64)]) -> Option<f64> {
        let difference = |values: &[Value]| Some(sides.left.number(values).ok()? - sides.right.number(values).ok()?);
        let mut variance = 0.0;
        for (at, spread) in counters {
            let value = sides.values[*at].number()?;
            let mut moved = sides.values.to_vec();
            let mut at_factor = |factor: f64| {
                moved[*at] = Value::Float(value * factor);
                difference(&moved)
            };
            variance += ((at_factor(1.0 + spread)? - at_factor(1.0 - spread)?) / 2.0).powi(2);
        }
        Some(variance.sqrt() * normal_quantile((1.0 + LEVEL) / 2.0))
    }
}
