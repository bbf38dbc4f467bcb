//! Expected outputs of large attention, computed on the device before it runs any code of a variant: on the host they take most
//! of the time of a run.

use super::case_draw::comparable;
use super::event::WorkerEvent;
use super::hidden_draws::{bytes_of, cases, most_bytes, seeds};
use super::shared_outputs::{file_of, read_or};
use super::worker::{WorkError, Worker};
use crate::gpu::AttentionKernels;
use crate::prove::{
    Builtin, CaseInputs, ExpectedOutput, ExpectedOutputError, ReferenceSpec, ShapeSpec, expected_on_device,
    expected_on_host, held_by_outputs,
};
use crate::time::TimingSettings;
use ncugate_model::{AllClose, BoundUnit, ConditioningRule, Law};
use std::time::Instant;

/// Least number of multiplications of a reference that the device computes; the host takes about 50 ms for it.
const LEAST_WORK: f64 = 1e10;

impl Worker<'_> {
    /// Computes the expected outputs of large attention, checked and hidden, as far as the memory allows.
    pub(super) fn answer_on_device(&mut self, settings: &TimingSettings) -> Result<(), WorkError> {
        let ReferenceSpec::Builtin(builtin @ Builtin::Sdpa { .. }) = self.job.reference.clone() else { return Ok(()) };
        // Evaluations of a tolerance need values that are too large to keep.
        let tolerance = self.job.tolerance;
        if tolerance.times_error.is_some() || tolerance.ill_conditioned != ConditioningRule::Judged {
            return Ok(());
        }
        let is_derived = |bound: AllClose| bound.unit == BoundUnit::Derived;
        let is_large = |spec: &&ShapeSpec| {
            builtin.bind(spec).is_ok_and(|bound| {
                bound.work(spec) >= LEAST_WORK && !spec.allclose(bound.output(), &tolerance).is_some_and(is_derived)
            })
        };
        let shapes: Vec<ShapeSpec> = self.job.shapes.iter().filter(is_large).cloned().collect();
        if shapes.is_empty() {
            return Ok(());
        }
        let Ok(kernels) = AttentionKernels::new(&self.device) else { return Ok(()) };
        let mut left = most_bytes();
        for spec in shapes {
            let is_timed = self.wanted_at(&spec).into_iter().any(|at| self.job.kernels[at].unverified.is_none());
            let seeds = seeds(&spec, settings, self.device.attributes().l2_bytes);
            let asked = |seed: &u64| {
                let mut cases = self.job.kernels.iter().flat_map(|kernel| &kernel.cases);
                cases.any(|case| case.shape == spec.name && case.seed == *seed)
            };
            let checked = self.job.seeds.iter().copied().filter(asked);
            let checked: Vec<(u64, Law)> = checked
                .flat_map(|seed| self.job.laws.of(&spec.name, seed).into_iter().map(move |law| (seed, law)))
                .collect();
            let draws = checked.len() + if is_timed { seeds.len() } else { 0 };
            let Some(rest) = left.checked_sub(bytes_of(&spec) * draws) else { continue };
            left = rest;
            for (seed, law) in checked {
                self.reporter.report(&WorkerEvent::Preparing { shape: spec.name.clone(), seed })?;
                let answered = self.answered_on_device(&kernels, &spec, (seed, law));
                let answered = answered.map(|(inputs, held)| (CaseInputs { values: Vec::new(), ..inputs }, held));
                self.answers.insert((spec.name.clone(), seed, law), answered);
            }
            if let (true, Some(&seed)) = (is_timed, seeds.first()) {
                self.reporter.report(&WorkerEvent::Preparing { shape: spec.name.clone(), seed })?;
                let proof = (&self.job.reference, &tolerance);
                let hidden = read_or(file_of(&self.job.shared, &spec), proof, (&spec, seeds), || {
                    cases(&spec, seeds, Instant::now(), |seed| {
                        let answered = self.answered_on_device(&kernels, &spec, (seed, Law::Declared))?;
                        comparable(proof, &spec, (Law::Declared, seed), answered, None)
                    })
                });
                self.hidden.insert(spec.name.clone(), hidden);
            }
        }
        Ok(())
    }

    fn answered_on_device(
        &self,
        kernels: &AttentionKernels,
        shape: &ShapeSpec,
        (seed, law): (u64, Law),
    ) -> Result<(CaseInputs, Vec<ExpectedOutput>), ExpectedOutputError> {
        let reference = &self.job.reference;
        let inputs = CaseInputs::under(law, reference, shape, seed)?;
        let expected = match expected_on_device((&self.device, kernels), reference, shape, &inputs.values)? {
            Some(expected) => Some(expected),
            None => expected_on_host(reference, shape, seed, &inputs.values)?,
        };
        let expected = expected.ok_or(ExpectedOutputError::NoReference)?;
        Ok((inputs, held_by_outputs(expected, shape, self.job.tolerance.nan)?))
    }
}
