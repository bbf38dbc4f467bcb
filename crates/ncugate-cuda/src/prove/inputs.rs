//! Buffer contents before a launch of a case.

use super::expected::ReferenceSpec;
use super::input_error::InputError;
use super::shape::ShapeSpec;
use super::{fill, laws};
use crate::gpu::BufferSpec;
use ncugate_array::generator::Generator;
use ncugate_array::{element, npy};
use ncugate_model::Law;
use ncugate_model::expr::render;
use ncugate_phase::config::Init;
use std::path::Path;

/// The least factor of a redrawn float. Factors keep zeros, signs, infinities and the largest magnitude, and give values that
/// the file does not have.
pub(super) const LEAST_FACTOR: f64 = 0.5;

/// The contents of a shape's buffers before a launch, under a seed.
#[derive(Debug, Clone, PartialEq)]
pub struct CaseInputs {
    /// Bytes of every buffer; empty for outputs and scratch without `init`.
    pub bytes: Vec<Vec<u8>>,
    /// The decoded values of the buffers that a reference reads: inputs, and state before the launch.
    pub values: Vec<Vec<f64>>,
}

impl CaseInputs {
    /// Draws the inputs of `shape` for `seed` as its buffers declare them.
    ///
    /// # Errors
    /// The file of an input cannot be read.
    pub fn draw(shape: &ShapeSpec, seed: u64) -> Result<Self, InputError> {
        Ok(Self::rounded(shape, declared(shape, seed)?))
    }

    /// Draws the inputs under a law. If `reference` is built in, the law knows its scores and weights.
    ///
    /// # Errors
    /// Those of [`Self::draw`].
    pub fn under(law: Law, reference: &ReferenceSpec, shape: &ShapeSpec, seed: u64) -> Result<Self, InputError> {
        let mut values = declared(shape, seed)?;
        let builtin = match reference {
            ReferenceSpec::Builtin(builtin) => builtin.bind(shape).ok(),
            ReferenceSpec::Entry { .. }
            | ReferenceSpec::Npy { .. }
            | ReferenceSpec::Program { .. }
            | ReferenceSpec::None => None,
        };
        laws::apply(law, builtin.as_ref(), shape, seed, &mut values);
        Ok(Self::rounded(shape, values))
    }

    /// The values that a reference reads, from the bytes of every buffer.
    pub fn decoded(shape: &ShapeSpec, bytes: &[Vec<u8>]) -> Vec<Vec<f64>> {
        let values = |(buffer, bytes): (&BufferSpec, &Vec<u8>)| match buffer.role.is_read() {
            true => element::decode(buffer.dtype, bytes),
            false => Vec::new(),
        };
        shape.buffers.iter().zip(bytes).map(values).collect()
    }

    /// Inputs with these values, rounded to the dtypes of their buffers.
    pub fn rounded(shape: &ShapeSpec, values: Vec<Vec<f64>>) -> Self {
        let encoded = |(buffer, mut values): (&BufferSpec, Vec<f64>)| {
            let bytes = element::settle(buffer.dtype, &mut values);
            (bytes, if buffer.role.is_read() { values } else { Vec::new() })
        };
        let (bytes, values) = shape.buffers.iter().zip(values).map(encoded).unzip();
        Self { bytes, values }
    }
}

/// The values of every buffer from its `init`; empty without one. Values of two shapes are independent, so that a launch at one
/// shape finds no answer that a launch at another left.
fn declared(shape: &ShapeSpec, seed: u64) -> Result<Vec<Vec<f64>>, InputError> {
    let of_buffer = |buffer: &BufferSpec| {
        let Some(init) = &buffer.init else { return Ok(Vec::new()) };
        let drawn = fill::values(init, seed, &shape.drawn_name(&buffer.name), &buffer.extents);
        drawn.map_or_else(|| from_file(init, buffer, shape, seed), Ok)
    };
    shape.buffers.iter().map(of_buffer).collect()
}

