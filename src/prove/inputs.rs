//! The inputs of a case.

use super::element;
use super::expected::ExpectedOutput;
use super::fill;
use super::shape::ShapeSpec;
use crate::config::Role;

/// The inputs of a shape and seed.
#[derive(Debug, Clone, PartialEq)]
pub struct CaseInputs {
    /// Bytes of every buffer; empty but for inputs.
    pub bytes: Vec<Vec<u8>>,
    /// The values those bytes stand for.
    pub values: Vec<Vec<f64>>,
}

impl CaseInputs {
    /// Draws the inputs of `shape` for `seed`.
    pub fn draw(shape: &ShapeSpec, seed: u64) -> Self {
        let (bytes, values) = shape
            .buffers
            .iter()
            .map(|buffer| match buffer.init.filter(|_| buffer.role == Role::Input) {
                None => (Vec::new(), Vec::new()),
                Some(init) => {
                    let bytes =
                        element::encode(buffer.dtype, &fill::values(init, seed, &buffer.name, buffer.elements()));
                    let values = element::decode(buffer.dtype, &bytes);
                    (bytes, values)
                }
            })
            .unzip();
        Self { bytes, values }
    }

    /// Contents of the buffers before a launch: inputs, and what outputs are expected to become.
    pub fn contents(&self, shape: &ShapeSpec, expected: &[ExpectedOutput]) -> Vec<Vec<u8>> {
        let mut contents = self.bytes.clone();
        for ExpectedOutput { buffer, values } in expected {
            let dtype = shape.buffers[*buffer].dtype;
            if !dtype.has_nan() {
                contents[*buffer] = element::encode(dtype, values);
            }
        }
        contents
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::super::expected::{ReferenceSpec, expected_on_host};
    use super::super::reference::Builtin;
    use super::*;
    use crate::config::Dtype;
    use crate::gpu::fixtures::buffer;
    use crate::prove::fixtures::shape;

    #[test]
    fn inputs_hold_the_values_that_their_bytes_stand_for() {
        let shape = shape(vec![
            buffer("x", Dtype::Fp8E4m3, &[100], Role::Input),
            buffer("y", Dtype::F32, &[100], Role::Output),
        ]);
        let inputs = CaseInputs::draw(&shape, 5);
        assert_eq!(inputs.bytes[0].len(), 100);
        assert_eq!(inputs.values[0], element::decode(Dtype::Fp8E4m3, &inputs.bytes[0]));
        let expected = [ExpectedOutput { buffer: 1, values: inputs.values[0].clone() }];
        assert!(inputs.contents(&shape, &expected)[1].is_empty(), "float outputs are poisoned with NaN");
    }

    #[test]
    fn the_reference_sees_rounded_inputs() {
        let shape = shape(vec![
            buffer("x", Dtype::Fp8E4m3, &[100], Role::Input),
            buffer("y", Dtype::F32, &[100], Role::Output),
        ]);
        let inputs = CaseInputs::draw(&shape, 5);
        let reference = ReferenceSpec::Builtin(Builtin::Copy);
        let expected = expected_on_host(&reference, &shape, 5, &inputs.values).unwrap().unwrap();
        assert_eq!(expected, [ExpectedOutput { buffer: 1, values: inputs.values[0].clone() }]);
    }
}
