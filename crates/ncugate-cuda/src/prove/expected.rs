//! Expected outputs, computed on the host or read from files.

use super::input_error::InputError;
use super::inputs::CaseInputs;
use super::lower_tolerance::LowerTolerance;
use super::partial;
use super::reference::{BoundBuiltin, BufferValues, Builtin, ProgramError, ReferenceError, program_outputs};
use super::reference_time::ReferenceTimer;
use super::shape::ShapeSpec;
use crate::gpu::{AttentionKernels, CudaDevice};
use crate::python_environment::PythonEnvironment;
use ncugate_array::element;
use ncugate_array::npy::{self, NpyError};
use ncugate_model::expr::{ExprError, Value, render};
use ncugate_model::{Dtype, Law, NanRule};
use ncugate_phase::config::ReferenceProgram;
use ncugate_phase::plan::ShapeProgram;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// Elements scanned by one task.
const CHUNK: usize = 1 << 14;

/// The reference with everything evaluated.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum ReferenceSpec {
    /// Computed in float64 on the host.
    Builtin(Builtin),
    /// Another entry, launched on the GPU.
    Entry {
        entry: String,
        /// The cubin with the entry.
        cubin: PathBuf,
        /// Its launch at every shape.
        programs: Vec<ShapeProgram>,
    },
    /// NumPy files; a template (`{{ }}`) over `shape`, `seed` and `buffer`.
    Npy { path: String },
    /// A program, called for every draw.
    Program {
        program: ReferenceProgram,
        /// The Python that calls a function.
        python: PythonEnvironment,
        /// The values of parameters that it gets for each of its answers, at least one.
        answers: Vec<Vec<(String, Value)>>,
    },
    /// Nothing is checked in this mode.
    None,
}

/// The expected values of one output.
#[derive(Debug, Clone, PartialEq)]
pub struct ExpectedOutput {
    /// Index of the buffer in its shape.
    pub buffer: usize,
    pub values: Vec<f64>,
}

/// Why expected outputs are unknown.
#[derive(Debug, thiserror::Error)]
pub enum ExpectedOutputError {
    /// The built-in does not fit.
    #[error(transparent)]
    Builtin(#[from] ReferenceError),
    /// The file does not provide the output.
    #[error(transparent)]
    Npy(#[from] NpyError),
    /// A buffer has no values before a launch.
    #[error(transparent)]
    Input(#[from] InputError),
    /// The program does not provide the output.
    #[error(transparent)]
    Program(#[from] ProgramError),
    /// The path does not render.
    #[error("path of the reference file")]
    Path(#[from] ExprError),
    /// The phase has no reference.
    #[error("the phase has no reference")]
    NoReference,
    /// The reference entry has no launch at the shape.
    #[error("entry `{entry}` has no launch for this shape")]
    NoLaunch { entry: String },
    /// The reference entry cannot be launched, or writes out of bounds.
    #[error("entry `{entry}`: {reason}")]
    Entry {
        entry: String,
        /// The driver's error, or the out-of-bounds write.
        reason: String,
    },
    /// The reference entry does not write all elements of all outputs.
    #[error("entry `{entry}` leaves {elements} output elements unwritten")]
    Unwritten { entry: String, elements: u64 },
    /// An output has no expected answer, or one of another size.
    #[error("it does not provide every element of output `{buffer}`")]
    Uncovered { buffer: String },
    /// The tolerance cannot distinguish the right answer from the content before a launch.
    #[error(
        "the tolerance accepts the content of `{buffer}` from before the launch, so a kernel that does nothing would pass; lower the tolerance, choose inputs that change `{buffer}` more, or, if a correct launch leaves it as it is, declare it with `role = \"scratch\"`"
    )]
    Unmoved { buffer: String },
    /// The tolerance accepts a null answer.
    #[error(
        "the tolerance is too wide for output `{buffer}`: it accepts {null}; {}, set a separate bound for the output or the shape (`tolerance.outputs`, `tolerance.shapes`), or choose inputs with more distinct outputs",
        LowerTolerance::remedy(lower.as_ref())
    )]
    ProvesNothing {
        buffer: String,
        null: String,
        /// The tolerance that rejects the null answers of this shape, if one does.
        lower: Option<LowerTolerance>,
    },
    /// The tolerance accepts the expected outputs for another content of a drawn input.
    #[error(
        "the answer does not depend on input `{buffer}`: the tolerance accepts the expected outputs for another draw of it, so a kernel that never reads it would pass; lower the tolerance, or choose an `init` with which `{buffer}` matters more"
    )]
    Unread { buffer: String },
    /// No bound follows from the reference, the inputs and the types.
    #[error(
        "no tolerance can be derived for output `{buffer}`: {reason}; try `{{ atol = {atol:e} }}`, or choose other inputs"
    )]
    Underivable {
        buffer: String,
        reason: String,
        /// A part of the spread of the output.
        atol: f64,
    },
    /// A function that judges outputs refuses the expected ones.
    #[error("`{check}` refuses the expected outputs: {reason}")]
    Unaccepted { check: String, reason: String },
    /// Too few finite elements to compare.
    #[error(
        "only {finite} of {elements} elements of output `{buffer}` are finite in the reference; at least half must be, so choose inputs with finite outputs"
    )]
    MostlyNonfinite { buffer: String, finite: usize, elements: usize },
    /// The expected answer has whole numbers that float64 cannot represent.
    #[error("the expected output `{buffer}` has the value {value:e}; values beyond 2^53 cannot be compared exactly")]
    TooLarge { buffer: String, value: f64 },
    /// The expected answer has NaN, and the tolerance does not allow it.
    #[error(
        "{elements} elements of output `{buffer}` are NaN in the reference; `tolerance = {{ ..., allow_nan = true }}` requires NaN at the same places"
    )]
    Nan { buffer: String, elements: usize },
}