fn from_file(init: &Init, buffer: &BufferSpec, shape: &ShapeSpec, seed: u64) -> Result<Vec<f64>, InputError> {
    let (Init::Npy { path } | Init::Redrawn { path }) = init else { return Ok(Vec::new()) };
    let name = || buffer.name.clone();
    let path = render(path, &shape.file_names(seed, &buffer.name));
    let path = path.map_err(|source| InputError::Path { buffer: name(), source })?;
    let values = npy::read(Path::new(&path), buffer.dtype, &buffer.extents)
        .map_err(|source| InputError::File { buffer: name(), source })?;
    if seed == 0 || matches!(init, Init::Npy { .. }) {
        return Ok(values);
    }
    let elements = element::encode(buffer.dtype, &values);
    let generator = Generator::new(seed, &shape.drawn_name(&buffer.name));
    Ok(element::decode(buffer.dtype, &generator.redrawn(buffer.dtype, &elements, LEAST_FACTOR)))
}

#[cfg(test)]
mod tests {
    use super::super::expected::{ExpectedOutput, ReferenceSpec, expected_on_host};
    use super::super::reference::Builtin;
    use super::*;
    use ncugate_model::Dtype;
    use ncugate_model::Role;

    use crate::gpu::fixtures::buffer;
    use crate::prove::fixtures::shape;

    #[test]
    fn inputs_hold_the_values_that_their_bytes_stand_for() {
        let shape = shape(vec![
            buffer("x", Dtype::Fp8E4m3, &[100], Role::Input),
            buffer("y", Dtype::F32, &[100], Role::Output),
        ]);
        let inputs = CaseInputs::draw(&shape, 5).unwrap();
        assert_eq!(inputs.bytes[0].len(), 100);
        assert_eq!(inputs.values[0], element::decode(Dtype::Fp8E4m3, &inputs.bytes[0]));
        assert!(inputs.bytes[1].is_empty(), "an output has no contents but its poison");
    }

    #[test]
    fn a_smaller_shape_has_no_part_of_the_inputs_of_a_larger_one() {
        let of = |name: &str, rows: usize| {
            let input = BufferSpec {
                init: Some(Init::Uniform { low: 0.0, high: 1.0 }),
                ..buffer("x", Dtype::F32, &[rows], Role::Input)
            };
            let spec = ShapeSpec { name: ncugate_model::ShapeName(name.into()), ..shape(vec![input]) };
            CaseInputs::draw(&spec, 5).unwrap().values.remove(0)
        };
        let (large, small) = (of("large", 4096), of("small", 2048));
        assert_eq!(of("large", 4096), large);
        assert!(small.iter().zip(&large).all(|(a, b)| a != b));
    }

    #[test]
    fn redrawn_inputs_are_like_the_file_and_not_in_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.npy");
        let file: Vec<f32> = (0..1000u16).map(|i| if i % 4 == 0 { 0.0 } else { f32::from(i) - 300.0 }).collect();
        let bytes: Vec<u8> = file.iter().flat_map(|value| value.to_le_bytes()).collect();
        std::fs::write(&path, npy::npy_bytes(Dtype::F32, &[1000], &bytes)).unwrap();
        let drawn = |dtype, init: &dyn Fn(String) -> Init, seed| {
            let init = Some(init(path.display().to_string()));
            let shape = shape(vec![BufferSpec { init, ..buffer("x", dtype, &[1000], Role::Input) }]);
            CaseInputs::draw(&shape, seed).unwrap().values.remove(0)
        };
        let redrawn = |path| Init::Redrawn { path };
        let captured = drawn(Dtype::F32, &|path| Init::Npy { path }, 7);
        assert_eq!(drawn(Dtype::F32, &redrawn, 0), captured, "seed 0 is the file");
        let (one, other) = (drawn(Dtype::F32, &redrawn, 7), drawn(Dtype::F32, &redrawn, 8));
        let zeros = one.iter().filter(|value| **value == 0.0).count();
        assert!(
            one != other && (180..320).contains(&zeros) && one.iter().all(|value| (-300.0..=700.0).contains(value))
        );
        let known = one.iter().filter(|value| **value != 0.0 && captured.contains(value)).count();
        assert!(known < 20, "{known} values of the file");
    }

    #[test]
    fn the_reference_sees_rounded_inputs() {
        let shape = shape(vec![
            buffer("x", Dtype::Fp8E4m3, &[100], Role::Input),
            buffer("y", Dtype::F32, &[100], Role::Output),
        ]);
        let inputs = CaseInputs::draw(&shape, 5).unwrap();
        let reference = ReferenceSpec::Builtin(Builtin::Copy);
        let expected = expected_on_host(&reference, &shape, 5, &inputs.values).unwrap().unwrap();
        assert_eq!(expected, [ExpectedOutput { buffer: 1, values: inputs.values[0].clone() }]);
    }
}
