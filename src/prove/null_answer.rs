//! Answers that a kernel could give without computing anything, which a tolerance has to reject: zeros, and the mean of the right answer.

use super::compare::DifferenceTally;
use super::draw::{CaseDraw, magnitudes};
use super::shape::ShapeSpec;
use crate::model::{CheckOutcome, Tolerance};
use rayon::prelude::*;

/// Elements whose sum is taken by one task.
const CHUNK: usize = 1 << 13;
/// How far from an answer, over its largest element, what rounding alone makes of it may be.
const ROUNDING: f64 = 1e-9;

/// What every element of an output could be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NullAnswer {
    /// Zero.
    Zeros,
    /// The mean of the right answer.
    Mean,
}

/// What a tolerance says to a null answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Said {
    Accepted,
    Rejected,
    /// It is the right answer here.
    Right,
}

impl NullAnswer {
    const ALL: [Self; 2] = [Self::Zeros, Self::Mean];

    /// What it is called.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Zeros => "zeros",
            Self::Mean => "the mean of the answer everywhere",
        }
    }

    fn value(self, answer: &[f64]) -> f64 {
        match self {
            Self::Zeros => 0.0,
            Self::Mean => finite_mean(answer),
        }
    }
}

impl CaseDraw {
    /// The outputs, by their place among the answers, of which the tolerance accepts a null answer, and which. An answer that is such by
    /// itself is not held against it. Outputs are held to it one by one.
    pub fn accepted_nulls(&self, shape: &ShapeSpec, tolerance: &Tolerance) -> Vec<(usize, NullAnswer)> {
        let places = 0..self.expected.len();
        let all = places.flat_map(|at| NullAnswer::ALL.map(|null| (at, null)));
        all.filter(|&(at, null)| self.said_to(null, at, shape, tolerance) == Said::Accepted).collect()
    }

    /// Whether the tolerance rejects a null answer of the output of that place.
    pub fn rejects(&self, (at, null): (usize, NullAnswer), shape: &ShapeSpec, tolerance: &Tolerance) -> bool {
        self.said_to(null, at, shape, tolerance) == Said::Rejected
    }

    fn said_to(&self, null: NullAnswer, at: usize, shape: &ShapeSpec, tolerance: &Tolerance) -> Said {
        let answer = &self.expected[at];
        let yardstick = self.yardstick(shape, at, tolerance);
        let tally = DifferenceTally::of_constant(null.value(&answer.values), &answer.values, yardstick);
        let differences = self.differences(&tally, tolerance);
        let largest = magnitudes(std::slice::from_ref(answer))[0];
        match CheckOutcome::of(differences, tally.defects(), tolerance) {
            // A mean of equal answers is theirs but for rounding.
            CheckOutcome::Correct { .. } if differences.max_abs <= ROUNDING * largest => Said::Right,
            CheckOutcome::Correct { .. } => Said::Accepted,
            CheckOutcome::Wrong { .. } | CheckOutcome::Crashed { .. } | CheckOutcome::Skipped { .. } => Said::Rejected,
        }
    }
}

/// The mean of the finite values, the same whatever the number of threads; 0 where there is none.
fn finite_mean(values: &[f64]) -> f64 {
    let of_chunk = |chunk: &[f64]| {
        let finite = chunk.iter().filter(|value| value.is_finite());
        finite.fold((0.0, 0_u64), |(sum, count), value| (sum + value, count + 1))
    };
    let chunks: Vec<(f64, u64)> = values.par_chunks(CHUNK).map(of_chunk).collect();
    let (sum, count) = chunks.into_iter().fold((0.0, 0), |(sum, count), (s, c)| (sum + s, count + c));
    sum / count.max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Dtype, Role};
    use crate::gpu::fixtures::buffer;
    use crate::model::{Law, NanRule};
    use crate::prove::fixtures::shape;
    use crate::prove::{CaseInputs, ExpectedOutput};

    const TOLERANCE: Tolerance =
        Tolerance { max_abs: Some(1e-2), rel_l2: None, allclose: None, times_error: None, nan: NanRule::Refused };

    #[test]
    fn an_output_of_which_zeros_or_the_mean_are_accepted_is_named() {
        let output = |name: &str| buffer(name, Dtype::F32, &[2], Role::Output);
        let shape = shape(vec![output("y"), output("rstd")]);
        let draw = |y: [f64; 2], rstd: [f64; 2]| {
            let inputs = CaseInputs { bytes: vec![Vec::new(); 2], values: vec![Vec::new(); 2] };
            let expected = [y, rstd].into_iter().enumerate();
            let expected = expected.map(|(buffer, values)| ExpectedOutput { buffer, values: values.to_vec() });
            CaseDraw::new(Law::Declared, inputs, expected.collect(), &[1.0, 1.0])
        };
        let accepted = |y: [f64; 2], rstd: [f64; 2]| draw(y, rstd).accepted_nulls(&shape, &TOLERANCE);
        assert_eq!(accepted([1.0, -1.0], [0.5, 0.1]), []);
        assert_eq!(accepted([1.0, -1.0], [0.005, 0.001]), [(1, NullAnswer::Zeros), (1, NullAnswer::Mean)]);
        assert_eq!(accepted([1.001, 1.0], [0.5, 0.1]), [(0, NullAnswer::Mean)]);
        let equal = draw([0.1, 0.1], [0.0, 0.0]);
        assert_eq!(equal.accepted_nulls(&shape, &TOLERANCE), [], "an answer that is such by itself");
        assert!(equal.rejects((0, NullAnswer::Zeros), &shape, &TOLERANCE));
        assert!(!equal.rejects((0, NullAnswer::Mean), &shape, &TOLERANCE), "nor does it speak for a tolerance");
    }
}
