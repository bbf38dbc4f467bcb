//! Errors of a phase's reference that can be found without a GPU.

use super::case_draw::{TriedDraw, comparable};
use super::evaluate::job_shape;
use super::job_error::JobError;
use super::null_test::NullTestError;
use crate::prove::{
    Builtin, CaseDraw, CaseInputs, ExpectedOutputError, ReferenceSpec, ShapeSpec, expected_on_host, held_by_outputs,
    magnitudes, perturbed,
};
use crate::python_environment::PythonEnvironment;
use ncugate_model::{ConditioningRule, Law};
use ncugate_phase::config::{Phase, WorkloadReference};
use ncugate_phase::plan::{Plan, reference_answers};

/// Maximum number of elements in the buffers of a shape for which a reference program is called before measuring.
const MOST_ELEMENTS: usize = 1 << 24;

/// Fits a built-in reference to every shape, reads every file, and calls a program at the smallest shape. If that gives
/// answers, tries the tolerance on wrong ones and returns true. A reference entry is built with the candidates.
///
/// # Errors
/// The reference does not fit, a file is missing or has the wrong contents, the program fails, or the tolerance proves nothing.
pub fn check_reference(phase: &Phase, plan: &Plan) -> Result<bool, NullTestError> {
    let specs = phase.workload.shapes.iter().map(|s| job_shape(phase, None, s)).collect::<Result<Vec<_>, _>>()?;
    match &phase.workload.reference {
        WorkloadReference::Builtin { name, options } => {
            let builtin = Builtin::parse(name, options).map_err(JobError::from)?;
            specs.iter().try_for_each(|spec| builtin.bind(spec).map(drop)).map_err(JobError::from)?;
            Ok(false)
        }
        WorkloadReference::Npy { path } => {
            let reference = ReferenceSpec::Npy { path: path.to_string_lossy().into_owned() };
            for spec in &specs {
                tried(phase, &reference, spec)?;
                let others = phase.workload.seeds.iter().skip(1);
                for seed in others {
                    let failed = |source| NullTestError::Reference { shape: spec.name.clone(), source };
                    answered(phase, &reference, spec, *seed).map_err(failed)?;
                }
            }
            Ok(!specs.is_empty())
        }
        WorkloadReference::Program(program) => {
            let smallest =
                phase.workload.smallest_shape().and_then(|shape| specs.iter().find(|s| s.name == shape.name));
            let elements = |spec: &ShapeSpec| spec.buffers.iter().map(|buffer| buffer.elements()).sum::<usize>();
            let answers = reference_answers(phase, plan);
            // A search has no values of parameters before it has chosen some.
            if answers.iter().any(|values| values.len() < program.params.len()) {
                return Ok(false);
            }
            let (program, python) = (program.clone(), PythonEnvironment::of(&phase.build));
            let reference = ReferenceSpec::Program { program, python, answers };
            let small = smallest.filter(|spec| elements(spec) <= MOST_ELEMENTS);
            small.map_or(Ok(()), |spec| tried(phase, &reference, spec))?;
            Ok(small.is_some())
        }
        WorkloadReference::Entry { .. } | WorkloadReference::Absent => Ok(false),
    }
}

/// Why the reference is ill-conditioned for the declared inputs of the first seed at the smallest shape, if the phase asks for
/// that test and the host computes the reference quickly.
///
/// # Errors
/// Those of [`check_reference`].
pub fn ill_conditioned(phase: &Phase, plan: &Plan) -> Result<Option<String>, NullTestError> {
    let tolerance = &phase.workload.tolerance;
    let smallest = phase.workload.smallest_shape();
    let Some(shape) = smallest.filter(|_| tolerance.ill_conditioned == ConditioningRule::Inconclusive) else {
        return Ok(None);
    };
    let spec = job_shape(phase, None, shape)?;
    let answers = reference_answers(phase, plan);
    let reference = match &phase.workload.reference {
        WorkloadReference::Builtin { name, options } => {
            ReferenceSpec::Builtin(Builtin::parse(name, options).map_err(JobError::from)?)
        }
        WorkloadReference::Program(program) => ReferenceSpec::Program {
            program: program.clone(),
            python: PythonEnvironment::of(&phase.build),
            answers: answers.clone(),
        },
        WorkloadReference::Npy { .. } | WorkloadReference::Entry { .. } | WorkloadReference::Absent => return Ok(None),
    };
    let is_small = spec.buffers.iter().map(|buffer| buffer.elements()).sum::<usize>() <= MOST_ELEMENTS;
    let params = phase.workload.reference_params().len();
    if !is_small || answers.iter().any(|values| values.len() < params) {
        return Ok(None);
    }
    let seed = phase.workload.seeds.first().copied().unwrap_or(0);
    let failed = |source: ExpectedOutputError| NullTestError::Reference { shape: spec.name.clone(), source };
    let draw = answered(phase, &reference, &spec, seed).map_err(failed)?;
    let inputs = CaseInputs::draw(&spec, seed).map_err(|error| failed(error.into()))?;
    let Some(perturbed) = perturbed((&reference, tolerance), &spec, seed, &inputs.values).map_err(failed)? else {
        return Ok(None);
    };
    let draw = draw.with_perturbed(&spec, &perturbed, tolerance);
    let differences = draw.compare(&spec, &draw.held(&spec), tolerance).differences;
    Ok(tolerance.conditioning(&differences).map(|reason| format!("at shape `{}`, seed {seed}: {reason}", spec.name)))
}

/// Tries the tolerance on wrong answers to the declared inputs of the first seed.
fn tried(phase: &Phase, reference: &ReferenceSpec, spec: &ShapeSpec) -> Result<(), NullTestError> {
    let known = phase.workload.seeds.as_slice();
    let seed = known.first().copied().unwrap_or(0);
    let failed = |source| NullTestError::Reference { shape: spec.name.clone(), source };
    let draw = answered(phase, reference, spec, seed).map_err(failed)?;
    let tried = TriedDraw { proof: (reference, &phase.workload.tolerance), shape: spec, seed, draw: &draw, known };
    tried.reject_nulls(|further| answered(phase, reference, spec, further)).map(drop).map_err(failed)
}

/// The expected output for the declared inputs of a seed.
fn answered(
    phase: &Phase,
    reference: &ReferenceSpec,
    spec: &ShapeSpec,
    seed: u64,
) -> Result<CaseDraw, ExpectedOutputError> {
    let tolerance = &phase.workload.tolerance;
    let inputs = CaseInputs::draw(spec, seed)?;
    let expected = expected_on_host(reference, spec, seed, &inputs.values)?.unwrap_or_default();
    let held = held_by_outputs(expected, spec, tolerance.nan)?;
    let usual = magnitudes(&held);
    comparable((reference, tolerance), spec, (Law::Declared, seed), (inputs, held), &usual)
}
