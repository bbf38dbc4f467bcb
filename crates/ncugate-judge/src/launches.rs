//! Judges counters of several launches of one variant: a requirement holds or fails only if every launch agrees.

use super::case_outcome::{CaseOutcome, holds};
use super::compiled_requirement::CompiledForm;
use super::operand::Operand;
use super::results::InconclusiveKind;
use ncugate_model::Verdict;
use ncugate_model::expr::Value;

/// Values of a requirement's operands, by launch.
pub struct Launches {
    scenarios: Vec<Vec<Value>>,
    /// Number of launches of the variant.
    own: usize,
    /// The largest number of launches on either side.
    most: usize,
}

impl Launches {
    /// The values of each launch of the variant, paired once with the smallest and once with the largest value of the
    /// other side. `None` if everything was measured only once.
    pub fn new<'o>(operands: &'o [Operand<'_>], values: &[Value], row: Option<usize>, shape: usize) -> Option<Self> {
        let spread = |operand: &'o Operand<'_>| match operand {
            Operand::Column { cells, .. } => Some((Some(&**(*cells)?.repeats(row?)?), None)),
            Operand::Fixed(of) => of[shape].spread.as_deref().map(|other| (None, Some(other))),
            Operand::Param(_) | Operand::Scalar(_) | Operand::Correct | Operand::Speedup { .. } => None,
        };
        if operands.iter().all(|operand| spread(operand).is_none()) {
            return None;
        }
        // The values of each launch of the variant, and of the other side.
        let (own, others): (Vec<_>, Vec<_>) =
            operands.iter().map(|operand| spread(operand).unwrap_or_default()).unzip();
        let counts = own.iter().chain(&others).flatten().map(|spread| spread.len());
        let most = counts.max().filter(|&n| n > 1)?;
        let own_launches = own.iter().flatten().map(|spread| spread.len()).min().unwrap_or(1);
        let ends: [fn(f64, f64) -> f64; 2] = [f64::min, f64::max];
        let mut scenarios = Vec::new();
        for launch in 0..own_launches {
            for end in ends {
                let mut scenario = values.to_vec();
                for (at, value) in scenario.iter_mut().enumerate() {
                    let other = others[at].and_then(|spread| spread.iter().copied().reduce(end));
                    if let Some(number) = own[at].map(|spread| spread[launch]).or(other) {
                        *value = Value::Float(number);
                    }
                }
                scenarios.push(scenario);
            }
        }
        Some(Self { scenarios, own: own_launches, most })
    }

    /// The verdict of the medians if every launch agrees with it, else inconclusive.
    pub fn judge(&self, form: &CompiledForm, outcome: CaseOutcome) -> CaseOutcome {
        let expected = match outcome.verdict {
            Verdict::Pass => true,
            Verdict::Fail => false,
            Verdict::Inconclusive => return outcome,
        };
        let mut held = Vec::with_capacity(self.scenarios.len());
        let mut range: Option<(f64, f64)> = None;
        for values in &self.scenarios {
            match truth(form, values) {
                Ok((truth, left)) => {
                    held.push(truth);
                    range = left.map(|v| range.map_or((v, v), |(low, high)| (low.min(v), high.max(v))));
                }
                Err(reason) => return CaseOutcome { margin: outcome.margin, ..CaseOutcome::missing(reason) },
            }
        }
        let samples = outcome.samples.max(self.most);
        let outcome = CaseOutcome { interval: outcome.interval.or(range), samples, ..outcome };
        if held.iter().all(|&truth| truth == expected) {
            return outcome;
        }
        let holding = held.iter().filter(|&&truth| truth).count() * self.own / held.len();
        let note = match self.own {
            1 => "launches of the compared variant disagree".to_owned(),
            own => format!("launches disagree: it holds for {holding} of {own}"),
        };
        CaseOutcome {
            verdict: Verdict::Inconclusive,
            inconclusive: Some(InconclusiveKind::Noise),
            estimate: Some(outcome.verdict),
            note: Some(note.into()),
            ..outcome
        }
    }
}

/// Whether a requirement holds for these values, and the value of its left side if it is a comparison.
pub(super) fn truth(form: &CompiledForm, values: &[Value]) -> Result<(bool, Option<f64>), String> {
    let infinite = |value: &&Value| matches!(value, Value::Float(number) if !number.is_finite());
    if let Some(value) = values.iter().find(infinite) {
        return Err(format!("the value of a launch is {value}, which is not finite"));
    }
    match form {
        CompiledForm::Compare { left, comparison, right } => {
            let (left, right) = (left.number(values)?, right.number(values)?);
            Ok((holds(*comparison, left, right), Some(left)))
        }
        CompiledForm::Condition(side) => Ok((side.truth(values)?, None)),
    }
}
