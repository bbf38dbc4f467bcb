//! A draw of a case with its expected output, for comparison with launches.

use crate::prove::{
    CaseDraw, CaseInputs, DerivedBound, ExpectedOutput, ExpectedOutputError, LowerTolerance, NullOutcome, PlacedNull,
    ReferenceSpec, ShapeSpec, expected_on_host, first_head_on_host, held_by_outputs, magnitudes, other_answers,
    plain_on_host,
};
use ncugate_model::{Defect, Law, Tolerance};
use ncugate_phase::config::Init;

/// Number of further seeds for a null answer that the tolerance accepts at one seed.
const FURTHER_SEEDS: u64 = 8;
/// Distance between two such seeds.
const SEED_STEP: u64 = 0x9e37_79b9_7f4a_7c15;

/// The inputs of a seed under a law, with their expected output. `elsewhere` gives what the host alone cannot compute.
pub(super) fn answered(
    (reference, tolerance): (&ReferenceSpec, &Tolerance),
    shape: &ShapeSpec,
    (law, seed): (Law, u64),
    elsewhere: impl FnOnce(&CaseInputs) -> Result<Vec<ExpectedOutput>, ExpectedOutputError>,
) -> Result<(CaseInputs, Vec<ExpectedOutput>), ExpectedOutputError> {
    let inputs = CaseInputs::under(law, reference, shape, seed)?;
    let expected = expected_on_host(reference, shape, seed, &inputs.values)?;
    let expected = expected.map_or_else(|| elsewhere(&inputs), Ok)?;
    Ok((inputs, held_by_outputs(expected, shape, tolerance.nan)?))
}

/// The declared inputs of a seed, with their expected output, of a reference that the host computes.
pub(super) fn declared_on_host(
    proof: (&ReferenceSpec, &Tolerance),
    shape: &ShapeSpec,
    seed: u64,
) -> Result<CaseDraw, ExpectedOutputError> {
    let asked = (Law::Declared, seed);
    comparable(proof, shape, asked, answered(proof, shape, asked, |_| Err(ExpectedOutputError::NoReference))?, None)
}

/// A draw with its expected output. The tolerance must distinguish that output from the earlier contents of the outputs.
/// `usual` are the magnitudes of the answers to the declared inputs, if these are others.
pub(super) fn comparable(
    (reference, tolerance): (&ReferenceSpec, &Tolerance),
    shape: &ShapeSpec,
    (law, seed): (Law, u64),
    (inputs, expected): (CaseInputs, Vec<ExpectedOutput>),
    usual: Option<&[f64]>,
) -> Result<CaseDraw, ExpectedOutputError> {
    let usual = usual.map_or_else(|| magnitudes(&expected), <[f64]>::to_vec);
    let plain = tolerance.times_error.map(|_| plain_on_host(reference, shape, &inputs.values));
    let plain = plain.transpose()?.flatten();
    let others = other_answers(reference, shape, seed, &inputs.values)?.into_iter();
    let others = others.map(|expected| held_by_outputs(expected, shape, tolerance.nan)).collect::<Result<_, _>>()?;
    let derived = DerivedBound::of((reference, tolerance), shape, law, (&inputs.values, &expected))?;
    // A launch needs only the bytes of its inputs; the values of all laws together would take most of the memory.
    let inputs = CaseInputs { bytes: inputs.bytes, values: Vec::new() };
    let draw = CaseDraw::new(law, inputs, expected, &usual).with_others(shape, others).with_derived(derived);
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

/// A draw of the declared inputs of a seed, for trials of the tolerance.
#[derive(Clone, Copy)]
pub(super) struct TriedDraw<'a> {
    pub(super) proof: (&'a ReferenceSpec, &'a Tolerance),
    pub(super) shape: &'a ShapeSpec,
    pub(super) seed: u64,
    pub(super) draw: &'a CaseDraw,
    /// The seeds of the phase, or those with files if any seed has files.
    pub(super) known: &'a [u64],
}

