//! A draw of a case with its right answer, as launches are compared with it.

use crate::config::Init;
use crate::model::{Law, Tolerance};
use crate::prove::{
    CaseDraw, CaseInputs, ExpectedOutput, ExpectedOutputError, ReferenceSpec, ShapeSpec, plain_on_host,
};

/// Seeds at which a null answer is tried again that the tolerance accepts at one.
const FURTHER_SEEDS: u64 = 8;
/// Between two such seeds.
const SEED_STEP: u64 = 0x9e37_79b9_7f4a_7c15;

/// A draw with its right answer, which the tolerance has to tell from what the outputs held before.
pub(super) fn comparable(
    (reference, tolerance): (&ReferenceSpec, &Tolerance),
    shape: &ShapeSpec,
    law: Law,
    (inputs, expected): (CaseInputs, Vec<ExpectedOutput>),
    usual: &[f64],
) -> Result<CaseDraw, ExpectedOutputError> {
    let plain = tolerance.times_error.map(|_| plain_on_host(reference, shape, &inputs.values));
    let plain = plain.transpose()?.flatten();
    // Of the inputs a launch needs the bytes alone; the values of all laws together would take most of the memory.
    let inputs = CaseInputs { bytes: inputs.bytes, values: Vec::new() };
    let draw = CaseDraw::new(law, inputs, expected, usual);
    let draw = match plain {
        Some(plain) => draw.with_plain(shape, &plain),
        None => draw,
    };
    if law != Law::Declared {
        return Ok(draw);
    }
    match draw.unmoved(shape, tolerance) {
        Some(buffer) => Err(ExpectedOutputError::Unmoved { buffer: buffer.to_owned() }),
        None => Ok(draw),
    }
}

/// Tries null answers on a draw of the declared inputs of `seed`. The few elements of a small output are near one another, or near zero, at
/// some seeds: a tolerance proves nothing where it rejects the null answer at no other seed either. Those are any seeds, or `known` where a
/// seed has files. Built-in references are put to a test of their own before anything is launched, with more mutants.
///
/// # Errors
/// The tolerance accepts a null answer at every seed, or there is no right answer at one.
pub(super) fn reject_nulls(
    (reference, tolerance): (&ReferenceSpec, &Tolerance),
    shape: &ShapeSpec,
    (seed, draw): (u64, &CaseDraw),
    known: &[u64],
    mut at_seed: impl FnMut(u64) -> Result<CaseDraw, ExpectedOutputError>,
) -> Result<(), ExpectedOutputError> {
    if matches!(reference, ReferenceSpec::Builtin(_)) || draw.law != Law::Declared {
        return Ok(());
    }
    let mut accepted = draw.accepted_nulls(shape, tolerance);
    if accepted.is_empty() {
        return Ok(());
    }
    let in_files = shape.buffers.iter().any(|buffer| buffer.init.as_ref().is_some_and(Init::is_of_seed_files));
    let further: Vec<u64> = match reference {
        ReferenceSpec::Npy { .. } => known.to_vec(),
        _ if in_files => known.to_vec(),
        _ => (1..=FURTHER_SEEDS).map(|number| seed.wrapping_add(number.wrapping_mul(SEED_STEP))).collect(),
    };
    for further in further {
        let draw = at_seed(further)?;
        accepted.retain(|null| !draw.rejects(*null, shape, tolerance));
        if accepted.is_empty() {
            return Ok(());
        }
    }
    let (at, null) = accepted[0];
    let buffer = shape.buffers[draw.expected[at].buffer].name.clone();
    Err(ExpectedOutputError::ProvesNothing { buffer, null: null.name() })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::config::{Dtype, Role};
    use crate::gpu::fixtures::buffer;
    use crate::prove::fixtures::shape;

    const TOLERANCE: Tolerance = Tolerance {
        max_abs: Some(1e-2),
        rel_l2: None,
        allclose: None,
        times_error: None,
        nan: crate::model::NanRule::Refused,
    };

    fn draw(values: [f64; 2]) -> CaseDraw {
        let inputs = CaseInputs { bytes: vec![Vec::new()], values: vec![Vec::new()] };
        CaseDraw::new(Law::Declared, inputs, vec![ExpectedOutput { buffer: 0, values: values.to_vec() }], &[1.0])
    }

    /// What comes of two answers near one another at seed 3, and the seeds that were asked for; `answers` are those of further seeds.
    fn tried(reference: &ReferenceSpec, answers: &dyn Fn(u64) -> [f64; 2]) -> (Option<String>, Vec<u64>) {
        let shape = shape(vec![buffer("lse", Dtype::F32, &[2], Role::Output)]);
        let mut asked = Vec::new();
        let outcome = reject_nulls((reference, &TOLERANCE), &shape, (3, &draw([1.001, 1.0])), &[3, 4], |seed| {
            asked.push(seed);
            Ok(draw(answers(seed)))
        });
        (outcome.err().map(|error| error.to_string()), asked)
    }

    #[test]
    fn answers_that_are_near_one_another_at_one_seed_do_not_speak_against_a_tolerance() {
        let (error, asked) = tried(&ReferenceSpec::None, &|_| [1.0, -1.0]);
        assert_eq!((error, asked.len()), (None, 1));
        let (error, asked) =
            tried(&ReferenceSpec::None, &|seed| if seed % 2 == 0 { [1.0, -1.0] } else { [0.5, 0.499] });
        assert_eq!((error, asked.len()), (None, 1), "the next seed is an even one");
        let (error, asked) = tried(&ReferenceSpec::None, &|_| [0.5, 0.499]);
        let error = error.unwrap();
        assert!(error.contains("'lse': it accepts the mean of the answer everywhere"), "{error}");
        assert_eq!(asked.len() as u64, FURTHER_SEEDS);
        let (error, _) = tried(&ReferenceSpec::None, &|_| [0.5, 0.5]);
        assert!(error.is_some(), "an answer that is its mean does not speak for one either");
    }

    #[test]
    fn where_a_seed_has_files_those_of_the_phase_are_asked() {
        let files = ReferenceSpec::Npy { path: "answer.npy".to_owned() };
        let (error, asked) = tried(&files, &|seed| if seed == 4 { [1.0, -1.0] } else { [1.001, 1.0] });
        assert_eq!((error, asked), (None, vec![3, 4]));
        assert!(tried(&files, &|_| [1.001, 1.0]).0.is_some());
    }
}
