//! Answers that a kernel could give with little or no computation, which a tolerance must reject.
//!
//! They derive from the right answer and the inputs, which are in memory wherever a launch is checked, and are tried
//! on one output at a time. A null answer that equals the right one does not count against a tolerance.

use super::check_buffers::have_equal_values;
use super::draw::{CaseDraw, as_held};
use super::expected::ExpectedOutput;
use super::partial;
use super::shape::ShapeSpec;
use crate::gpu::BufferSpec;
use ncugate_array::compare::DifferenceTally;
use ncugate_array::dense::FiniteValues;
use ncugate_array::element;
use ncugate_model::{CheckOutcome, NanRule, Tolerance};
use rayon::prelude::*;

/// Elements of a large output that are compared first.
const START: usize = 1 << 16;
/// Largest relative difference from an answer that rounding alone can explain.
const ROUNDING: f64 = 1e-9;
/// The relative error of an answer that is off.
const OFF: f64 = 0.01;
/// Limit of that error, for coarse relative bounds of the phase or coarse output types.
const MOST_OFF: f64 = 0.25;
/// Least error of a whole-number answer in units, at its largest element.
const UNITS: f64 = 4.0;
/// Elements that stand for a row in an output with one dimension.
const ROW: usize = 256;

/// A wrong answer for one output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NullAnswer {
    Zeros,
    /// One everywhere, if the right answer is zero everywhere.
    Ones,
    /// The mean of the right answer everywhere.
    Mean,
    Nan,
    /// The right answer with a relative error in each element.
    Off,
    /// The right answer with zeros in its last row.
    LastRow,
    /// The elements of an input, by its index among the buffers.
    Input(usize),
    /// The right answer to the inputs of another seed.
    OtherSeed,
}

/// The tolerance's outcome for a null answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NullOutcome {
    /// The tolerance cannot distinguish it from the right answer.
    Accepted,
    /// The tolerance rejects it.
    Rejected,
    /// It is the right answer here, or the output has no null answer of this kind.
    Right,
}

impl NullOutcome {
    const fn of(checked: &CheckOutcome) -> Self {
        match checked {
            CheckOutcome::Correct { .. } => Self::Accepted,
            CheckOutcome::Wrong { .. } | CheckOutcome::Crashed { .. } | CheckOutcome::Skipped { .. } => Self::Rejected,
        }
    }
}

/// A null answer, with the index of its output among the expected outputs.
pub type PlacedNull = (usize, NullAnswer);

impl NullAnswer {
    /// Its name, for an output of the shape.
    pub fn name(self, shape: &ShapeSpec) -> String {
        match self {
            Self::Zeros => "zeros".to_owned(),
            Self::Ones => "ones".to_owned(),
            Self::Mean => "the mean everywhere".to_owned(),
            Self::Nan => "NaN everywhere".to_owned(),
            Self::Off => "an output off by 1 % or twice its relative bound".to_owned(),
            Self::LastRow => "an output without its last row".to_owned(),
            Self::Input(at) => format!("a copy of input `{}`", shape.buffers[at].name),
            Self::OtherSeed => "another seed's output".to_owned(),
        }
    }
}

impl CaseDraw {
    /// The null answers of every output, except those of other seeds.
    pub fn nulls(&self, shape: &ShapeSpec, tolerance: &Tolerance) -> Vec<PlacedNull> {
        // If every element has an absolute bound, a row of small elements is rightly within it.
        let bounds_each = tolerance.max_abs.is_some()
            || tolerance.times_error.is_some()
            || tolerance.allclose.is_some_and(|bound| bound.mismatches == 0.0);
        let of_output = |(at, output): (usize, &ExpectedOutput)| {
            let mut nulls = vec![NullAnswer::Zeros, NullAnswer::Ones, NullAnswer::Mean, NullAnswer::Off];
            nulls.extend((tolerance.nan == NanRule::Allowed).then_some(NullAnswer::Nan));
            nulls.extend((!bounds_each).then_some(NullAnswer::LastRow));
            let others = shape.buffers.iter().enumerate().filter(|(input, buffer)| {
                *input != output.buffer
                    && buffer.role.is_read()
                    && buffer.partial.is_none()
                    && buffer.elements() == output.values.len()
            });
            nulls.extend(others.map(|(input, _)| NullAnswer::Input(input)));
            nulls.into_iter().map(move |null| (at, null)).collect::<Vec<_>>()
        };
        self.expected.iter().enumerate().flat_map(of_output).collect()
    }