impl TriedDraw<'_> {
    /// Whether files give the inputs or expected outputs of a seed, so that no other seeds exist.
    fn is_of_files(&self) -> bool {
        let mut buffers = self.shape.buffers.iter();
        matches!(self.proof.0, ReferenceSpec::Npy { .. })
            || buffers.any(|buffer| buffer.init.as_ref().is_some_and(Init::is_of_seed_files))
    }

    /// Seeds at which an answer that the tolerance accepts is tried again.
    pub(super) fn further_seeds(&self) -> Vec<u64> {
        let Self { seed, known, .. } = *self;
        match self.is_of_files() {
            true => known.iter().copied().filter(|known| *known != seed).collect(),
            false => (1..=FURTHER_SEEDS).map(|number| seed.wrapping_add(number.wrapping_mul(SEED_STEP))).collect(),
        }
    }

    /// Tries the tolerance on the null answers that follow from the draw alone and, if the phase has no other seed, on the
    /// expected outputs of a seed outside the phase. Returns the number of rejected answers.
    ///
    /// # Errors
    /// The tolerance accepts a null answer at every seed, most of the expected output is not finite, or a seed has no expected
    /// output.
    pub(super) fn reject_nulls(
        &self,
        mut at_seed: impl FnMut(u64) -> Result<CaseDraw, ExpectedOutputError>,
    ) -> Result<u32, ExpectedOutputError> {
        if let Some((buffer, finite, elements)) = self.draw.mostly_nonfinite() {
            let buffer = self.shape.buffers[buffer].name.clone();
            return Err(ExpectedOutputError::MostlyNonfinite { buffer, finite, elements });
        }
        let judged = !self.shape.checks.is_empty();
        let held = if judged { vec![self.draw.held(self.shape)] } else { Vec::new() };
        if let Some(Defect::Refused { check, reason }) =
            self.draw.refusals(self.shape, &held).into_iter().flatten().next()
        {
            return Err(ExpectedOutputError::Unaccepted { check, reason });
        }
        let mut nulls = self.draw.nulls(self.shape, self.proof.1);
        let (mut other, mut at_start) = (Vec::new(), 0);
        if self.known.len() < 2 && !self.is_of_files() {
            let seed = self.seed.wrapping_add(SEED_STEP);
            let start = first_head_on_host(self.proof.0, self.shape, seed)?;
            if start.is_some_and(|start| self.draw.rejects_start(start, self.shape, self.proof.1)) {
                at_start = 1;
            } else {
                other = at_seed(seed)?.expected;
                nulls.extend(self.draw.nulls_of_other_seeds());
            }
        }
        Ok(self.rejected(nulls, &other, at_seed)? + at_start)
    }

    /// Tries the tolerance on the expected outputs for another seed. Returns the number of rejected answers.
    ///
    /// # Errors
    /// As for [`Self::reject_nulls`].
    pub(super) fn reject_others(
        &self,
        other: &[ExpectedOutput],
        at_seed: impl FnMut(u64) -> Result<CaseDraw, ExpectedOutputError>,
    ) -> Result<u32, ExpectedOutputError> {
        self.rejected(self.draw.nulls_of_other_seeds(), other, at_seed)
    }

    /// The number of `nulls` that the tolerance rejects. At some seeds, the few elements of a small output are close to each
    /// other or to zero. The tolerance therefore proves nothing only if it accepts a null answer at all further seeds too.
    /// These are arbitrary seeds, or the phase's own if a seed has files.
    fn rejected(
        &self,
        nulls: Vec<PlacedNull>,
        other: &[ExpectedOutput],
        mut at_seed: impl FnMut(u64) -> Result<CaseDraw, ExpectedOutputError>,
    ) -> Result<u32, ExpectedOutputError> {
        let Self { proof: (_, tolerance), shape, draw, .. } = *self;
        let (mut accepted, mut rejected) = (Vec::new(), 0);
        let said = draw.said_to_all(&nulls, other, shape, tolerance);
        for (null, said) in nulls.into_iter().zip(said) {
            match said {
                NullOutcome::Accepted => accepted.push(null),
                NullOutcome::Rejected => rejected += 1,
                NullOutcome::Right => {}
            }
        }
        let tried = rejected + accepted.len() as u32;
        let mut draws = Vec::new();
        for further in self.further_seeds() {
            if accepted.is_empty() {
                break;
            }
            let further = at_seed(further)?;
            // For a further seed, the other seed's answer is the answer of this one.
            let said = further.said_to_all(&accepted, &draw.expected, shape, tolerance);
            let mut said = said.into_iter();
            accepted.retain(|_| said.next() != Some(NullOutcome::Rejected));
            draws.push(further);
        }
        let Some((at, null)) = accepted.first() else { return Ok(tried) };
        let output = draw.expected[*at].buffer;
        let is_rejected = |null: &PlacedNull, shape: &ShapeSpec, tolerance: &Tolerance| {
            let rejects =
                |draw: &CaseDraw, other| draw.said_to(*null, other, shape, tolerance) == NullOutcome::Rejected;
            rejects(draw, other) || draws.iter().any(|further| rejects(further, &draw.expected))
        };
        let allclose = draw.yardstick(shape, *at, tolerance).allclose;
        let lower = LowerTolerance::largest((shape, tolerance), allclose, |shape, tolerance| {
            accepted.iter().all(|null| is_rejected(null, shape, tolerance))
        });
        let buffer = shape.buffers[output].name.clone();
        Err(ExpectedOutputError::ProvesNothing { buffer, null: null.name(shape), lower })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ncugate_model::Dtype;
    use ncugate_model::Role;

    use crate::gpu::fixtures::buffer;
    use crate::prove::fixtures::shape;
    use crate::prove::{Builtin, expected_on_host, magnitudes};

    const TOLERANCE: Tolerance = Tolerance {
        max_abs: Some(1e-2),
        rel_l2: None,
        allclose: None,
        times_error: None,
        nan: ncugate_model::NanRule::Refused,
        ill_conditioned: ncugate_model::ConditioningRule::Judged,
    };

    fn draw(values: [f64; 2]) -> CaseDraw {
        let inputs = CaseInputs { bytes: vec![Vec::new()], values: vec![Vec::new()] };
        let expected = vec![ExpectedOutput { buffer: 0, values: values.to_vec() }];
        let usual = magnitudes(&expected);
        CaseDraw::new(Law::Declared, inputs, expected, &usual)
    }

    /// The outcome of two answers close to each other at seed 3, and the requested seeds; `answers` gives the answers of
    /// further seeds.
    fn tried(reference: &ReferenceSpec, answers: &dyn Fn(u64) -> [f64; 2]) -> (Option<String>, Vec<u64>) {
        let shape = shape(vec![buffer("lse", Dtype::F32, &[2], Role::Output)]);
        let mut asked = Vec::new();
        let draw = draw([2.001, 2.0]);
        let tried = TriedDraw { proof: (reference, &TOLERANCE), shape: &shape, seed: 3, draw: &draw, known: &[3, 4] };
        let outcome = tried.reject_nulls(|seed| {
            asked.push(seed);
            Ok(self::draw(answers(seed)))
        });
        (outcome.err().map(|error| error.to_string()), asked)
    }

    #[test]
    fn answers_that_are_near_one_another_at_one_seed_do_not_speak_against_a_tolerance() {
        let (error, asked) = tried(&ReferenceSpec::None, &|_| [1.0, -1.0]);
        assert_eq!((error, asked.len()), (None, 1));
        let (error, asked) = tried(&ReferenceSpec::None, &|_| [0.5, 0.499]);
        let error = error.unwrap();
        assert!(error.contains("`lse`: it accepts the mean everywhere"), "{error}");
        assert!(error.contains("at most `max_abs = 5e-4` rejects the wrong answers that were tried"), "{error}");
        assert_eq!(asked.len() as u64, FURTHER_SEEDS);
        let (error, _) = tried(&ReferenceSpec::None, &|_| [0.5, 0.5]);
        assert!(error.is_some(), "an answer that is its mean does not speak for one either");
    }

    #[test]
    fn the_start_of_another_seeds_output_suffices_if_the_tolerance_rejects_it() {
        let input = |name| buffer(name, Dtype::F16, &[1, 2, 512, 96], Role::Input);
        let output = buffer("o", Dtype::F16, &[1, 2, 512, 96], Role::Output);
        let shape = shape(vec![input("q"), input("k"), input("v"), output]);
        let reference = ReferenceSpec::Builtin(Builtin::parse("sdpa", &[]).unwrap());
        let at_seed = |seed| {
            let inputs = CaseInputs::under(Law::Declared, &reference, &shape, seed)?;
            let expected = expected_on_host(&reference, &shape, seed, &inputs.values)?.unwrap();
            let usual = magnitudes(&expected);
            Ok(CaseDraw::new(Law::Declared, inputs, expected, &usual))
        };
        let draw = at_seed(3).unwrap();
        let tried = |max_abs| {
            let tolerance = Tolerance { max_abs: Some(max_abs), ..TOLERANCE };
            let tried = TriedDraw { proof: (&reference, &tolerance), shape: &shape, seed: 3, draw: &draw, known: &[3] };
            let mut asked = 0;
            let rejected = tried.reject_nulls(|seed| {
                asked += 1;
                at_seed(seed)
            });
            (rejected.map_err(|error| error.to_string()), asked)
        };
        assert_eq!(tried(1e-3), (Ok(7), 0), "zeros, mean, off by 1 %, three inputs and another seed");
        let (error, asked) = tried(10.0);
        assert!(error.unwrap_err().contains("too wide") && asked > 1, "{asked}");
    }

    #[test]
    fn where_a_seed_has_files_those_of_the_phase_are_asked() {
        let files = ReferenceSpec::Npy { path: "answer.npy".to_owned() };
        let (error, asked) = tried(&files, &|seed| if seed == 4 { [1.0, -1.0] } else { [1.001, 1.0] });
        assert_eq!((error, asked), (None, vec![4]));
        assert!(tried(&files, &|_| [1.001, 1.0]).0.is_some());
    }

    #[test]
    fn a_phase_of_one_seed_is_tried_on_the_answer_of_another() {
        let shape = shape(vec![buffer("lse", Dtype::F32, &[2], Role::Output)]);
        let draw = draw([1.0, 2.0]);
        let tried =
            TriedDraw { proof: (&ReferenceSpec::None, &TOLERANCE), shape: &shape, seed: 3, draw: &draw, known: &[3] };
        let error = tried.reject_nulls(|_| Ok(self::draw([1.001, 2.0]))).unwrap_err().to_string();
        assert!(error.contains("another seed's output"), "{error}");
        assert!(tried.reject_nulls(|_| Ok(self::draw([1.5, 2.0]))).unwrap() >= 4);
    }
}
