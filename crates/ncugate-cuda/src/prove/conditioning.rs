//! The reference for perturbed inputs: how far rounding errors in the inputs move the expected outputs, and the bound that
//! follows for a correct kernel.

use super::draw::as_held;
use super::expected::{ExpectedOutput, ExpectedOutputError, ReferenceSpec, expected_on_host, held_by_outputs};
use super::reference::{BufferValues, Builtin};
use super::shape::ShapeSpec;
use ncugate_array::element;
use ncugate_array::generator::mix;
use ncugate_model::number::rounded_down;
use ncugate_model::{BoundUnit, ConditioningRule, Dtype, Law, NanRule, Tolerance};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use std::fmt;

/// Roundings to the output's type of a correct kernel: one of a partial result, one of the result.
const ROUNDINGS: f64 = 2.0;
/// Roundings of the accumulator in each element: an approximate exponential and a division take four each, and single operations one.
const OPERATIONS: f64 = 16.0;
/// The error of a correct kernel's sums in units of a plain evaluation's: they have another order, and their parts are rounded. On an
/// H200, attention whose keys are split over blocks has 2.5 times the error of a plain evaluation.
const ORDERS: f64 = 3.0;
/// The same for products: tensor cores truncate, so errors do not cancel.
const TRUNCATIONS: f64 = 8.0;
/// Shifts of the answer by one rounding of all inputs that a correct kernel may add: its exponentials, products and sums each move
/// their arguments by about as much (`ex2.approx` by two units in the last place).
const SHIFTS: f64 = 4.0;
/// Perturbed evaluations for a derived bound. Every element moves by its own sign, so the largest shift varies little.
const EVALUATIONS: u64 = 2;
/// Half a unit in the last place of single precision, the accumulator of outputs that are not double.
const SINGLE: f64 = element::unit_roundoff(Dtype::F32);
/// The largest relative difference of expected outputs that are equal but for the rounding of the reference.
const EQUAL: f64 = 1e-9;
/// Part of an output's spread that is proposed for a bound.
const PROPOSED: f64 = 1.0 / 16.0;

/// The expected outputs for inputs of which every element is larger or smaller by one rounding of its type; integers stay.
/// `None` if the tolerance does not ask for them or the reference cannot compute them.
///
/// # Errors
/// Those of [`expected_on_host`].
pub fn perturbed(
    (reference, tolerance): (&ReferenceSpec, &Tolerance),
    shape: &ShapeSpec,
    seed: u64,
    inputs: &BufferValues,
) -> Result<Option<Vec<ExpectedOutput>>, ExpectedOutputError> {
    if tolerance.ill_conditioned == ConditioningRule::Judged || matches!(reference, ReferenceSpec::Npy { .. }) {
        return Ok(None);
    }
    let moved = moved(shape, inputs, (seed, None));
    let Some(expected) = expected_on_host(reference, shape, seed, &moved)? else {
        return Ok(None);
    };
    // A NaN that only the perturbed inputs cause counts as a difference.
    held_by_outputs(expected, shape, NanRule::Allowed).map(Some)
}

/// The largest error of a correct kernel at an element of an output: `absolute + relative |expected|`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct DerivedBound {
    pub absolute: f64,
    pub relative: f64,
    /// Largest error of a plain evaluation before it is rounded to the output's type.
    pub plain: f64,
    /// Shift of the expected output by a rounding of all inputs to the accumulator.
    pub shift: f64,
}

impl DerivedBound {
    const EXACT: Self = Self { absolute: 0.0, relative: 0.0, plain: 0.0, shift: 0.0 };

