//! The inputs of a case.

use super::element;
use super::expected::ReferenceSpec;
use super::fill;
use super::laws;
use super::shape::ShapeSpec;
use crate::config::Role;
use crate::gpu::BufferSpec;
use crate::model::Law;

/// The inputs of a shape and seed.
#[derive(Debug, Clone, PartialEq)]
pub struct CaseInputs {
    /// Bytes of every buffer; empty but for inputs.
    pub bytes: Vec<Vec<u8>>,
    /// The values those bytes stand for.
    pub values: Vec<Vec<f64>>,
}

impl CaseInputs {
    /// Draws the inputs of `shape` for `seed` as its buffers declare them.
    pub fn draw(shape: &ShapeSpec, seed: u64) -> Self {
        Self::rounded(shape, declared(shape, seed))
    }

    /// Draws them under a law, which knows what scores and weights are where `reference` is built in.
    pub fn under(law: Law, reference: &ReferenceSpec, shape: &ShapeSpec, seed: u64) -> Self {
        let mut values = declared(shape, seed);
        let builtin = match reference {
            ReferenceSpec::Builtin(builtin) => builtin.bind(shape).ok(),
            ReferenceSpec::Entry { .. }
            | ReferenceSpec::Npy { .. }
            | ReferenceSpec::Program(_)
            | ReferenceSpec::None => None,
        };
        laws::apply(law, builtin.as_ref(), shape, seed, &mut values);
        Self::rounded(shape, values)
    }

    /// Inputs of these values, rounded to the dtypes of their buffers.
    pub fn rounded(shape: &ShapeSpec, values: Vec<Vec<f64>>) -> Self {
        let encoded = |(buffer, values): (&BufferSpec, Vec<f64>)| {
            let bytes = element::encode(buffer.dtype, &values);
            let values = element::decode(buffer.dtype, &bytes);
            (bytes, values)
        };
        let (bytes, values) = shape.buffers.iter().zip(values).map(encoded).unzip();
        Self { bytes, values }
    }
}

/// The values of every buffer by its own `init`; none but for inputs.
fn declared(shape: &ShapeSpec, seed: u64) -> Vec<Vec<f64>> {
    let of_buffer = |buffer: &BufferSpec| {
        let init = buffer.init.filter(|_| buffer.role == Role::Input);
        init.map_or_else(Vec::new, |init| fill::values(init, seed, &buffer.name, buffer.elements()))
    };
    shape.buffers.iter().map(of_buffer).collect()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::super::expected::{ExpectedOutput, ReferenceSpec, expected_on_host};
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
        assert!(inputs.bytes[1].is_empty(), "an output has no contents but its poison");
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