impl ExpectedOutputError {
    /// Whether the phase is at fault and not the reference: its tolerance proves nothing with its inputs.
    pub const fn is_of_tolerance(&self) -> bool {
        matches!(
            self,
            Self::Unmoved { .. }
                | Self::ProvesNothing { .. }
                | Self::Unread { .. }
                | Self::MostlyNonfinite { .. }
                | Self::Underivable { .. }
                | Self::Unaccepted { .. }
        )
    }
}

/// The expected outputs of a shape for a seed and the values of the inputs; `None` if they require the device
/// ([`ReferenceSpec::Entry`]) or the phase has no reference.
///
/// # Errors
/// The built-in does not fit the shape, or a file cannot be read or has another content.
pub fn expected_on_host(
    reference: &ReferenceSpec,
    shape: &ShapeSpec,
    seed: u64,
    inputs: &BufferValues,
) -> Result<Option<Vec<ExpectedOutput>>, ExpectedOutputError> {
    let _timer = ReferenceTimer::start();
    match reference {
        ReferenceSpec::Builtin(builtin) => {
            let (buffer, values) = builtin.bind(shape)?.compute(inputs);
            Ok(Some(vec![ExpectedOutput { buffer, values }]))
        }
        ReferenceSpec::Npy { path } => from_files(path, shape, seed).map(Some),
        ReferenceSpec::Program { program, python, answers } => {
            let params = answers.first().map_or(&[][..], Vec::as_slice);
            Ok(Some(program_outputs(program, (python, params), shape, seed, inputs)?))
        }
        ReferenceSpec::Entry { .. } | ReferenceSpec::None => Ok(None),
    }
}

/// The same for large attention, computed on a device; `None` for other references, or if the device gives no right answer.
///
/// # Errors
/// The built-in does not fit the shape.
pub fn expected_on_device(
    device: (&CudaDevice, &AttentionKernels),
    reference: &ReferenceSpec,
    shape: &ShapeSpec,
    inputs: &BufferValues,
) -> Result<Option<Vec<ExpectedOutput>>, ExpectedOutputError> {
    let ReferenceSpec::Builtin(builtin) = reference else { return Ok(None) };
    let _timer = ReferenceTimer::start();
    let BoundBuiltin::Sdpa(sdpa) = builtin.bind(shape)? else { return Ok(None) };
    let values = sdpa.compute_on_device(device, inputs);
    Ok(values.map(|values| vec![ExpectedOutput { buffer: sdpa.o, values }]))
}

