//! What is wrong with a phase's reference, as far as no GPU is needed to know it.

use super::evaluate::job_shape;
use super::job_error::JobError;
use super::null_test::NullTestError;
use crate::config::{Phase, WorkloadReference};
use crate::prove::{Builtin, CaseInputs, ReferenceSpec, ShapeSpec, expected_on_host, held_by_outputs};

/// Most elements of the buffers of a shape that a program is called for before anything is measured.
const MOST_ELEMENTS: usize = 1 << 24;

/// Fits a built-in reference to every shape, reads every file, calls a program at the smallest shape. An entry is built with
/// the candidates.
///
/// # Errors
/// The reference does not fit, a file is missing or another than it should be, the program fails.
pub fn check_reference(phase: &Phase) -> Result<(), NullTestError> {
    let specs = phase.workload.shapes.iter().map(|s| job_shape(phase, None, s)).collect::<Result<Vec<_>, _>>()?;
    match &phase.workload.reference {
        WorkloadReference::Builtin { name, options } => {
            let builtin = Builtin::parse(name, options).map_err(JobError::from)?;
            specs.iter().try_for_each(|spec| builtin.bind(spec).map(drop)).map_err(JobError::from)?;
            Ok(())
        }
        WorkloadReference::Npy { path } => {
            let reference = ReferenceSpec::Npy { path: path.to_string_lossy().into_owned() };
            let cases = specs.iter().flat_map(|spec| phase.workload.seeds.iter().map(move |seed| (spec, *seed)));
            cases.into_iter().try_for_each(|(spec, seed)| answered(phase, &reference, spec, seed))
        }
        WorkloadReference::Program(program) => {
            let smallest =
                phase.workload.smallest_shape().and_then(|shape| specs.iter().find(|s| s.name == shape.name));
            let elements = |spec: &ShapeSpec| spec.buffers.iter().map(|buffer| buffer.elements()).sum::<usize>();
            let seed = phase.workload.seeds.first().copied().unwrap_or(0);
            let reference = ReferenceSpec::Program { program: program.clone(), python: phase.build.python.clone() };
            let small = smallest.filter(|spec| elements(spec) <= MOST_ELEMENTS);
            small.map_or(Ok(()), |spec| answered(phase, &reference, spec, seed))
        }
        WorkloadReference::Entry { .. } | WorkloadReference::Absent => Ok(()),
    }
}

/// Whether the reference answers the declared inputs of a seed.
fn answered(phase: &Phase, reference: &ReferenceSpec, spec: &ShapeSpec, seed: u64) -> Result<(), NullTestError> {
    let failed = |source| NullTestError::Reference { shape: spec.name.clone(), source };
    let inputs = match reference {
        ReferenceSpec::Npy { .. } => vec![Vec::new(); spec.buffers.len()],
        _ => CaseInputs::draw(spec, seed).map_err(|error| failed(error.into()))?.values,
    };
    let expected = expected_on_host(reference, spec, seed, &inputs).map_err(failed)?.unwrap_or_default();
    held_by_outputs(expected, spec, phase.workload.tolerance.nan).map(drop).map_err(failed)
}
