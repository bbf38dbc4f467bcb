//! Outputs of a launch as bytes, against what they should be.

use super::draw::{CaseDraw, case_outcome};
use super::expected::ExpectedOutput;
use super::partial;
use super::shape::ShapeSpec;
use crate::gpu::VariantExtents;
use crate::model::{CheckOutcome, Tolerance};

/// The outcome of comparing the bytes of every output, which `bytes` gives by buffer.
///
/// That an element was not written is not looked for: what was poisoned and stays so is not what is expected.
pub fn outputs_outcome<'b>(
    (shape, extents): (&ShapeSpec, &VariantExtents),
    draw: &CaseDraw,
    bytes: impl Fn(usize) -> &'b [u8],
    tolerance: &Tolerance,
) -> CheckOutcome {
    // An output that is cut short is not a number where it is missing.
    let answer = |expected: &ExpectedOutput| {
        let index = expected.buffer;
        let mut values = partial::compared(&shape.buffers[index], index, extents, bytes(index));
        values.resize(expected.values.len(), f64::NAN);
        ExpectedOutput { buffer: expected.buffer, values }
    };
    let answers: Vec<ExpectedOutput> = draw.expected.iter().map(answer).collect();
    case_outcome(vec![draw.compare(shape, &answers, tolerance)], tolerance)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Dtype, Role};
    use crate::gpu::fixtures::buffer;
    use crate::model::{Law, NanRule};
    use crate::prove::CaseInputs;
    use crate::prove::fixtures::shape;

    #[test]
    fn right_bytes_are_correct_and_poison_is_wrong() {
        let shape = shape(vec![buffer("y", Dtype::F32, &[2], Role::Output)]);
        let expected = vec![ExpectedOutput { buffer: 0, values: vec![1.0, 2.0] }];
        let inputs = CaseInputs { bytes: vec![Vec::new()], values: vec![Vec::new()] };
        let draw = CaseDraw::new(Law::Declared, inputs, expected, &[2.0]);
        let tolerance =
            Tolerance { max_abs: Some(0.5), rel_l2: None, allclose: None, times_error: None, nan: NanRule::Refused };
        let outcome = |values: [f32; 2]| {
            let bytes = values.map(f32::to_le_bytes).concat();
            outputs_outcome((&shape, &VariantExtents::default()), &draw, |_| &bytes, &tolerance)
        };
        assert!(matches!(outcome([1.0, 2.0]), CheckOutcome::Correct { .. }));
        assert!(matches!(outcome([1.0, 3.0]), CheckOutcome::Wrong { .. }));
        assert!(matches!(outcome([1.0, f32::NAN]), CheckOutcome::Wrong { .. }));
        assert!(matches!(
            outputs_outcome((&shape, &VariantExtents::default()), &draw, |_| &[], &tolerance),
            CheckOutcome::Wrong { .. }
        ));
    }
}