    /// The answers of another seed as null answers.
    pub fn nulls_of_other_seeds(&self) -> Vec<PlacedNull> {
        (0..self.expected.len()).map(|at| (at, NullAnswer::OtherSeed)).collect()
    }

    /// The first output with fewer than half of its expected elements finite: its index, the finite elements, and all
    /// its elements.
    pub fn mostly_nonfinite(&self) -> Option<(usize, usize, usize)> {
        let finite = |output: &ExpectedOutput| FiniteValues::of(&output.values).count as usize;
        let counted = self.expected.iter().map(|output| (output.buffer, finite(output), output.values.len()));
        counted.into_iter().find(|(_, finite, all)| 2 * finite < *all)
    }

    /// The outcome for each null answer: functions of the phase also judge those that the tolerance accepts.
    pub fn said_to_all(
        &self,
        nulls: &[PlacedNull],
        other: &[ExpectedOutput],
        shape: &ShapeSpec,
        tolerance: &Tolerance,
    ) -> Vec<NullOutcome> {
        let mut said: Vec<NullOutcome> =
            nulls.iter().map(|null| self.said_to(*null, other, shape, tolerance)).collect();
        if shape.checks.is_empty() {
            return said;
        }
        let accepted: Vec<usize> = (0..nulls.len()).filter(|&at| said[at] == NullOutcome::Accepted).collect();
        let answers: Vec<Vec<ExpectedOutput>> = accepted
            .iter()
            .map(|&at| {
                let output = nulls[at].0;
                let values =
                    match self.values_of(nulls[at], other, (shape, tolerance), self.expected[output].values.len()) {
                        Some(NullValues::Each(values)) => values,
                        Some(NullValues::Constant(value)) => vec![value; self.expected[output].values.len()],
                        None => self.expected[output].values.clone(),
                    };
                self.with_output(shape, output, values)
            })
            .collect();
        for (at, refusal) in accepted.into_iter().zip(self.refusals(shape, &answers)) {
            if refusal.is_some() {
                said[at] = NullOutcome::Rejected;
            }
        }
        said
    }

    /// The tolerance's outcome for a null answer; `other` are the right answers to the inputs of another seed. Each
    /// output is judged separately.
    pub fn said_to(
        &self,
        null: PlacedNull,
        other: &[ExpectedOutput],
        shape: &ShapeSpec,
        tolerance: &Tolerance,
    ) -> NullOutcome {
        let Some(answer) = self.expected.get(null.0) else { return NullOutcome::Right };
        if self.is_rejected_at_start(null, other, (shape, tolerance), START) {
            return NullOutcome::Rejected;
        }
        let largest = self.largest[null.0];
        match self.values_of(null, other, (shape, tolerance), answer.values.len()) {
            None => NullOutcome::Right,
            Some(NullValues::Constant(value)) => self.said_to_constant(value, (null.0, largest), shape, tolerance),
            Some(NullValues::Each(values)) => self.said_to_values(&values, null.0, shape, tolerance),
        }
    }

    /// The tolerance's outcome for right answers to changed inputs, held by the outputs: rejected if those of any
    /// output are.
    pub fn said_to_answers(&self, answers: &[ExpectedOutput], shape: &ShapeSpec, tolerance: &Tolerance) -> NullOutcome {
        let of_output = |(at, output): (usize, &ExpectedOutput)| {
            let answer = answers.iter().find(|answer| answer.buffer == output.buffer);
            answer.map_or(NullOutcome::Rejected, |answer| self.said_to_values(&answer.values, at, shape, tolerance))
        };
        let said: Vec<NullOutcome> = self.expected.iter().enumerate().map(of_output).collect();
        if said.contains(&NullOutcome::Rejected) {
            return NullOutcome::Rejected;
        }
        if !said.contains(&NullOutcome::Accepted) {
            return NullOutcome::Right;
        }
        match self.refusals(shape, &[answers.to_vec()]).into_iter().flatten().next() {
            Some(_) => NullOutcome::Rejected,
            None => NullOutcome::Accepted,
        }
    }