/// The expected output of the first head of attention for a seed's declared inputs: where the output of all heads starts.
/// `None` for other references.
///
/// # Errors
/// The built-in does not fit the shape.
pub fn first_head_on_host(
    reference: &ReferenceSpec,
    shape: &ShapeSpec,
    seed: u64,
) -> Result<Option<ExpectedOutput>, ExpectedOutputError> {
    let ReferenceSpec::Builtin(builtin) = reference else { return Ok(None) };
    let Some(head) = builtin.first_head(shape) else { return Ok(None) };
    let inputs = CaseInputs::under(Law::Declared, reference, &head, seed)?;
    Ok(expected_on_host(reference, &head, seed, &inputs.values)?.and_then(|mut expected| expected.pop()))
}

/// The further answers of a reference that takes parameters of variants.
///
/// # Errors
/// As for [`expected_on_host`].
pub fn other_answers(
    reference: &ReferenceSpec,
    shape: &ShapeSpec,
    seed: u64,
    inputs: &BufferValues,
) -> Result<Vec<Vec<ExpectedOutput>>, ExpectedOutputError> {
    let ReferenceSpec::Program { program, python, answers } = reference else { return Ok(Vec::new()) };
    let _timer = ReferenceTimer::start();
    let answer = |params: &Vec<_>| Ok(program_outputs(program, (python, params), shape, seed, inputs)?);
    answers.iter().skip(1).map(answer).collect()
}

/// The answers of a plain kernel in the precision of the outputs, rounded to their dtypes; `None` if the reference is
/// not built in.
///
/// # Errors
/// The built-in does not fit the shape.
pub fn plain_on_host(
    reference: &ReferenceSpec,
    shape: &ShapeSpec,
    inputs: &BufferValues,
) -> Result<Option<Vec<ExpectedOutput>>, ExpectedOutputError> {
    let ReferenceSpec::Builtin(builtin) = reference else { return Ok(None) };
    let bound = builtin.bind(shape)?;
    let dtype = shape.buffers[bound.output()].dtype;
    let (buffer, values) = bound.compute_plainly(inputs, dtype);
    let values = values.into_iter().map(|value| element::rounded(dtype, value)).collect();
    Ok(Some(vec![ExpectedOutput { buffer, values }]))
}

/// The expected answers as the outputs of a shape can hold them: values out of the range of an output's type become
/// infinite.
///
/// # Errors
/// An output does not have an answer for each of its elements, or has a NaN where the tolerance does not allow it.
pub fn held_by_outputs(
    mut expected: Vec<ExpectedOutput>,
    shape: &ShapeSpec,
    nan: NanRule,
) -> Result<Vec<ExpectedOutput>, ExpectedOutputError> {
    for (index, buffer) in shape.buffers.iter().enumerate().filter(|(_, b)| b.role.is_compared()) {
        let given = expected.iter_mut().find(|e| e.buffer == index);
        let uncovered = || ExpectedOutputError::Uncovered { buffer: buffer.name.clone() };
        let values = &mut given.filter(|e| e.values.len() == buffer.compared_elements()).ok_or_else(uncovered)?.values;
        let elements: usize = values.par_chunks(CHUNK).map(|chunk| chunk.iter().filter(|v| v.is_nan()).count()).sum();
        if elements > 0 && nan == NanRule::Refused {
            return Err(ExpectedOutputError::Nan { buffer: buffer.name.clone(), elements });
        }
        if matches!(buffer.dtype, Dtype::I64 | Dtype::U64)
            && let Some(value) = values.iter().copied().find(|v| v.abs() > element::WHOLE)
        {
            return Err(ExpectedOutputError::TooLarge { buffer: buffer.name.clone(), value });
        }
        if buffer.partial.is_some() {
            continue;
        }
        let largest = element::largest(buffer.dtype);
        let beyond = |value: f64| buffer.dtype.has_nan() && element::rounded(buffer.dtype, value).is_infinite();
        values.par_chunks_mut(CHUNK).for_each(|chunk| {
            for value in chunk.iter_mut().filter(|value| value.abs() > largest) {
                if beyond(*value) {
                    *value = f64::INFINITY.copysign(*value);
                }
            }
        });
        partial::sort_rows(buffer, values);
    }
    Ok(expected)
}

