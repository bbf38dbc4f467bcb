//! Errors of a phase's reference that can be found without a GPU.

use super::case_draw::{TriedDraw, declared_on_host};
use super::evaluate::{host_reference, job_shape};
use super::hidden_draws::MOST_CALLS;
use super::null_test::{MOST_WORK, NullTestError, work};
use crate::prove::{
    CaseInputs, DerivedBound, ExpectedOutputError, ReferenceSpec, ShapeSpec, expected_on_host, perturbed,
};
use ncugate_model::{ConditioningRule, ShapeName};
use ncugate_phase::config::Phase;
use ncugate_phase::plan::{Plan, reference_answers};
use rayon::iter::{IntoParallelRefIterator as _, ParallelIterator as _};

/// Maximum number of elements in the buffers of a shape for which a reference program is called before measuring.
const MOST_ELEMENTS: usize = 1 << 24;

/// The trials of a phase's tolerance on wrong answers.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ToleranceTrials {
    /// Wrong answers that it rejected.
    pub rejected: u32,
    /// Whether they include those of the smallest shape, so that no null test is needed.
    pub is_smallest_tried: bool,
    /// The derived bounds at the tried shapes.
    derived: Vec<OutputBound>,
    /// A sentence for each input that a kernel need not read completely.
    pub unread: Vec<String>,
}

/// The derived bound of the output at a shape.
#[derive(Debug, Clone, PartialEq)]
struct OutputBound {
    shape: ShapeName,
    output: String,
    bound: DerivedBound,
}

impl ToleranceTrials {
    /// The derived bound where it is widest and why, and where it is narrowest.
    pub fn derived_bound(&self) -> Option<String> {
        let size = |one: &&OutputBound, two: &&OutputBound| one.bound.absolute.total_cmp(&two.bound.absolute);
        let OutputBound { shape, output, bound } = self.derived.iter().max_by(size)?;
        let narrowest = self.derived.iter().min_by(size).filter(|other| other.bound.absolute < bound.absolute);
        let least = narrowest.map_or_else(String::new, |OutputBound { shape, bound, .. }| {
            format!("; {:.1e} + {:.1e} x |expected| at shape `{shape}`", bound.absolute, bound.relative)
        });
        Some(format!("derived tolerance of output `{output}` at shape `{shape}`: {bound}{least}"))
    }
}

