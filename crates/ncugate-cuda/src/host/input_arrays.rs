//! The contents of a phase's buffers before a launch, as NumPy files.

use super::evaluate::job_shape;
use super::job_error::JobError;
use crate::gpu::BufferSpec;
use crate::prove::{CaseInputs, InputError};
use ncugate_array::npy::npy_bytes;
use ncugate_model::ShapeName;
use ncugate_phase::config::Phase;
use std::path::PathBuf;

/// Why inputs cannot be drawn.
#[derive(Debug, thiserror::Error)]
pub enum InputArraysError {
    /// The phase cannot be evaluated.
    #[error(transparent)]
    Job(#[from] JobError),
    /// A file of the phase does not provide the inputs.
    #[error("no inputs for shape `{shape}`, seed {seed}")]
    Input { shape: ShapeName, seed: u64, source: InputError },
}

/// A buffer before a launch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InputArray {
    /// `SHAPE/SEED/BUFFER.npy`.
    pub path: PathBuf,
    /// A NumPy file.
    pub bytes: Vec<u8>,
}

/// Calls `take` with every buffer that has contents before a launch, at every shape and seed, under the declared law. Buffers
/// are passed one at a time, since a whole phase can exceed memory.
///
/// # Errors
/// The phase cannot be evaluated, a file that it names cannot be read, or `take` fails.
pub fn input_arrays<E: From<InputArraysError>>(
    phase: &Phase,
    mut take: impl FnMut(InputArray) -> Result<(), E>,
) -> Result<(), E> {
    for shape in &phase.workload.shapes {
        let spec = job_shape(phase, None, shape).map_err(InputArraysError::from)?;
        for &seed in &phase.workload.seeds {
            let drawn = CaseInputs::draw(&spec, seed);
            let failed = |source| InputArraysError::Input { shape: spec.name.clone(), seed, source };
            let drawn = drawn.map_err(failed)?;
            let held = spec.buffers.iter().zip(&drawn.bytes).filter(|(_, bytes)| !bytes.is_empty());
            for (buffer, bytes) in held {
                take(array(&spec.name, seed, buffer, bytes))?;
            }
        }
    }
    Ok(())
}

fn array(shape: &ShapeName, seed: u64, buffer: &BufferSpec, bytes: &[u8]) -> InputArray {
    let path = PathBuf::from(shape.0.as_str()).join(seed.to_string()).join(format!("{}.npy", buffer.name));
    InputArray { path, bytes: npy_bytes(buffer.dtype, &buffer.extents, bytes) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ncugate_fixtures::phase;
    use ncugate_phase::config::{Amount, Init};

    fn arrays(phase: &Phase) -> Result<Vec<InputArray>, InputArraysError> {
        let mut arrays = Vec::new();
        input_arrays(phase, |array| {
            arrays.push(array);
            Ok::<(), InputArraysError>(())
        })?;
        Ok(arrays)
    }

    #[test]
    fn every_input_is_written_for_every_shape_and_seed_and_outputs_are_not() {
        let paths: Vec<String> =
            arrays(&phase()).unwrap().iter().map(|array| array.path.display().to_string()).collect();
        assert_eq!(paths, ["s/0/x.npy", "s/1/x.npy", "l/0/x.npy", "l/1/x.npy"]);
        let mut phase = phase();
        phase.workload.buffers[1].init = Some(Init::Constant { value: Amount::Number(0.0) });
        assert_eq!(arrays(&phase).unwrap().len(), 8, "the initial content of an output is an input");
    }

    #[test]
    fn what_was_written_is_drawn_again_from_the_files() {
        let folder = tempfile::tempdir().unwrap();
        let mut phase = phase();
        let drawn = arrays(&phase).unwrap();
        for array in &drawn {
            let path = folder.path().join(&array.path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, &array.bytes).unwrap();
        }
        let path = format!("{}/{{{{ shape }}}}/{{{{ seed }}}}/{{{{ buffer }}}}.npy", folder.path().display());
        phase.workload.buffers[0].init = Some(Init::Npy { path });
        assert_eq!(arrays(&phase).unwrap(), drawn);
        std::fs::remove_file(folder.path().join("l/1/x.npy")).unwrap();
        let error = arrays(&phase).unwrap_err();
        assert_eq!(error.to_string(), "no inputs for shape `l`, seed 1");
        let cause = std::error::Error::source(&error).unwrap();
        assert_eq!(cause.to_string(), "input `x`");
        assert!(cause.source().unwrap().to_string().ends_with("l/1/x.npy"));
    }
}