fn from_files(template: &str, shape: &ShapeSpec, seed: u64) -> Result<Vec<ExpectedOutput>, ExpectedOutputError> {
    let outputs = shape.buffers.iter().enumerate().filter(|(_, b)| b.role.is_compared());
    outputs
        .map(|(index, buffer)| {
            let path = render(template, &shape.file_names(seed, &buffer.name))?;
            Ok(ExpectedOutput {
                buffer: index,
                values: npy::read(Path::new(&path), buffer.dtype, &buffer.compared_extents())?,
            })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use ncugate_model::Role;
    use ncugate_phase::config::Init;

    use crate::gpu::fixtures::buffer;
    use crate::prove::fixtures::shape;

    #[test]
    fn a_file_is_found_by_shape_seed_and_buffer() {
        let folder = tempfile::tempdir().unwrap();
        let header = "{'descr': '|u1', 'fortran_order': False, 'shape': (2,), }\n";
        let bytes = [b"\x93NUMPY\x01\x00".as_slice(), &(header.len() as u16).to_le_bytes(), header.as_bytes(), &[4, 9]];
        std::fs::write(folder.path().join("s-3-y.npy"), bytes.concat()).unwrap();
        let template = format!("{}/{{{{ shape }}}}-{{{{ seed }}}}-{{{{ buffer }}}}.npy", folder.path().display());
        let shape = shape(vec![buffer("y", Dtype::U8, &[2], Role::Output)]);
        let expected = ExpectedOutput { buffer: 0, values: vec![4.0, 9.0] };
        assert_eq!(from_files(&template, &shape, 3).unwrap(), [expected]);
        let error = from_files(&template, &shape, 4).unwrap_err().to_string();
        assert!(error.contains("s-4-y.npy"), "{error}");
        assert!(from_files("{{ nope }}", &shape, 3).is_err());
    }

    #[test]
    fn the_output_of_all_heads_starts_with_that_of_the_first() {
        let input = |name| buffer(name, Dtype::F16, &[2, 2, 40, 8], Role::Input);
        let output = buffer("o", Dtype::F16, &[2, 2, 40, 8], Role::Output);
        let mut shape = shape(vec![input("q"), input("k"), input("v"), output]);
        let reference = ReferenceSpec::Builtin(Builtin::parse("sdpa", &[]).unwrap());
        let inputs = CaseInputs::draw(&shape, 5).unwrap();
        let whole = expected_on_host(&reference, &shape, 5, &inputs.values).unwrap().unwrap();
        let first = first_head_on_host(&reference, &shape, 5).unwrap().unwrap();
        assert_eq!((first.buffer, first.values.as_slice()), (3, &whole[0].values[..40 * 8]));
        assert!(first_head_on_host(&ReferenceSpec::Builtin(Builtin::Copy), &shape, 5).unwrap().is_none());
        shape.buffers[1].init = Some(Init::Permutation);
        assert!(first_head_on_host(&reference, &shape, 5).unwrap().is_none());
        shape.buffers[1].init = shape.buffers[0].init.clone();
        shape.buffers.iter_mut().for_each(|buffer| buffer.extents = vec![1, 1, 40, 8]);
        assert!(first_head_on_host(&reference, &shape, 5).unwrap().is_none(), "it is the whole output");
    }

    #[test]
    fn an_answer_beyond_the_range_of_its_type_is_infinite_and_nan_is_refused() {
        let shape = shape(vec![buffer("y", Dtype::F16, &[4], Role::Output)]);
        let held = |values: &[f64], nan| {
            held_by_outputs(vec![ExpectedOutput { buffer: 0, values: values.to_vec() }], &shape, nan)
        };
        let infinite = f64::INFINITY;
        let right = held(&[70000.0, -1e9, 65519.0, 0.1], NanRule::Refused).unwrap();
        assert_eq!(right[0].values, [infinite, -infinite, 65519.0, 0.1], "representable values stay exact");
        let masked = [f64::NAN, 1.0, 2.0, f64::NAN];
        let error = held(&masked, NanRule::Refused).unwrap_err().to_string();
        assert!(error.starts_with("2 elements of output `y` are NaN in the reference; `tolerance = {"), "{error}");
        assert!(held(&masked, NanRule::Allowed).unwrap()[0].values[0].is_nan());
        let short = held(&[1.0], NanRule::Allowed).unwrap_err().to_string();
        assert_eq!(short, "it does not provide every element of output `y`");
        assert!(held_by_outputs(Vec::new(), &shape, NanRule::Allowed).is_err(), "an output without an answer");
    }
}
