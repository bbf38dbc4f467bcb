//! The null test of a phase's tolerance: does it reject answers that are wrong on purpose?

use super::evaluate::job_shape;
use super::job_error::JobError;
use crate::prove::{Builtin, ExpectedOutputError, LowerTolerance, MutationTest, ReferenceSpec, ShapeSpec};
use ncugate_model::MutantTable;
use ncugate_model::{Law, NullTest, ShapeName};
use ncugate_phase::config::{BoundOf, Phase, Shape, WorkloadReference};

/// Approximate maximum number of multiplications for one evaluation of a reference on the host.
pub(super) const MOST_WORK: f64 = 3e8;

/// Why a tolerance cannot be tried.
#[derive(Debug, thiserror::Error)]
pub enum NullTestError {
    /// The phase cannot be evaluated.
    #[error(transparent)]
    Job(#[from] JobError),
    /// The expected output is unknown, or the tolerance accepts a wrong answer.
    #[error("{} shape `{shape}`", if source.is_of_tolerance() { "at" } else { "no reference for" })]
    Reference { shape: ShapeName, source: ExpectedOutputError },
    /// The tolerance would accept null answers.
    #[error(
        "the tolerance is too wide: at shape `{shape}` it accepts {}; {} until `ncugate check --mutants` shows them rejected",
        accepted.join(", "),
        LowerTolerance::remedy(lower.as_ref())
    )]
    ProvesNothing {
        /// The smallest shape.
        shape: ShapeName,
        accepted: Vec<String>,
        /// The tolerance that rejects them there, if one does.
        lower: Option<LowerTolerance>,
    },
}

/// Tries the tolerance of a built-in reference on answers that every tolerance must reject. It uses the declared inputs at the
/// smallest shape, at every shape with its own bound, and at the shapes `also`. The worker later repeats the test at every
/// shape with fewer answers.
///
/// # Errors
/// The tolerance accepts a null answer, or the phase's reference does not fit.
pub fn null_test(phase: &Phase, also: &[ShapeName]) -> Result<NullTest, NullTestError> {
    let not_made = |reason: String| Ok(NullTest::NotMade { reason });
    let Some(reference) = built_in(phase)? else {
        return not_made("only built-in references can be computed without a GPU".to_owned());
    };
    let Some(smallest) = phase.workload.smallest_shape() else {
        return not_made("the workload has no shape".to_owned());
    };
    let own = |name: &ShapeName| {
        phase.workload.own_bounds.iter().any(|bound| matches!(&bound.of, BoundOf::Shape(own) if own == name))
    };
    let others = phase.workload.shapes.iter().filter(|shape| shape.name != smallest.name);
    let others = others.filter(|shape| own(&shape.name) || also.contains(&shape.name));
    let (mut left, mut left_out) = (MOST_WORK, Vec::new());
    for shape in std::iter::once(smallest).chain(others) {
        let spec = job_shape(phase, None, shape)?;
        // The smallest shape may use the full budget; the other shapes share the same amount.
        let most = if shape.name == smallest.name { MOST_WORK } else { left };
        let work = work(&reference, &spec)?;
        if work > most {
            left_out.push(format!("`{}`", shape.name));
            continue;
        }
        if shape.name != smallest.name {
            left -= work;
        }
        reject_nulls(phase, &reference, &spec)?;
    }
    match left_out.as_slice() {
        [] => Ok(NullTest::Held),
        _ => not_made(format!("shape {} takes too long on the host", left_out.join(", "))),
    }
}

/// Fails if the tolerance accepts a null answer of the reference at a shape.
fn reject_nulls(phase: &Phase, reference: &ReferenceSpec, spec: &ShapeSpec) -> Result<(), NullTestError> {
    let Some(test) = mutation_test(phase, reference, spec, &[Law::Declared])? else { return Ok(()) };
    if let Some(buffer) = test.unmoved() {
        let source = ExpectedOutputError::Unmoved { buffer: buffer.to_owned() };
        return Err(NullTestError::Reference { shape: spec.name.clone(), source });
    }
    let (accepted, lower) = test.accepted_nulls();
    if accepted.is_empty() {
        return Ok(());
    }
    Err(NullTestError::ProvesNothing { shape: spec.name.clone(), accepted, lower })
}

/// Tries the tolerance on every mutant of the reference, at every shape that the host can compute. None if the reference is not
/// built in.
///
/// # Errors
/// The phase's reference does not fit.
pub fn mutant_table(phase: &Phase) -> Result<Option<MutantTable>, NullTestError> {
    let Some(reference) = built_in(phase)? else { return Ok(None) };
    let mut table = MutantTable { shapes: Vec::new(), left_out: Vec::new(), rows: Vec::new() };
    for shape in &phase.workload.shapes {
        let Some(spec) = affordable(phase, &reference, shape)? else {
            table.left_out.push(shape.name.clone());
            continue;
        };
        let Some(test) = mutation_test(phase, &reference, &spec, &laws_at(phase, &shape.name))? else { continue };
        table.shapes.push(shape.name.clone());
        for (at, mutant) in test.mutants().iter().enumerate() {
            if table.rows.len() <= at {
                table.rows.push((mutant.name, mutant.standing, Vec::new()));
            }
            table.rows[at].2.push(test.judge(mutant));
        }
    }
    Ok(Some(table))
}

