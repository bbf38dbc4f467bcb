//! Functions of the phase that judge outputs.

use super::draw::{CaseDraw, as_held};
use super::expected::ExpectedOutput;
use super::inputs::CaseInputs;
use super::partial;
use super::reference::verdicts;
use super::reference_time::ReferenceTimer;
use super::shape::ShapeSpec;
use ncugate_model::Defect;

impl CaseDraw {
    /// Why a function of the phase refuses each set of outputs; `None` if none does. A function that fails refuses all sets.
    pub fn refusals(&self, shape: &ShapeSpec, answers: &[Vec<ExpectedOutput>]) -> Vec<Option<Defect>> {
        let mut refusals: Vec<Option<Defect>> = vec![None; answers.len()];
        if shape.checks.is_empty() || answers.is_empty() {
            return refusals;
        }
        let _timer = ReferenceTimer::start();
        let inputs = CaseInputs::decoded(shape, &self.inputs.bytes);
        for check in &shape.checks {
            let name = check.program.program.to_string();
            let refused = |reason: String| Some(Defect::Refused { check: name.clone(), reason });
            match verdicts(&check.program, &check.python, shape, &inputs, (&self.expected, answers)) {
                Ok(said) => {
                    for (refusal, reason) in refusals.iter_mut().zip(said).filter(|(_, reason)| !reason.is_empty()) {
                        *refusal = refusal.take().or_else(|| refused(reason));
                    }
                }
                Err(error) => refusals.iter_mut().for_each(|refusal| {
                    *refusal = refusal.take().or_else(|| refused(error.to_string()));
                }),
            }
        }
        refusals
    }

    /// The expected outputs with other values for one of them, as its dtype holds them.
    pub fn with_output(&self, shape: &ShapeSpec, at: usize, values: Vec<f64>) -> Vec<ExpectedOutput> {
        let mut answers = self.held(shape);
        let dtype = shape.buffers[answers[at].buffer].dtype;
        answers[at].values = as_held(dtype, &values);
        answers
    }

    /// The expected outputs as their dtypes hold them.
    pub fn held(&self, shape: &ShapeSpec) -> Vec<ExpectedOutput> {
        let held = |&ExpectedOutput { buffer, ref values }: &ExpectedOutput| ExpectedOutput {
            buffer,
            values: partial::held(&shape.buffers[buffer], values),
        };
        self.expected.iter().map(held).collect()
    }
}