    /// Whether the first values of another seed's only output suffice to reject it as an answer.
    pub fn rejects_start(&self, other: ExpectedOutput, shape: &ShapeSpec, tolerance: &Tolerance) -> bool {
        let (null, count) = ((0, NullAnswer::OtherSeed), other.values.len());
        self.expected.len() == 1 && self.is_rejected_at_start(null, &[other], (shape, tolerance), count)
    }

    /// Whether the first `count` elements of a larger output suffice to reject a null answer: further elements cannot undo
    /// it.
    fn is_rejected_at_start(
        &self,
        (at, null): PlacedNull,
        other: &[ExpectedOutput],
        (shape, tolerance): (&ShapeSpec, &Tolerance),
        count: usize,
    ) -> bool {
        let answer = &self.expected[at];
        let buffer = &shape.buffers[answer.buffer];
        let bounds = tolerance.of_each_element();
        let is_in_order = buffer.partial.is_none() && buffer.order.is_default();
        if answer.values.len() <= count || !is_in_order || shape.is_unbounded(answer.buffer) || !bounds.is_usable() {
            return false;
        }
        let held = match self.values_of((at, null), other, (shape, tolerance), count) {
            None => return false,
            Some(NullValues::Constant(value)) => vec![value; count],
            Some(NullValues::Each(values)) => as_held(buffer.dtype, &values),
        };
        let right = &answer.values[..count];
        // Equal after rounding is right, even if the bounds are narrower.
        if held.len() != count || held == as_held(buffer.dtype, right) {
            return false;
        }
        let tally = DifferenceTally::of_values(&held, right, self.yardstick(shape, at, tolerance));
        !bounds.violations(&self.differences(&tally, tolerance)).is_empty()
    }

    /// The first `count` values of a null answer; `None` if the output has no null answer of this kind.
    fn values_of(
        &self,
        (at, null): PlacedNull,
        other: &[ExpectedOutput],
        (shape, tolerance): (&ShapeSpec, &Tolerance),
        count: usize,
    ) -> Option<NullValues> {
        let answer = self.expected.get(at)?;
        let (right, buffer) = (&answer.values, &shape.buffers[answer.buffer]);
        let first = count.min(right.len());
        let largest = self.largest[at];
        let constant = |value: f64| Some(NullValues::Constant(value));
        let values = |mut values: Vec<f64>| {
            partial::sort_rows(buffer, &mut values);
            Some(NullValues::Each(values))
        };
        match null {
            NullAnswer::Zeros => constant(0.0),
            NullAnswer::Ones if largest == 0.0 => constant(1.0),
            NullAnswer::Ones => None,
            NullAnswer::Mean => constant(finite_mean(right)),
            NullAnswer::Nan if buffer.dtype.has_nan() => constant(f64::NAN),
            NullAnswer::Nan => None,
            NullAnswer::Off => {
                let factor = 1.0 + self.share_off((at, largest), shape, tolerance);
                values(right[..first].par_iter().map(|value| value * factor).collect())
            }
            NullAnswer::LastRow => match row(buffer) {
                row if row < right.len() => {
                    let mut rest = right[..first].to_vec();
                    rest.iter_mut().skip(right.len() - row).for_each(|value| *value = 0.0);
                    values(rest)
                }
                _ => None,
            },
            NullAnswer::Input(input) => {
                let (dtype, bytes) = (shape.buffers[input].dtype, &self.inputs.bytes[input]);
                values(element::decode(dtype, &bytes[..bytes.len().min(count * dtype.size())]))
            }
            NullAnswer::OtherSeed => {
                let other = other.iter().find(|output| output.buffer == answer.buffer);
                other.and_then(|output| values(output.values[..count.min(output.values.len())].to_vec()))
            }
        }
    }

    /// The relative error of an answer that is off: 1 %, or twice a relative bound of the phase, or the resolution of
    /// the output's type.
    fn share_off(&self, (at, largest): (usize, f64), shape: &ShapeSpec, tolerance: &Tolerance) -> f64 {
        let dtype = shape.buffers[self.expected[at].buffer].dtype;
        let rtol = self.yardstick(shape, at, tolerance).allclose.map_or(0.0, |bound| bound.rtol);
        let stated = 2.0 * rtol.max(tolerance.rel_l2.unwrap_or(0.0));
        let share = OFF.max(stated).max(4.0 * element::unit_roundoff(dtype)).min(MOST_OFF);
        if dtype.has_nan() || largest == 0.0 { share } else { share.max(UNITS / largest) }
    }

