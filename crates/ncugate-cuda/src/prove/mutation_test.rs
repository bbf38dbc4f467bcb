//! The mutation test of a tolerance: its outcomes for the mutants of a built-in reference, at one shape.

use super::conditioning::DerivedBound;
use super::draw::{CaseDraw, case_outcome, magnitudes};
use super::expected::{
    ExpectedOutput, ExpectedOutputError, ReferenceSpec, expected_on_host, held_by_outputs, plain_on_host,
};
use super::inputs::CaseInputs;
use super::lower_tolerance::LowerTolerance;
use super::mutant::Mutant;
use super::null_answer::{NullAnswer, NullOutcome, PlacedNull};
use super::reference::BoundBuiltin;
use super::shape::ShapeSpec;
use ncugate_model::{CheckOutcome, Differences, Law, MutantKind, MutantOutcome, Tolerance};

/// The draws of one seed at a shape, and the answers of another seed.
#[derive(Debug)]
pub struct MutationTest<'a> {
    shape: &'a ShapeSpec,
    tolerance: &'a Tolerance,
    builtin: BoundBuiltin,
    /// Each draw with the right answer to the inputs of another seed.
    draws: Vec<(CaseDraw, Vec<f64>)>,
}

impl<'a> MutationTest<'a> {
    /// Draws the inputs of a seed under laws; `None` if the reference is not built in.
    ///
    /// # Errors
    /// The reference does not fit the shape, or has NaN.
    pub fn new(
        reference: &ReferenceSpec,
        shape: &'a ShapeSpec,
        seed: u64,
        laws: &[Law],
        tolerance: &'a Tolerance,
    ) -> Result<Option<Self>, ExpectedOutputError> {
        let ReferenceSpec::Builtin(builtin) = reference else { return Ok(None) };
        let builtin = builtin.bind(shape)?;
        let answered = |law, seed| -> Result<(CaseInputs, Vec<ExpectedOutput>), ExpectedOutputError> {
            let inputs = CaseInputs::under(law, reference, shape, seed)?;
            let expected = expected_on_host(reference, shape, seed, &inputs.values)?.unwrap_or_default();
            Ok((inputs, held_by_outputs(expected, shape, tolerance.nan)?))
        };
        let usual = magnitudes(&answered(Law::Declared, seed)?.1);
        let draw = |law: &Law| {
            let (inputs, expected) = answered(*law, seed)?;
            let other = answered(*law, seed.wrapping_add(1))?.1.pop().map_or_else(Vec::new, |output| output.values);
            let plain = tolerance.times_error.map(|_| plain_on_host(reference, shape, &inputs.values));
            let proof = (reference, tolerance);
            let derived = DerivedBound::of(proof, shape, *law, (&inputs.values, &expected))?;
            let draw = CaseDraw::new(*law, inputs, expected, &usual).with_derived(derived);
            Ok(match plain.transpose()?.flatten() {
                Some(plain) => (draw.with_plain(shape, &plain), other),
                None => (draw, other),
            })
        };
        let draws = laws.iter().map(draw).collect::<Result<Vec<_>, ExpectedOutputError>>()?;
        Ok(Some(Self { shape, tolerance, builtin, draws }))
    }

    /// The output whose content before a launch the tolerance accepts; see [`CaseDraw::unmoved`].
    pub fn unmoved(&self) -> Option<&str> {
        let declared = self.draws.iter().find(|(draw, _)| draw.law == Law::Declared);
        declared.and_then(|(draw, _)| draw.unmoved(self.shape, self.tolerance))
    }

    /// The names of null answers to the declared inputs that the tolerance accepts, and the largest tolerance that accepts
    /// none.
    pub fn accepted_nulls(&self) -> (Vec<String>, Option<LowerTolerance>) {
        let accepted = self.accepted_by(self.shape, self.tolerance);
        let rejects = |shape: &ShapeSpec, tolerance: &Tolerance| self.accepted_by(shape, tolerance).is_empty();
        let lower = match accepted.is_empty() {
            true => None,
            false => LowerTolerance::largest(
                (self.shape, self.tolerance),
                self.draws.first().and_then(|(draw, _)| draw.yardstick(self.shape, 0, self.tolerance).allclose),
                rejects,
            ),
        };
        (accepted, lower)
    }

    fn accepted_by(&self, shape: &ShapeSpec, tolerance: &Tolerance) -> Vec<String> {
        let is_accepted = |mutant: &Mutant| {
            mutant.standing == MutantKind::Null
                && matches!(self.judge_by(mutant, shape, tolerance), MutantOutcome::Accepted { .. })
        };
        let mutants = self.mutants().into_iter().filter(is_accepted).map(|mutant| mutant.name.to_owned());
        mutants.chain(self.accepted_inputs(shape, tolerance)).collect()
    }

    /// Inputs that a tolerance accepts as the answer to the declared inputs.
    fn accepted_inputs(&self, shape: &ShapeSpec, tolerance: &Tolerance) -> Vec<String> {
        let declared = self.draws.iter().find(|(draw, _)| draw.law == Law::Declared);
        let Some((draw, _)) = declared else { return Vec::new() };
        let nulls = draw.nulls(shape, tolerance).into_iter();
        let inputs = nulls.filter(|(_, null)| matches!(null, NullAnswer::Input(_)));
        let is_accepted = |null: &PlacedNull| draw.said_to(*null, &[], shape, tolerance) == NullOutcome::Accepted;
        inputs.filter(is_accepted).map(|(_, null)| null.name(shape)).collect()
    }

    /// The mutants of its reference.
    pub fn mutants(&self) -> Vec<Mutant> {
        Mutant::all(&self.builtin)
    }

    /// The tolerance's outcome for the answers of a mutant.
    pub fn judge(&self, mutant: &Mutant) -> MutantOutcome {
        self.judge_by(mutant, self.shape, self.tolerance)
    }

    fn judge_by(&self, mutant: &Mutant, shape: &ShapeSpec, tolerance: &Tolerance) -> MutantOutcome {
        let answers = self.draws.iter().filter_map(|(draw, other)| {
            let values = mutant.answer(&self.builtin, shape, draw, other)?;
            let answer = ExpectedOutput { buffer: self.builtin.output(), values };
            Some(draw.compare(shape, &[answer], tolerance))
        });
        let results: Vec<_> = answers.collect();
        if results.is_empty() {
            return MutantOutcome::Equivalent;
        }
        match case_outcome(results, tolerance) {
            CheckOutcome::Correct { differences } => MutantOutcome::Accepted { differences },
            CheckOutcome::Wrong { differences, reason, .. } => MutantOutcome::Rejected { differences, reason },
            CheckOutcome::Crashed { reason } | CheckOutcome::Skipped { reason } => {
                MutantOutcome::Rejected { differences: Differences::default(), reason }
            }
        }
    }
}
