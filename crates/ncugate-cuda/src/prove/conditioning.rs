//! The reference for perturbed inputs: how far rounding errors in the inputs move the expected outputs.

use super::expected::{ExpectedOutput, ExpectedOutputError, ReferenceSpec, expected_on_host, held_by_outputs};
use super::reference::BufferValues;
use super::shape::ShapeSpec;
use ncugate_array::element;
use ncugate_model::{ConditioningRule, NanRule, Tolerance};
use rayon::prelude::*;

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
    let moved: Vec<Vec<f64>> = shape
        .buffers
        .iter()
        .zip(inputs)
        .enumerate()
        .map(|(at, (buffer, values))| {
            let (unit, key) = (element::unit_roundoff(buffer.dtype), seed ^ (at as u64).rotate_right(8));
            values.par_iter().enumerate().map(|(at, value)| value * (1.0 + sign(key, at) * unit)).collect()
        })
        .collect();
    let Some(expected) = expected_on_host(reference, shape, seed, &moved)? else { return Ok(None) };
    // A NaN that only the perturbed inputs cause counts as a difference.
    held_by_outputs(expected, shape, NanRule::Allowed).map(Some)
}

/// 1 or -1, by the mixed bits of a key and an index (the finaliser of SplitMix64).
fn sign(key: u64, at: usize) -> f64 {
    let mut bits = key.wrapping_add((at as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    if (bits ^ (bits >> 31)) & 1 == 0 { 1.0 } else { -1.0 }
}

#[cfg(test)]
mod tests {
    use super::super::reference::Builtin;
    use super::*;
    use crate::gpu::fixtures::buffer;
    use crate::prove::fixtures::shape;
    use crate::prove::{CaseDraw, CaseInputs, magnitudes};
    use ncugate_model::{CheckOutcome, Dtype, Law, Role};

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
}