    fn said_to_constant(
        &self,
        value: f64,
        (at, largest): (usize, f64),
        shape: &ShapeSpec,
        tolerance: &Tolerance,
    ) -> NullOutcome {
        let expected = &self.expected[at];
        let tally = match shape.is_unbounded(expected.buffer) {
            true => DifferenceTally::of_unbounded(&vec![value; expected.values.len()], &expected.values),
            false => DifferenceTally::of_constant(value, &expected.values, self.yardstick(shape, at, tolerance)),
        };
        if shape.is_unbounded(expected.buffer) && expected.values.iter().all(|right| *right == value) {
            return NullOutcome::Right;
        }
        let differences = self.differences(&tally, tolerance);
        match CheckOutcome::of(differences, tally.defects(), tolerance) {
            // A mean of equal answers equals them up to rounding.
            CheckOutcome::Correct { .. }
                if differences.max_abs <= ROUNDING * largest && !shape.is_unbounded(expected.buffer) =>
            {
                NullOutcome::Right
            }
            outcome => NullOutcome::of(&outcome),
        }
    }

    /// Compares values rounded to the output's dtype: an input of a finer type that rounds to the answer is the right
    /// answer.
    fn said_to_values(&self, values: &[f64], at: usize, shape: &ShapeSpec, tolerance: &Tolerance) -> NullOutcome {
        let answer = &self.expected[at];
        let buffer = &shape.buffers[answer.buffer];
        if have_equal_values(values, &answer.values) {
            return NullOutcome::Right;
        }
        let values = partial::held(buffer, values);
        if have_equal_values(&values, &partial::held(buffer, &answer.values)) {
            return NullOutcome::Right;
        }
        let tally = self.tally(shape, at, &values, tolerance);
        NullOutcome::of(&CheckOutcome::of(self.differences(&tally, tolerance), tally.defects(), tolerance))
    }
}

/// The values of a null answer.
enum NullValues {
    /// This one everywhere.
    Constant(f64),
    Each(Vec<f64>),
}

/// Elements of the last row of an output.
fn row(buffer: &BufferSpec) -> usize {
    match buffer.compared_extents().as_slice() {
        [] | [_] => ROW,
        [.., last] => *last,
    }
}