    /// The bound of the output of a built-in reference for one set of inputs; none if the tolerance derives none. Only the
    /// reference, the inputs and the types have an effect.
    ///
    /// # Errors
    /// Those of [`expected_on_host`]; no bound can be derived.
    pub fn of(
        (reference, tolerance): (&ReferenceSpec, &Tolerance),
        shape: &ShapeSpec,
        law: Law,
        (inputs, expected): (&BufferValues, &[ExpectedOutput]),
    ) -> Result<Option<Self>, ExpectedOutputError> {
        let (ReferenceSpec::Builtin(builtin), [ExpectedOutput { buffer, values: right }]) = (reference, expected)
        else {
            return Ok(None);
        };
        let dtype = shape.buffers[*buffer].dtype;
        if shape.allclose(*buffer, tolerance).is_none_or(|bound| bound.unit == BoundUnit::One) {
            return Ok(None);
        }
        let held = as_held(dtype, right);
        if !dtype.has_nan() || builtin.is_selection() && held == *right {
            return Ok(Some(Self::EXACT));
        }
        // Errors are in proportion to the rounding; those of double would be lost in the reference itself.
        let single = if dtype == Dtype::F64 { Dtype::F32 } else { dtype };
        let (_, plain) = builtin.bind(shape)?.compute_plainly(inputs, single);
        let mut shift = 0.0_f64;
        for key in 0..EVALUATIONS {
            let answer = expected_on_host(reference, shape, key, &moved(shape, inputs, (key, Some(SINGLE))))?;
            let answer = held_by_outputs(answer.unwrap_or_default(), shape, NanRule::Allowed)?;
            shift = answer.iter().map(|answer| largest(&answer.values, right, |_| 0.0)).fold(shift, f64::max);
        }
        let rounding = element::unit_roundoff(dtype);
        let accumulator = rounding.min(SINGLE);
        let [shift, plain] = [shift, largest(&plain, right, |_| 0.0)].map(|error| error * (accumulator / SINGLE));
        let orders = match builtin {
            Builtin::Gemm { .. } => TRUNCATIONS,
            // Every parallel order of a sum has a smaller error than its sequence.
            Builtin::Reduce { .. } => 1.0,
            Builtin::Sdpa { .. } | Builtin::Softmax | Builtin::Copy => ORDERS,
        };
        // Subnormal elements are rounded by more than their share.
        let subnormal = largest(&held, right, |value| rounding * value.abs());
        let absolute = orders * plain + SHIFTS * shift + ROUNDINGS * subnormal;
        let bound = Self { absolute, relative: ROUNDINGS * rounding + OPERATIONS * accumulator, plain, shift };
        let finite = || right.iter().copied().filter(|value| value.is_finite());
        let most = finite().fold(0.0, |most: f64, value| most.max(value.abs()));
        let spread = finite().fold(f64::NEG_INFINITY, f64::max) - finite().fold(f64::INFINITY, f64::min);
        let has_spread = spread > EQUAL * most;
        let reason = if !absolute.is_finite() {
            "rounding makes elements NaN or infinite".to_owned()
        } else if law == Law::Declared && has_spread && absolute >= spread {
            format!("{absolute:.1e}, which rounding explains, is as large as the spread {spread:.1e} of the output")
        } else {
            return Ok(Some(bound));
        };
        let atol = rounded_down(PROPOSED * if has_spread { spread } else { most });
        Err(ExpectedOutputError::Underivable { buffer: shape.buffers[*buffer].name.clone(), reason, atol })
    }
}

/// The largest distance of values from the right ones beyond what is allowed, over those that are finite in `right`; infinite if one
/// is not finite.
fn largest(values: &[f64], right: &[f64], allowed: impl Fn(f64) -> f64) -> f64 {
    let finite = values.iter().zip(right).filter(|(_, right)| right.is_finite());
    let beyond = finite.map(|(value, right)| (value - right).abs() - allowed(*right));
    beyond.fold(0.0, |most, beyond| if beyond.is_finite() { most.max(beyond) } else { f64::INFINITY })
}

impl fmt::Display for DerivedBound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if *self == Self::EXACT {
            return f.write_str("equality, because the output is not rounded");
        }
        let [absolute, relative, plain, shift] =
            [self.absolute, self.relative, self.plain, self.shift].map(|part| format!("{part:.1e}"));
        write!(
            f,
            "{absolute} + {relative} x |expected|, from the error {plain} of plain sums, the shift {shift} by rounded inputs, and \
             roundings"
        )
    }
}