/// Fits a built-in reference to every shape, reads every file, and calls a program. Tries the tolerance on wrong answers at
/// every shape whose reference the host computes quickly. A reference entry is built with the candidates, so the worker tries
/// it.
///
/// # Errors
/// The reference does not fit, a file is missing or has the wrong contents, the program fails, or the tolerance proves nothing.
pub fn check_reference(phase: &Phase, plan: &Plan) -> Result<ToleranceTrials, NullTestError> {
    let specs = phase.workload.shapes.iter().map(|s| job_shape(phase, None, s)).collect::<Result<Vec<_>, _>>()?;
    let Some(reference) = host_reference(phase, plan)? else { return Ok(ToleranceTrials::default()) };
    match &reference {
        ReferenceSpec::Builtin(_) => {
            let work = |spec| Ok::<_, NullTestError>((work(&reference, spec)?, spec));
            let mut quick = specs.iter().map(work).collect::<Result<Vec<_>, _>>()?;
            quick.sort_by(|(one, _), (two, _)| one.total_cmp(two));
            let mut left = MOST_WORK;
            quick.retain(|(work, spec)| {
                left -= work;
                left >= 0.0 && spec.elements() <= MOST_ELEMENTS
            });
            let trials = tried_at_all(phase, &reference, &quick.into_iter().map(|(_, spec)| spec).collect::<Vec<_>>())?;
            // The null test knows more wrong answers of a built-in reference.
            Ok(ToleranceTrials { is_smallest_tried: false, ..trials })
        }
        ReferenceSpec::Npy { .. } => {
            let trials = tried_at_all(phase, &reference, &specs.iter().collect::<Vec<_>>())?;
            for spec in &specs {
                let others = phase.workload.seeds.iter().skip(1);
                for seed in others {
                    let failed = |source| NullTestError::Reference { shape: spec.name.clone(), source };
                    declared_on_host((&reference, &phase.workload.tolerance), spec, *seed).map_err(failed)?;
                }
            }
            Ok(trials)
        }
        ReferenceSpec::Program { program, answers, .. } => {
            // A search has no values of parameters before it has chosen some.
            if answers.iter().any(|values| values.len() < program.params.len()) {
                return Ok(ToleranceTrials::default());
            }
            let mut small: Vec<&ShapeSpec> = specs.iter().filter(|spec| spec.elements() <= MOST_ELEMENTS).collect();
            if small.is_empty() {
                let smallest = specs.iter().min_by_key(|spec| spec.elements());
                small.extend(smallest.filter(|spec| spec.elements() <= 8 * MOST_ELEMENTS));
            }
            tried_at_all(phase, &reference, &small)
        }
        ReferenceSpec::Entry { .. } | ReferenceSpec::None => Ok(ToleranceTrials::default()),
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
    let reference = host_reference(phase, plan)?.filter(|one| !matches!(one, ReferenceSpec::Npy { .. }));
    let Some(reference) = reference else { return Ok(None) };
    let answers = reference_answers(phase, plan);
    let is_small = spec.elements() <= MOST_ELEMENTS;
    let params = phase.workload.reference_params().len();
    if !is_small || answers.iter().any(|values| values.len() < params) {
        return Ok(None);
    }
    let seed = phase.workload.seeds.first().copied().unwrap_or(0);
    let failed = |source: ExpectedOutputError| NullTestError::Reference { shape: spec.name.clone(), source };
    let draw = declared_on_host((&reference, tolerance), &spec, seed).map_err(failed)?;
    let inputs = CaseInputs::draw(&spec, seed).map_err(|error| failed(error.into()))?;
    let Some(perturbed) = perturbed((&reference, tolerance), &spec, seed, &inputs.values).map_err(failed)? else {
        return Ok(None);
    };
    let draw = draw.with_perturbed(&spec, &perturbed, tolerance);
    let differences = draw.compare(&spec, &draw.held(&spec), tolerance).differences;
    Ok(tolerance.conditioning(&differences).map(|reason| format!("at shape `{}`, seed {seed}: {reason}", spec.name)))
}

/// Tries the tolerance at shapes. If it accepts wrong answers at several, the error has the smallest of the proposed
/// tolerances.
fn tried_at_all(
    phase: &Phase,
    reference: &ReferenceSpec,
    specs: &[&ShapeSpec],
) -> Result<ToleranceTrials, NullTestError> {
    let smallest = phase.workload.smallest_shape().map(|shape| &shape.name);
    let fewest = specs.iter().min_by_key(|spec| spec.elements()).map(|spec| &spec.name);
    let mut trials = ToleranceTrials::default();
    let mut lowest: Option<(f64, NullTestError)> = None;
    for together in in_parallel(specs) {
        trials.is_smallest_tried |= together.iter().any(|spec| Some(&spec.name) == smallest);
        let tried: Vec<_> =
            together.par_iter().map(|spec| tried(phase, reference, spec, Some(&spec.name) == fewest)).collect();
        for tried in tried {
            let error = match tried {
                Ok(at_shape) => {
                    trials.rejected += at_shape.rejected;
                    trials.unread.extend(at_shape.unread);
                    trials.derived.extend(at_shape.derived);
                    continue;
                }
                Err(error) => error,
            };
            let NullTestError::Reference { source: ExpectedOutputError::ProvesNothing { lower, .. }, .. } = &error
            else {
                return Err(error);
            };
            let factor = lower.as_ref().map_or(0.0, |lower| lower.factor);
            if lowest.as_ref().is_none_or(|(least, _)| factor < *least) {
                lowest = Some((factor, error));
            }
        }
    }
    lowest.map_or(Ok(trials), |(_, error)| Err(error))
}

/// Shapes in groups, each of which fits into the memory of one large shape. Few calls run at once, because each can use the
/// GPU and all cores.
fn in_parallel<'s>(specs: &[&'s ShapeSpec]) -> Vec<Vec<&'s ShapeSpec>> {
    let mut groups: Vec<Vec<&ShapeSpec>> = Vec::new();
    for spec in specs {
        match groups.last_mut() {
            Some(last)
                if last.len() < MOST_CALLS
                    && last.iter().map(|spec| spec.elements()).sum::<usize>() + spec.elements() <= MOST_ELEMENTS =>
            {
                last.push(spec);
            }
            _ => groups.push(vec![spec]),
        }
    }
    groups
}

/// Tries the tolerance on wrong answers to the declared inputs of the first seed; only the shape with the fewest elements has
/// sentences on inputs that a kernel need not read completely.
fn tried(
    phase: &Phase,
    reference: &ReferenceSpec,
    spec: &ShapeSpec,
    is_fewest: bool,
) -> Result<ToleranceTrials, NullTestError> {
    let known = phase.workload.seeds.as_slice();
    let seed = known.first().copied().unwrap_or(0);
    let failed = |source| NullTestError::Reference { shape: spec.name.clone(), source };
    let proof = (reference, &phase.workload.tolerance);
    let draw = declared_on_host(proof, spec, seed).map_err(failed)?;
    let tried = TriedDraw { proof, shape: spec, seed, draw: &draw, known };
    let rejected = tried.reject_nulls(|further| declared_on_host(proof, spec, further)).map_err(failed)?;
    let answer = |seed, inputs: &[Vec<u8>]| {
        Ok(expected_on_host(reference, spec, seed, &CaseInputs::decoded(spec, inputs))?.unwrap_or_default())
    };
    let unread = if is_fewest { tried.unread_inputs(answer).map_err(failed)? } else { Vec::new() };
    let outputs = draw.expected.iter().zip(draw.derived());
    let derived = outputs.map(|(output, bound)| OutputBound {
        shape: spec.name.clone(),
        output: spec.buffers[output.buffer].name.clone(),
        bound,
    });
    Ok(ToleranceTrials { rejected, derived: derived.collect(), unread, ..ToleranceTrials::default() })
}
