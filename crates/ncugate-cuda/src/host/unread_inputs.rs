//! Inputs that a kernel need not read: the tolerance accepts the expected outputs for another content of them.

use super::case_draw::{TriedDraw, comparable};
use crate::gpu::BufferSpec;
use crate::prove::{
    CaseDraw, CaseInputs, ExpectedOutput, ExpectedOutputError, NullOutcome, ReferenceSpec, ReplacedPart, ShapeSpec,
    held_by_outputs, replaced,
};
use ncugate_model::{Law, NanRule};
use ncugate_phase::config::Init;

/// Smallest share of the bytes of all inputs that an input must have to be refused if nothing depends on it. A kernel
/// gains little by not reading a smaller one, such as an epsilon.
const LEAST_SHARE: f64 = 0.1;
/// Distance between the seed of a draw and the seed of what replaces a part of it.
const REPLACEMENT: u64 = 0x2545_f491_4f6c_dd1d;

impl TriedDraw<'_> {
    /// Replaces a random tenth of each drawn input by another seed's, then a half, then all of it, until the tolerance
    /// rejects the new outputs as an answer to the old inputs. `answer` gives the reference's outputs for a seed and the bytes of inputs. Returns a sentence
    /// for each input that a kernel need not read completely.
    ///
    /// # Errors
    /// The tolerance accepts the outputs for another draw of a whole input with a large share of the bytes, at every seed.
    pub(super) fn unread_inputs(
        &self,
        mut answer: impl FnMut(u64, &[Vec<u8>]) -> Result<Vec<ExpectedOutput>, ExpectedOutputError>,
    ) -> Result<Vec<String>, ExpectedOutputError> {
        if matches!(self.proof.0, ReferenceSpec::Npy { .. }) {
            // Files have no expected outputs for other inputs.
            return Ok(Vec::new());
        }
        let mut draws = vec![self.draw.clone()];
        let mut sentences = Vec::new();
        for (buffer, spec) in self.shape.buffers.iter().enumerate().filter(|(_, spec)| spec.role.is_read()) {
            let mut unread = None;
            for part in spec.init.as_ref().map_or(&[][..], ReplacedPart::of) {
                match self.said_to_replaced((buffer, *part), &mut draws, &mut answer)? {
                    Some(NullOutcome::Rejected) => break,
                    Some(NullOutcome::Accepted) => unread = Some(*part),
                    // The reference itself ignores the input at this shape, or no draw changes.
                    Some(NullOutcome::Right) | None => {}
                }
            }
            let name = &spec.name;
            match unread {
                Some(ReplacedPart::Whole) if is_refused(self.shape, spec) => {
                    return Err(ExpectedOutputError::Unread { buffer: name.clone() });
                }
                Some(ReplacedPart::Whole) => sentences.push(format!(
                    "the answer does not depend on `{name}`: a kernel that never reads it passes at shape '{}'",
                    self.shape.name
                )),
                Some(part) => sentences.push(format!(
                    "a kernel that does not read {} of `{name}` passes at shape '{}': the tolerance accepts its answer",
                    if part == ReplacedPart::Half { "half" } else { "a tenth" },
                    self.shape.name
                )),
                None => {}
            }
        }
        Ok(sentences)
    }

    /// The tolerance's outcome for an input with a replaced part: rejected if it is at any seed, accepted if it is at one;
    /// `None` if no draw changes.
    fn said_to_replaced(
        &self,
        (buffer, part): (usize, ReplacedPart),
        draws: &mut Vec<CaseDraw>,
        answer: &mut impl FnMut(u64, &[Vec<u8>]) -> Result<Vec<ExpectedOutput>, ExpectedOutputError>,
    ) -> Result<Option<NullOutcome>, ExpectedOutputError> {
        let (shape, tolerance) = (self.shape, self.proof.1);
        let mut said = None;
        for (at, seed) in std::iter::once(self.seed).chain(self.further_seeds()).enumerate() {
            if at == draws.len() {
                draws.push(self.answered(seed, answer)?);
            }
            let (draw, spec, other) = (&mut draws[at], &shape.buffers[buffer], seed.wrapping_add(REPLACEMENT));
            let Some(new) = replaced(shape, spec, &draw.inputs.bytes[buffer], part, other) else { continue };
            let old = std::mem::replace(&mut draw.inputs.bytes[buffer], new);
            // A reference that cannot be computed for them depends on them.
            let answers = answer(seed, &draw.inputs.bytes);
            draw.inputs.bytes[buffer] = old;
            let answers = answers.and_then(|answers| held_by_outputs(answers, shape, NanRule::Allowed));
            let outcome = answers.map_or(NullOutcome::Rejected, |held| draw.said_to_answers(&held, shape, tolerance));
            match outcome {
                NullOutcome::Rejected => return Ok(Some(outcome)),
                NullOutcome::Accepted => said = Some(outcome),
                NullOutcome::Right => said = said.or(Some(outcome)),
            }
        }
        Ok(said)
    }

    fn answered(
        &self,
        seed: u64,
        answer: &mut impl FnMut(u64, &[Vec<u8>]) -> Result<Vec<ExpectedOutput>, ExpectedOutputError>,
    ) -> Result<CaseDraw, ExpectedOutputError> {
        let inputs = CaseInputs::draw(self.shape, seed)?;
        let held = held_by_outputs(answer(seed, &inputs.bytes)?, self.shape, self.proof.1.nan)?;
        comparable(self.proof, self.shape, (Law::Declared, seed), (inputs, held), None)
    }
}