/// Inputs of which every element is larger or smaller by one rounding of its type, or by this share; integers stay.
fn moved(shape: &ShapeSpec, inputs: &BufferValues, (key, share): (u64, Option<f64>)) -> Vec<Vec<f64>> {
    shape
        .buffers
        .iter()
        .zip(inputs)
        .enumerate()
        .map(|(at, (buffer, values))| {
            let rounding = element::unit_roundoff(buffer.dtype);
            let unit = share.filter(|_| rounding > 0.0).unwrap_or(rounding);
            let key = key ^ (at as u64).rotate_right(8);
            values.par_iter().enumerate().map(|(at, value)| value * (1.0 + sign(key, at) * unit)).collect()
        })
        .collect()
}

/// 1 or -1, by the mixed bits of a key and an index (the finaliser of SplitMix64).
fn sign(key: u64, at: usize) -> f64 {
    if mix(key, (at as u64).wrapping_sub(1)) & 1 == 0 { 1.0 } else { -1.0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gpu::fixtures::buffer;
    use crate::prove::fixtures::shape;
    use crate::prove::{CaseDraw, CaseInputs, magnitudes};
    use ncugate_model::{AllClose, CheckOutcome, Role};

    const TOLERANCE: Tolerance = Tolerance {
        max_abs: None,
        rel_l2: Some(1e-2),
        allclose: None,
        times_error: None,
        nan: NanRule::Refused,
        ill_conditioned: ConditioningRule::Inconclusive,
    };

    /// The outcome of the right answer to a softmax over these inputs.
    fn outcome(dtype: Dtype, x: &[f64], tolerance: &Tolerance) -> CheckOutcome {
        let extents = [1, x.len()];
        let shape = shape(vec![buffer("x", dtype, &extents, Role::Input), buffer("y", dtype, &extents, Role::Output)]);
        let reference = ReferenceSpec::Builtin(Builtin::Softmax);
        let inputs = CaseInputs::rounded(&shape, vec![x.to_vec(), Vec::new()]);
        let expected = expected_on_host(&reference, &shape, 1, &inputs.values).unwrap().unwrap();
        let perturbed = perturbed((&reference, tolerance), &shape, 1, &inputs.values).unwrap();
        let usual = magnitudes(&expected);
        let draw = CaseDraw::new(Law::Declared, inputs, expected, &usual);
        let draw = match perturbed {
            Some(perturbed) => draw.with_perturbed(&shape, &perturbed, tolerance),
            None => draw,
        };
        let result = draw.compare(&shape, &draw.held(&shape), tolerance);
        CheckOutcome::of(result.differences, result.defects, tolerance).judged_by(tolerance)
    }

    #[test]
    fn a_softmax_of_large_scores_in_bf16_is_ill_conditioned_and_one_of_small_scores_is_not() {
        let small: Vec<f64> = (0..64).map(|at| f64::from(at % 7) / 8.0).collect();
        let large: Vec<f64> = small.iter().map(|value| value * 512.0).collect();
        assert!(matches!(outcome(Dtype::Bf16, &small, &TOLERANCE), CheckOutcome::Correct { .. }));
        let ill = outcome(Dtype::Bf16, &large, &TOLERANCE);
        assert!(matches!(&ill, CheckOutcome::Skipped { reason } if reason.starts_with("ill-conditioned")), "{ill:?}");
        assert!(matches!(outcome(Dtype::F32, &large, &TOLERANCE), CheckOutcome::Correct { .. }));
        let judged = Tolerance { ill_conditioned: ConditioningRule::Judged, ..TOLERANCE };
        assert!(matches!(outcome(Dtype::Bf16, &large, &judged), CheckOutcome::Correct { .. }), "nobody asked");
    }

    #[test]
    fn about_half_of_the_elements_grow() {
        let grown = (0..1000).filter(|at| sign(7, *at) > 0.0).count();
        assert!((400..600).contains(&grown), "{grown}");
    }

    const DERIVED: Tolerance = Tolerance {
        rel_l2: None,
        allclose: Some(AllClose::DERIVED),
        ill_conditioned: ConditioningRule::Judged,
        ..TOLERANCE
    };

    /// The derived bound of a built-in reference, whose last buffer is the output.
    fn bound(
        name: &str,
        buffers: &[(Dtype, &[usize])],
        values: Vec<Vec<f64>>,
    ) -> Result<DerivedBound, ExpectedOutputError> {
        let names: &[&str] = if buffers.len() == 2 { &["x", "y"] } else { &["a", "b", "c"] };
        let role = |at| if at + 1 == buffers.len() { Role::Output } else { Role::Input };
        let of = |(at, (dtype, extents)): (usize, &(Dtype, &[usize]))| buffer(names[at], *dtype, extents, role(at));
        let shape = shape(buffers.iter().enumerate().map(of).collect());
        let reference = ReferenceSpec::Builtin(Builtin::parse(name, &[]).unwrap());
        let inputs = CaseInputs::rounded(&shape, values);
        let expected = expected_on_host(&reference, &shape, 1, &inputs.values)?.unwrap();
        let given = (inputs.values.as_slice(), expected.as_slice());
        assert_eq!(DerivedBound::of((&reference, &TOLERANCE), &shape, Law::Declared, given)?, None, "it is written");
        Ok(DerivedBound::of((&reference, &DERIVED), &shape, Law::Declared, given)?.unwrap())
    }

    /// The bound for a product of two matrices of ones and twos with `depth` terms.
    fn of_product(dtype: Dtype, depth: usize) -> DerivedBound {
        let values = |count: usize| (0..count).map(|at| 1.0 + (at % 10) as f64 / 10.0).collect::<Vec<f64>>();
        let buffers: [(Dtype, &[usize]); 3] = [(dtype, &[2, depth]), (dtype, &[depth, 2]), (dtype, &[2, 2])];
        bound("gemm", &buffers, vec![values(2 * depth), values(2 * depth), Vec::new()]).unwrap()
    }

    #[test]
    fn a_derived_bound_grows_with_the_depth_of_sums_and_shrinks_with_the_precision_of_the_output() {
        let (short, long) = (of_product(Dtype::F32, 64), of_product(Dtype::F32, 4096));
        // Relative to the answers, which are 64 times as large.
        assert!(long.absolute / 64.0 > 2.0 * short.absolute, "{short:?} {long:?}");
        let (half, double) = (of_product(Dtype::F16, 64), of_product(Dtype::F64, 64));
        assert!(half.relative > 800.0 * short.relative, "{half:?}");
        assert!(short.absolute > 1e6 * double.absolute && double.absolute > 0.0, "{double:?}");
        let text = short.to_string();
        assert!(text.contains(" + 1.1e-6 x |expected|, from the error "), "{text}");
    }

    #[test]
    fn whole_numbers_and_selected_elements_must_be_equal() {
        let copied = |from: Dtype, to: Dtype| {
            let values = vec![(0..12).map(|at| f64::from(at) / 10.0).collect(), Vec::new()];
            bound("copy", &[(from, &[12]), (to, &[12])], values).unwrap()
        };
        assert_eq!(copied(Dtype::F32, Dtype::F32), DerivedBound::EXACT);
        assert_eq!(copied(Dtype::F32, Dtype::I32), DerivedBound::EXACT);
        assert!(copied(Dtype::F32, Dtype::F16).relative > 0.0, "the copy is rounded");
        assert_eq!(DerivedBound::EXACT.to_string(), "equality, because the output is not rounded");
    }

    #[test]
    fn a_bound_as_wide_as_the_output_is_an_error_with_a_proposal() {
        let softmax = |scores: [f64; 4]| {
            let buffers: [(Dtype, &[usize]); 2] = [(Dtype::F32, &[1, 4]), (Dtype::F32, &[1, 4])];
            bound("softmax", &buffers, vec![scores.to_vec(), Vec::new()])
        };
        assert!(softmax([0.0, 0.5, 1.0, 2.0]).is_ok());
        assert!(softmax([1.0; 4]).is_ok(), "equal outputs have no spread");
        // A rounding of scores of 1e7 moves them by a half.
        let error = softmax([1e7, 1e7 + 1.0, 1e7, 1e7 + 1.0]).unwrap_err().to_string();
        assert!(error.starts_with("no tolerance can be derived for output `y`: "), "{error}");
        assert!(error.contains("as large as the spread 2.3e-1 of the output; try `{ atol = 1.4e-2 }`"), "{error}");
    }
}