/// The laws of all seeds at a shape, without duplicates.
fn laws_at(phase: &Phase, shape: &ShapeName) -> Vec<Law> {
    let mut laws: Vec<Law> =
        phase.workload.seeds.iter().flat_map(|seed| phase.workload.laws_of(shape, *seed)).collect();
    laws.sort_unstable();
    laws.dedup();
    laws
}

/// The reference of a phase, if it is built in.
pub(super) fn built_in(phase: &Phase) -> Result<Option<ReferenceSpec>, JobError> {
    let WorkloadReference::Builtin { name, options } = &phase.workload.reference else { return Ok(None) };
    Ok(Some(ReferenceSpec::Builtin(Builtin::parse(name, options)?)))
}

/// The evaluated shape, unless its reference takes too long on the host.
fn affordable(phase: &Phase, reference: &ReferenceSpec, shape: &Shape) -> Result<Option<ShapeSpec>, NullTestError> {
    let spec = job_shape(phase, None, shape)?;
    Ok((work(reference, &spec)? <= MOST_WORK).then_some(spec))
}

/// Approximate number of multiplications for one evaluation of a built-in reference.
pub(super) fn work(reference: &ReferenceSpec, spec: &ShapeSpec) -> Result<f64, NullTestError> {
    let ReferenceSpec::Builtin(builtin) = reference else { return Ok(f64::INFINITY) };
    Ok(builtin.bind(spec).map_err(JobError::from)?.work(spec))
}

fn mutation_test<'a>(
    phase: &'a Phase,
    reference: &ReferenceSpec,
    spec: &'a ShapeSpec,
    laws: &[Law],
) -> Result<Option<MutationTest<'a>>, NullTestError> {
    let seed = phase.workload.seeds.first().copied().unwrap_or(0);
    let failed = |source| NullTestError::Reference { shape: spec.name.clone(), source };
    MutationTest::new(reference, spec, seed, laws, &phase.workload.tolerance).map_err(failed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use ncugate_fixtures::phase;
    use ncugate_model::{Dtype, MutantKind, MutantOutcome};
    use ncugate_phase::config::{Amount, BufferType, Init};

    #[test]
    fn a_tolerance_as_large_as_the_answer_is_refused() {
        let mut phase = phase();
        assert_eq!(null_test(&phase, &[]).unwrap(), NullTest::Held);
        phase.workload.tolerance.max_abs = Some(1e9);
        let error = null_test(&phase, &[]).unwrap_err().to_string();
        assert!(error.starts_with("the tolerance is too wide: at shape `s` it accepts zeros, the mean"), "{error}");
        let (_, bound) = error.split_once("at most `max_abs = ").unwrap();
        phase.workload.tolerance.max_abs = bound.split_once('`').unwrap().0.parse().ok();
        assert_eq!(null_test(&phase, &[]).unwrap(), NullTest::Held, "{error}");
        phase.workload.tolerance.max_abs = phase.workload.tolerance.max_abs.map(|bound| 1.2 * bound);
        assert!(null_test(&phase, &[]).is_err(), "it is the largest");
        phase.workload.reference = WorkloadReference::Npy { path: "x.npy".into() };
        assert!(matches!(null_test(&phase, &[]).unwrap(), NullTest::NotMade { .. }), "nothing is known of a file here");
    }

    #[test]
    fn a_shape_with_a_bound_of_its_own_is_tried_and_so_is_one_that_is_asked_for() {
        let mut phase = phase();
        let large = phase.workload.shapes[1].name.clone();
        let all = ncugate_model::AllClose { atol: 1e-3, ..ncugate_model::AllClose::default() };
        phase.workload.tolerance = ncugate_model::Tolerance { allclose: Some(all), ..Default::default() };
        assert_eq!(null_test(&phase, std::slice::from_ref(&large)).unwrap(), NullTest::Held);
        let of = BoundOf::Shape(large.clone());
        let unit = ncugate_model::BoundUnit::One;
        phase.workload.own_bounds = vec![ncugate_phase::config::OwnBound { of, atol: 1e9, rtol: 0.0, unit }];
        let error = null_test(&phase, &[]).unwrap_err().to_string();
        assert!(error.contains(&format!("at shape `{large}` it accepts zeros")), "{error}");
    }

    #[test]
    fn an_answer_that_is_zero_by_itself_is_not_held_against_the_tolerance() {
        let mut phase = phase();
        phase.workload.buffers[0].dtype = BufferType::Fixed(Dtype::F32);
        phase.workload.buffers[0].init = Some(Init::Constant { value: Amount::Number(0.0) });
        assert_eq!(null_test(&phase, &[]).unwrap(), NullTest::Held);
    }

    #[test]
    fn a_table_has_a_cell_a_mutant_and_shape() {
        let table = mutant_table(&phase()).unwrap().unwrap();
        assert_eq!((table.shapes.len(), table.left_out.len()), (2, 0));
        assert!(table.rows.iter().all(|(_, _, cells)| cells.len() == 2));
        assert_eq!(table.rows[0].1, MutantKind::Honest);
        assert!(table.rows[0].2.iter().all(|cell| matches!(cell, MutantOutcome::Accepted { .. })));
    }
}
