//! What a case asks: the inputs of a shape and seed, and the outputs that are right.

use super::element;
use super::fill;
use super::job::{JobReference, JobShape};
use super::reference::{NpyError, ReferenceError, read_npy};
use crate::config::Role;
use crate::expr::{ExprError, Names, Value, render};
use std::path::Path;

/// The inputs of a shape and seed.
#[derive(Debug, Clone, PartialEq)]
pub struct Inputs {
    /// Bytes of every buffer; empty but for inputs.
    pub bytes: Vec<Vec<u8>>,
    /// The values those bytes stand for.
    pub values: Vec<Vec<f64>>,
}

/// Expected values of outputs, by index of the buffer.
pub type Answer = Vec<(usize, Vec<f64>)>;

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub enum AnswerError {
    /// The built-in does not fit.
    #[error(transparent)]
    Builtin(#[from] ReferenceError),
    /// The file does not give it.
    #[error(transparent)]
    Npy(#[from] NpyError),
    /// The path does not render.
    #[error("path of the reference file")]
    Path(#[from] ExprError),
}

impl Inputs {
    /// Draws the inputs of `shape` for `seed`.
    pub fn draw(shape: &JobShape, seed: u64) -> Self {
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

    /// What the outputs should be, unless it takes the device to know ([`JobReference::Entry`]).
    pub fn answer(&self, reference: &JobReference, shape: &JobShape, seed: u64) -> Result<Option<Answer>, AnswerError> {
        match reference {
            JobReference::Builtin(builtin) => Ok(Some(vec![builtin.bind(shape)?.compute(&self.values)])),
            JobReference::Npy { path } => from_files(path, shape, seed).map(Some),
            JobReference::Entry { .. } | JobReference::None => Ok(None),
        }
    }

    /// Contents of the buffers before a launch: inputs, and what outputs are expected to become.
    pub fn contents(&self, shape: &JobShape, answer: &Answer) -> Vec<Vec<u8>> {
        let mut contents = self.bytes.clone();
        for (index, expected) in answer {
            let dtype = shape.buffers[*index].dtype;
            if !element::has_nan(dtype) {
                contents[*index] = element::encode(dtype, expected);
            }
        }
        contents
    }
}

fn from_files(template: &str, shape: &JobShape, seed: u64) -> Result<Answer, AnswerError> {
    let outputs = shape.buffers.iter().enumerate().filter(|(_, b)| b.role == Role::Output);
    outputs
        .map(|(index, buffer)| {
            let mut scope: Names = shape.dims.iter().map(|(name, n)| (name.clone(), Value::Int(*n))).collect();
            scope.insert("shape".to_owned(), Value::Text(shape.name.0.clone()));
            scope.insert("seed".to_owned(), Value::Int(seed.cast_signed()));
            scope.insert("buffer".to_owned(), Value::Text(buffer.name.clone()));
            let path = render(template, &scope)?;
            Ok((index, read_npy(Path::new(&path), &buffer.extents)?))
        })
        .collect()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::bench::fixtures::{buffer, shape};
    use crate::bench::reference::Builtin;
    use crate::config::Dtype;

    #[test]
    fn the_reference_sees_rounded_inputs() {
        let shape = shape(vec![
            buffer("x", Dtype::Fp8E4m3, &[100], Role::Input),
            buffer("y", Dtype::F32, &[100], Role::Output),
        ]);
        let inputs = Inputs::draw(&shape, 5);
        assert_eq!(inputs.bytes[0].len(), 100);
        assert_eq!(inputs.values[0], element::decode(Dtype::Fp8E4m3, &inputs.bytes[0]));
        let reference = JobReference::Builtin(Builtin::Copy);
        let answer = inputs.answer(&reference, &shape, 5).unwrap().unwrap();
        assert_eq!(answer, [(1, inputs.values[0].clone())]);
        assert!(inputs.contents(&shape, &answer)[1].is_empty(), "float outputs are poisoned with NaN");
    }

    #[test]
    fn a_file_is_found_by_shape_seed_and_buffer() {
        let folder = tempfile::tempdir().unwrap();
        let header = "{'descr': '|u1', 'fortran_order': False, 'shape': (2,), }\n";
        let bytes = [b"\x93NUMPY\x01\x00".as_slice(), &(header.len() as u16).to_le_bytes(), header.as_bytes(), &[4, 9]];
        std::fs::write(folder.path().join("s-3-y.npy"), bytes.concat()).unwrap();
        let template = format!("{}/{{{{ shape }}}}-{{{{ seed }}}}-{{{{ buffer }}}}.npy", folder.path().display());
        let shape = shape(vec![buffer("y", Dtype::U8, &[2], Role::Output)]);
        assert_eq!(from_files(&template, &shape, 3).unwrap(), [(0, vec![4.0, 9.0])]);
        let error = from_files(&template, &shape, 4).unwrap_err().to_string();
        assert!(error.contains("s-4-y.npy"), "{error}");
        assert!(from_files("{{ nope }}", &shape, 3).is_err());
    }
}
