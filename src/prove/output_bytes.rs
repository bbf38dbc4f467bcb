//! Outputs of a launch as bytes, against what they should be.

use super::compare::DifferenceTally;
use super::expected::ExpectedOutput;
use super::shape::ShapeSpec;
use crate::model::{CheckOutcome, Tolerance};

/// The outcome of comparing the bytes of every output, which `bytes` gives by buffer.
///
/// That an element was not written is not looked for: what was poisoned and stays so is not what is expected.
pub fn outputs_outcome<'b>(
    shape: &ShapeSpec,
    expected: &[ExpectedOutput],
    bytes: impl Fn(usize) -> &'b [u8],
    tolerance: &Tolerance,
) -> CheckOutcome {
    let tally = expected.iter().fold(DifferenceTally::default(), |tally, ExpectedOutput { buffer, values }| {
        let after = bytes(*buffer);
        let unlike: Vec<u8> = after.iter().map(|byte| !byte).collect();
        tally.and(DifferenceTally::of(shape.buffers[*buffer].dtype, values, &unlike, after))
    });
    CheckOutcome::of(tally.differences(), tally.defects(None), tolerance)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Dtype, Role};
    use crate::gpu::fixtures::buffer;
    use crate::prove::fixtures::shape;

    #[test]
    fn right_bytes_are_correct_and_poison_is_wrong() {
        let shape = shape(vec![buffer("y", Dtype::F32, &[2], Role::Output)]);
        let expected = [ExpectedOutput { buffer: 0, values: vec![1.0, 2.0] }];
        let tolerance = Tolerance { max_abs: Some(0.5), rel_l2: None };
        let outcome = |values: [f32; 2]| {
            let bytes = values.map(f32::to_le_bytes).concat();
            outputs_outcome(&shape, &expected, |_| &bytes, &tolerance)
        };
        assert!(matches!(outcome([1.0, 2.0]), CheckOutcome::Correct { .. }));
        assert!(matches!(outcome([1.0, 3.0]), CheckOutcome::Wrong { .. }));
        assert!(matches!(outcome([1.0, f32::NAN]), CheckOutcome::Wrong { .. }));
    }
}