/// Whether an input without influence is an error: it has many of the bytes, and its values are no mask, whose few
/// entries may rightly matter little. A file may hold one.
fn is_refused(shape: &ShapeSpec, input: &BufferSpec) -> bool {
    let read = shape.buffers.iter().filter(|buffer| buffer.role.is_read()).map(BufferSpec::bytes).sum::<usize>();
    let is_masked = matches!(
        input.init,
        Some(Init::Mask { .. } | Init::OneHot | Init::RowPointers { .. } | Init::Npy { .. } | Init::Redrawn { .. })
    );
    !is_masked && input.bytes() as f64 >= LEAST_SHARE * read as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gpu::fixtures::buffer;
    use crate::prove::fixtures::shape;
    use ncugate_model::{Dtype, Role, Tolerance};

    const NORMAL: Init = Init::Normal { mean: 0.0, std: 1.0 };

    fn input(name: &str, len: usize, init: Init) -> BufferSpec {
        BufferSpec { init: Some(init), ..buffer(name, Dtype::F32, &[len], Role::Input) }
    }

    /// The outcome for a function of inputs `u` and `x` with 256 elements, and the number of its calls.
    fn tried(
        (u, x): (Init, BufferSpec),
        tolerance: Tolerance,
        function: impl Fn(&[f64], &[f64]) -> Vec<f64>,
    ) -> (Result<Vec<String>, String>, usize) {
        let output = buffer("y", Dtype::F32, &[256], Role::Output);
        let shape = shape(vec![input("u", 256, u), x, output]);
        let mut calls = 0;
        let mut answer = |_, inputs: &[Vec<u8>]| {
            calls += 1;
            let values = CaseInputs::decoded(&shape, inputs);
            Ok(vec![ExpectedOutput { buffer: 2, values: function(&values[0], &values[1]) }])
        };
        let inputs = CaseInputs::draw(&shape, 3).unwrap();
        let expected = answer(3, &inputs.bytes).unwrap();
        let usual = crate::prove::magnitudes(&expected);
        let draw = CaseDraw::new(Law::Declared, inputs, expected, &usual);
        let proof = (&ReferenceSpec::None, &tolerance);
        let tried = TriedDraw { proof, shape: &shape, seed: 3, draw: &draw, known: &[3, 4] };
        (tried.unread_inputs(answer).map_err(|error| error.to_string()), calls - 1)
    }

    fn within(share: f64) -> Tolerance {
        Tolerance { rel_l2: Some(share), ..Tolerance::default() }
    }

    fn scaled(u: &[f64], by: f64) -> Vec<f64> {
        u.iter().map(|u| u * by).collect()
    }

    fn mean(x: &[f64]) -> f64 {
        x.iter().sum::<f64>() / x.len() as f64
    }

    #[test]
    fn inputs_that_matter_cost_one_call_each() {
        let x = input("x", 256, NORMAL);
        let sum = |u: &[f64], x: &[f64]| u.iter().zip(x).map(|(u, x)| u + x).collect();
        assert_eq!(tried((NORMAL, x), within(0.01), sum), (Ok(Vec::new()), 2));
    }

    #[test]
    fn an_input_of_which_only_the_mean_counts_is_refused() {
        let x = || input("x", 256, Init::Normal { mean: 2.0, std: 0.01 });
        let by_mean = |u: &[f64], x: &[f64]| scaled(u, mean(x));
        let (error, _) = tried((NORMAL, x()), within(0.01), by_mean);
        assert!(error.unwrap_err().starts_with("the answer does not depend on input `x`"));
        assert_eq!(tried((NORMAL, x()), within(1e-7), by_mean).0, Ok(Vec::new()));
    }

    #[test]
    fn an_input_that_need_not_be_read_completely_is_listed() {
        let x = input("x", 256, NORMAL);
        let sum = |u: &[f64], x: &[f64]| u.iter().zip(x).map(|(u, x)| u + x).collect();
        let (listed, _) = tried((NORMAL, x), within(0.8), sum);
        let listed = listed.unwrap();
        assert_eq!(listed.len(), 2, "{listed:?}");
        assert!(listed[0].starts_with("a kernel that does not read half of `u` passes"), "{listed:?}");
    }

    #[test]
    fn a_small_input_and_a_mask_are_listed_and_one_that_the_reference_ignores_is_not() {
        let first = |u: &[f64], x: &[f64]| scaled(u, 1.0 + x[0]);
        let epsilon = input("x", 1, Init::Uniform { low: 1e-6, high: 1e-5 });
        let listed = |listed: Result<Vec<String>, String>| {
            let listed = listed.unwrap();
            assert_eq!(listed.len(), 1, "{listed:?}");
            assert!(listed[0].starts_with("the answer does not depend on `x`"), "{listed:?}");
        };
        listed(tried((NORMAL, epsilon), within(0.01), first).0);
        let masked = |u: &[f64], x: &[f64]| u.iter().zip(x).map(|(u, x)| u * (1.0 - 1e-3 * x)).collect();
        listed(tried((NORMAL, input("x", 256, Init::Mask { density: 0.01 })), within(0.01), masked).0);
        assert_eq!(tried((NORMAL, input("x", 256, NORMAL)), within(0.01), |u, _| u.to_vec()).0, Ok(Vec::new()));
    }

    #[test]
    fn constants_are_not_replaced_and_a_rare_dependence_is_found_at_a_further_seed() {
        let x = input("x", 256, Init::Constant { value: 1.0 });
        assert_eq!(tried((NORMAL, x), within(0.01), |u, _| u.to_vec()), (Ok(Vec::new()), 1));
        let rare = |u: &[f64], x: &[f64]| scaled(u, if x[..20].iter().any(|x| *x > 2.0) { 2.0 } else { 1.0 });
        assert_eq!(tried((NORMAL, input("x", 256, NORMAL)), within(0.01), rare).0, Ok(Vec::new()));
    }
}
