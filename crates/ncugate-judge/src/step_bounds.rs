//! Fills and copies of a program, which ncu does not count, and values that CSV has rounded: a requirement holds or
//! fails only if it does so for all possible values.

use super::case_outcome::CaseOutcome;
use super::compiled_requirement::CompiledForm;
use super::launches::truth;
use super::operand::Operand;
use super::results::InconclusiveKind;
use ncugate_model::Verdict;
use ncugate_model::expr::{Reference, Value};
use ncugate_model::number::short;

/// Maximum number of bounded operands whose combinations are tried.
const MOST: usize = 8;

/// The values of a requirement's operands at every combination of their bounds.
pub struct StepBounds {
    /// `None` if there are too many combinations.
    corners: Option<Vec<Vec<Value>>>,
    /// The metrics that fills and copies affect, for messages.
    words: String,
}

impl StepBounds {
    /// Every combination of bounds; `None` if no operand has bounds.
    pub fn new(
        operands: &[Operand<'_>],
        references: &[Reference],
        values: &[Value],
        row: Option<usize>,
        shape: usize,
    ) -> Option<Self> {
        let bounded = operands.iter().enumerate().filter_map(|(at, operand)| Some((at, operand.bounds(row, shape)?)));
        let bounded: Vec<_> = bounded.collect();
        let (_, first) = bounded.first()?;
        let about =
            |(at, bounds): &(usize, &ncugate_model::quantities::Bounds)| match (&bounds.steps, bounds.added > 0.0) {
                (None, _) => {
                    let [value, half] =
                        [bounds.high + bounds.low, bounds.high - bounds.low].map(|sum| short(sum / 2.0));
                    format!("{} is {value} to within {half}", references[*at])
                }
                (_, true) => format!("{} is between {} and {}", references[*at], short(bounds.low), short(bounds.high)),
                (_, false) => format!("{} covers only its launches", references[*at]),
            };
        let about: Vec<String> = bounded.iter().map(about).collect();
        let why = match &first.steps {
            Some(steps) => format!("ncu does not count fills and copies ({steps})"),
            None => "values of CSV are rounded".to_owned(),
        };
        let words = format!("{why}: {}", about.join(", "));
        let corners = (bounded.len() <= MOST).then(|| {
            let corner = |ends: usize| {
                let mut corner = values.to_vec();
                for (bit, (at, bounds)) in bounded.iter().enumerate() {
                    corner[*at] = Value::Float(if ends >> bit & 1 == 0 { bounds.low } else { bounds.high });
                }
                corner
            };
            (0..1 << bounded.len()).map(corner).collect()
        });
        Some(Self { corners, words })
    }

    /// The verdict if it is the same for every combination, else inconclusive.
    pub fn judge(&self, form: &CompiledForm, outcome: CaseOutcome) -> CaseOutcome {
        let expected = match outcome.verdict {
            Verdict::Pass => true,
            Verdict::Fail => false,
            Verdict::Inconclusive => return outcome,
        };
        let agrees = |corner: &Vec<Value>| truth(form, corner).is_ok_and(|(holds, _)| holds == expected);
        if self.corners.as_ref().is_some_and(|corners| corners.iter().all(agrees)) {
            return outcome;
        }
        CaseOutcome {
            verdict: Verdict::Inconclusive,
            inconclusive: Some(InconclusiveKind::Missing),
            note: Some(self.words.as_str().into()),
            ..outcome
        }
    }
}