/// The mean of the finite values, the same for any number of threads; 0 without finite values.
fn finite_mean(values: &[f64]) -> f64 {
    let FiniteValues { count, sum, .. } = FiniteValues::of(values);
    sum / count.max(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use ncugate_model::Dtype;
    use ncugate_model::Role;

    use crate::gpu::fixtures::buffer;
    use crate::prove::fixtures::shape;
    use crate::prove::{CaseInputs, magnitudes};
    use ncugate_model::{AllClose, Law};

    const TOLERANCE: Tolerance = Tolerance {
        max_abs: Some(1e-2),
        rel_l2: None,
        allclose: None,
        times_error: None,
        nan: NanRule::Refused,
        ill_conditioned: ncugate_model::ConditioningRule::Judged,
    };

    fn output(name: &str, extents: &[usize]) -> BufferSpec {
        buffer(name, Dtype::F32, extents, Role::Output)
    }

    /// The null answers that a tolerance accepts for these buffers; inputs hold the given values.
    fn accepted(buffers: &[(BufferSpec, &[f64])], tolerance: &Tolerance) -> Vec<PlacedNull> {
        let draw = draw(buffers);
        let shape = shape(buffers.iter().map(|(buffer, _)| buffer.clone()).collect());
        let nulls = draw.nulls(&shape, tolerance);
        let is_accepted = |null: &PlacedNull| draw.said_to(*null, &[], &shape, tolerance) == NullOutcome::Accepted;
        nulls.into_iter().filter(is_accepted).collect()
    }

    fn draw(buffers: &[(BufferSpec, &[f64])]) -> CaseDraw {
        let bytes = |(buffer, values): &(BufferSpec, &[f64])| match buffer.role.is_read() {
            true => element::encode(buffer.dtype, values),
            false => Vec::new(),
        };
        let inputs = CaseInputs { bytes: buffers.iter().map(bytes).collect(), values: Vec::new() };
        let outputs = buffers.iter().enumerate().filter(|(_, (buffer, _))| buffer.role.is_compared());
        let expected: Vec<ExpectedOutput> =
            outputs.map(|(buffer, (_, values))| ExpectedOutput { buffer, values: values.to_vec() }).collect();
        let usual = magnitudes(&expected);
        CaseDraw::new(Law::Declared, inputs, expected, &usual)
    }

    #[test]
    fn an_output_of_which_zeros_or_the_mean_are_accepted_is_named() {
        let accepted = |y: &[f64; 2], rstd: &[f64; 2]| {
            self::accepted(&[(output("y", &[2]), y), (output("rstd", &[2]), rstd)], &TOLERANCE)
        };
        assert_eq!(accepted(&[1.0, -2.0], &[1.5, 0.1]), []);
        let (zeros, mean, off) = (NullAnswer::Zeros, NullAnswer::Mean, NullAnswer::Off);
        assert_eq!(accepted(&[1.0, -2.0], &[0.005, 0.001]), [(1, zeros), (1, mean), (1, off)]);
        assert_eq!(accepted(&[1.001, 1.01], &[2.0, 0.1]), [(0, mean)]);
        let equal: (BufferSpec, &[f64]) = (output("y", &[2]), &[2.1, 2.1]);
        let shape = shape(vec![equal.0.clone()]);
        let draw = draw(&[equal]);
        let said = |null| draw.said_to((0, null), &[], &shape, &TOLERANCE);
        assert_eq!(
            (said(zeros), said(mean)),
            (NullOutcome::Rejected, NullOutcome::Right),
            "an answer that is its mean"
        );
        assert_eq!(accepted(&[0.0, 0.0], &[2.0, 0.1]), [], "zero by itself");
        let loose = Tolerance { max_abs: Some(1e9), ..TOLERANCE };
        let zero = self::accepted(&[(output("y", &[2]), &[0.0, 0.0])], &loose);
        assert_eq!(zero, [(0, NullAnswer::Ones)], "garbage for zeros is found by ones");
    }

    #[test]
    fn a_large_output_rejects_by_its_start_only_what_all_of_it_rejects() {
        let spec = output("y", &[START + 5]);
        let shape = shape(vec![spec.clone()]);
        let at_end: Vec<f64> = (0..START + 5).map(|at| if at < START { 0.0 } else { 1.0 }).collect();
        let at_start: Vec<f64> = at_end.iter().rev().copied().collect();
        let zeros = (0, NullAnswer::Zeros);
        let said = |answer: &[f64], tolerance: &Tolerance| {
            let draw = draw(&[(spec.clone(), answer)]);
            (
                draw.is_rejected_at_start(zeros, &[], (&shape, tolerance), START),
                draw.said_to(zeros, &[], &shape, tolerance),
            )
        };
        assert_eq!(said(&at_end, &TOLERANCE), (false, NullOutcome::Rejected));
        assert_eq!(said(&at_start, &TOLERANCE), (true, NullOutcome::Rejected));
        let loose = Tolerance { max_abs: Some(1.0), ..TOLERANCE };
        assert_eq!(said(&at_start, &loose), (false, NullOutcome::Accepted));
        let few = AllClose { atol: 1e-2, mismatches: 1e-3, ..AllClose::default() };
        let share = Tolerance { max_abs: None, allclose: Some(few), ..TOLERANCE };
        assert_eq!(said(&at_start, &share), (false, NullOutcome::Accepted), "a share is of the whole output");
        let norm = Tolerance { max_abs: None, rel_l2: Some(0.1), ..TOLERANCE };
        assert_eq!(said(&at_start, &norm), (false, NullOutcome::Rejected), "a norm is of the whole output");
    }

    #[test]
    fn an_input_is_a_null_unless_it_is_the_answer() {
        let input = |dtype| buffer("c", dtype, &[2, 2], Role::Input);
        let c: &[f64] = &[1.0, 2.0, 3.0, 4.0];
        let near: &[f64] = &[1.0001, 2.0001, 3.0, 4.0];
        let copied = [(0, NullAnswer::Input(0))];
        assert_eq!(accepted(&[(input(Dtype::F32), c), (output("y", &[4]), near)], &TOLERANCE), copied);
        assert_eq!(accepted(&[(input(Dtype::F64), c), (output("y", &[4]), near)], &TOLERANCE), copied);
        assert_eq!(accepted(&[(input(Dtype::F32), c), (output("y", &[4]), c)], &TOLERANCE), [], "a copy");
        let half = buffer("y", Dtype::F16, &[4], Role::Output);
        let fine: &[f64] = &[1.0001, 2.0001, 3.0, 4.0];
        assert_eq!(accepted(&[(input(Dtype::F32), fine), (half, fine)], &TOLERANCE), [], "rounded to its type");
        let far: &[f64] = &[1.5, 2.0, 3.0, 4.0];
        assert_eq!(accepted(&[(input(Dtype::F32), c), (output("y", &[4]), far)], &TOLERANCE), []);
    }

    #[test]
    fn a_share_of_mismatches_that_hides_a_row_is_found_at_the_size_where_it_does() {
        let share = AllClose { atol: 1e-3, mismatches: 0.05, ..AllClose::default() };
        let tolerance = Tolerance { max_abs: None, allclose: Some(share), ..TOLERANCE };
        let of_rows = |rows: usize, tolerance: &Tolerance| {
            let values: Vec<f64> = (0..rows * 4).map(|at| 1.0 + at as f64).collect();
            accepted(&[(output("y", &[rows, 4]), &values)], tolerance)
        };
        assert_eq!((of_rows(16, &tolerance), of_rows(64, &tolerance)), (vec![], vec![(0, NullAnswer::LastRow)]));
        let norm = Tolerance { max_abs: None, rel_l2: Some(0.2), ..TOLERANCE };
        assert!(of_rows(16, &norm).is_empty(), "the last rows are the largest");
        let elements = Tolerance { max_abs: Some(1e-3), allclose: Some(share), ..TOLERANCE };
        assert!(of_rows(64, &elements).is_empty(), "every element has a bound besides");
    }

    #[test]
    fn nan_everywhere_is_a_null_and_half_of_an_answer_has_to_be_finite() {
        let tolerance = Tolerance { nan: NanRule::Allowed, ..TOLERANCE };
        let values = |nan: usize| (0..8).map(move |at| if at < nan { f64::NAN } else { 1.0 + f64::from(at as u32) });
        let of = |nan: usize| draw(&[(output("y", &[8]), &values(nan).collect::<Vec<_>>())]).mostly_nonfinite();
        assert_eq!((of(4), of(5), of(8)), (None, Some((0, 3, 8)), Some((0, 0, 8))));
        assert_eq!(accepted(&[(output("y", &[8]), &values(4).collect::<Vec<_>>())], &tolerance), []);
        let shape = shape(vec![output("y", &[8])]);
        assert!(draw(&[(output("y", &[8]), &[1.0; 8])]).nulls(&shape, &tolerance).contains(&(0, NullAnswer::Nan)));
    }

    #[test]
    fn a_stated_relative_bound_is_held_to_twice_of_it_and_whole_numbers_to_units() {
        let stated = AllClose { rtol: 0.02, ..AllClose::default() };
        let tolerance = Tolerance { max_abs: None, allclose: Some(stated), rel_l2: Some(0.02), ..TOLERANCE };
        let values: &[f64] = &[1.0, -2.0, 3.0];
        assert_eq!(accepted(&[(output("y", &[3]), values)], &tolerance), []);
        let quanta = Tolerance { max_abs: Some(1.0), ..TOLERANCE };
        let integers = buffer("y", Dtype::I8, &[3], Role::Output);
        assert_eq!(accepted(&[(integers, &[10.0, -70.0, 30.0])], &quanta), []);
    }

    #[test]
    fn another_seeds_answer_is_a_null() {
        let (y, shape) = (output("y", &[2]), shape(vec![output("y", &[2])]));
        let draw = draw(&[(y, &[1.0, 5.0])]);
        let said = |values: [f64; 2]| {
            let other = [ExpectedOutput { buffer: 0, values: values.to_vec() }];
            draw.said_to(draw.nulls_of_other_seeds()[0], &other, &shape, &TOLERANCE)
        };
        assert_eq!(said([1.005, 5.0]), NullOutcome::Accepted);
        assert_eq!((said([2.0, 5.0]), said([1.0, 5.0])), (NullOutcome::Rejected, NullOutcome::Right));
    }
}
