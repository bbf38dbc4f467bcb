//! The worker's correctness cases.

use super::case_draw::{TriedDraw, answered, comparable};
use super::event::{WorkerEvent, WorkerTask};
use super::hidden_draws::at_once;
use super::job::JobKernel;
use super::worker::{DeviceLoss, WorkError, Worker};
use crate::gpu::DeviceError;
use crate::prove::{
    CaseDraw, CaseInputs, CheckBuffers, ExpectedOutput, ExpectedOutputError, ReferenceSpec, ShapeSpec, case_outcome,
    expected_on_host, magnitudes, perturbed,
};
use ncugate_model::{CheckOutcome, CheckRecord, Law};
use std::collections::HashMap;
use std::ops::ControlFlow;

/// A shape being checked.
struct CheckedShape<'s> {
    spec: &'s ShapeSpec,
    buffers: CheckBuffers,
    /// Magnitudes of the answers to the declared inputs, once known.
    usual: Option<Vec<f64>>,
    tried: ToleranceTrial,
    /// Answers of a program that were computed together, by seed and law.
    answers: HashMap<(u64, Law), AnsweredInputs>,
}

pub(super) type AnsweredInputs = Result<(CaseInputs, Vec<ExpectedOutput>), ExpectedOutputError>;

/// Maximum number of elements in the buffers of all draws whose answers are computed together.
const MOST_ELEMENTS: usize = 1 << 26;

/// Progress of the trials of the tolerance on wrong answers at a shape.
enum ToleranceTrial {
    No,
    /// On all wrong answers except another seed's; holds the answers to the declared inputs of this seed.
    OnOne(Vec<ExpectedOutput>),
    OnAll,
}

impl Worker<'_> {
    /// Runs every pending case, shape by shape and seed by seed, so that inputs and reference are computed once.
    pub(super) fn check(&mut self) -> Result<ControlFlow<DeviceLoss>, WorkError> {
        for spec in self.job.shapes.clone() {
            if !self.job.kernels.iter().any(|k| k.cases.iter().any(|c| c.shape == spec.name)) {
                continue;
            }
            let buffers = CheckBuffers::allocate(&self.device, &spec.buffers);
            let buffers = buffers.map_err(|source| WorkError::buffers(&spec, source))?;
            let answers = self.answers(&spec)?;
            let mut shape = CheckedShape { spec: &spec, buffers, usual: None, tried: ToleranceTrial::No, answers };
            for seed in self.job.seeds.clone() {
                if let lost @ ControlFlow::Break(_) = self.check_seed(&mut shape, seed)? {
                    return Ok(lost);
                }
            }
        }
        Ok(ControlFlow::Continue(()))
    }

    /// The answers of a reference program for all draws of a shape.
    fn answers(&mut self, spec: &ShapeSpec) -> Result<HashMap<(u64, Law), AnsweredInputs>, WorkError> {
        let is_pending = |seed: &u64| {
            let mut cases = self.job.kernels.iter().flat_map(|kernel| &kernel.cases);
            cases.any(|case| case.shape == spec.name && case.seed == *seed)
        };
        let seeds = self.job.seeds.iter().copied().filter(is_pending);
        let draws: Vec<_> =
            seeds.flat_map(|seed| self.job.laws.of(&spec.name, seed).into_iter().map(move |law| (seed, law))).collect();
        let is_program = matches!(self.job.reference, ReferenceSpec::Program { .. });
        let Some((seed, _)) = draws.first().filter(|_| is_program && draws.len() * spec.elements() <= MOST_ELEMENTS)
        else {
            return Ok(HashMap::new());
        };
        self.reporter.report(&WorkerEvent::Preparing { shape: spec.name.clone(), seed: *seed })?;
        let (reference, tolerance) = (&self.job.reference, &self.job.tolerance);
        let answers = at_once(&draws, |&(seed, law)| {
            answered((reference, tolerance), spec, (law, seed), |_| Err(ExpectedOutputError::NoReference))
        });
        Ok(draws.into_iter().zip(answers).collect())
    }

    fn check_seed(&mut self, shape: &mut CheckedShape<'_>, seed: u64) -> Result<ControlFlow<DeviceLoss>, WorkError> {
        let name = shape.spec.name.clone();
        let asked = |k: &JobKernel| k.cases.iter().any(|c| c.shape == name && c.seed == seed);
        let pending: Vec<usize> = (0..self.job.kernels.len()).filter(|&i| asked(&self.job.kernels[i])).collect();
        if pending.is_empty() {
            return Ok(ControlFlow::Continue(()));
        }
        self.reporter.report(&WorkerEvent::Preparing { shape: name.clone(), seed })?;
        let mut draws: Vec<CaseDraw> = Vec::new();
        for law in self.job.laws.of(&name, seed) {
            let draw = self.draw(shape, seed, law);
            if self.is_unsuited(shape.spec, law, &draws, &draw) {
                let reason = format!(
                    "inputs under the law `{law}` are not checked at shape '{name}': the reference has no outputs in range for them"
                );
                self.reporter.report(&WorkerEvent::Weakened { reason })?;
                continue;
            }
            draws.push(draw.map_err(|error| WorkError::reference(&name, seed, &error))?);
        }
        let declared = draws.iter().find(|draw| draw.law == Law::Declared);
        // The first record of the shape and seed carries the number of rejected null answers.
        let mut nulls = match declared {
            Some(draw) => {
                let failed = |error| WorkError::reference(&name, seed, &error);
                for reason in self.unread_inputs(shape, seed, draw).map_err(failed)? {
                    self.reporter.report(&WorkerEvent::Weakened { reason })?;
                }
                self.try_tolerance(shape, seed, draw).map_err(failed)?
            }
            None => 0,
        };
        if let [only] = draws.as_slice() {
            shape.buffers.prepare(shape.spec, &only.inputs.bytes);
        }
        for index in pending {
            if let lost @ ControlFlow::Break(_) =
                self.check_case(index, shape, seed, (&draws, std::mem::take(&mut nulls)))?
            {
                return Ok(lost);
            }
        }
        Ok(ControlFlow::Continue(()))
    }

    /// Whether a law that the phase does not ask for is left out: the reference, which is not built in, cannot be computed
    /// for its inputs, or its outputs are out of range. `draws` are those of earlier laws, the declared one first.
    fn is_unsuited(
        &self,
        shape: &ShapeSpec,
        law: Law,
        draws: &[CaseDraw],
        draw: &Result<CaseDraw, ExpectedOutputError>,
    ) -> bool {
        let is_called = matches!(self.job.reference, ReferenceSpec::Entry { .. } | ReferenceSpec::Program { .. });
        if law == Law::Declared || !is_called || !self.job.laws.are_suited() {
            return false;
        }
        let Some(declared) = draws.first() else { return false };
        match draw {
            Ok(draw) => draw.exceeds(declared, shape),
            Err(error) => matches!(
                error,
                ExpectedOutputError::Nan { .. }
                    | ExpectedOutputError::TooLarge { .. }
                    | ExpectedOutputError::Program(_)
            ),
        }
    }

    /// Runs one case and reports it.
    fn check_case(
        &mut self,
        index: usize,
        shape: &mut CheckedShape<'_>,
        seed: u64,
        (draws, nulls): (&[CaseDraw], u32),
    ) -> Result<ControlFlow<DeviceLoss>, WorkError> {
        let variant = self.job.kernels[index].variant.clone();
        if self.job.kernels[index].function.is_some() {
            // Imports take no time of the variant.
            self.report_software()?;
        }
        self.started(&variant, shape.spec, WorkerTask::Check { seed })?;
        let (outcome, crash) = match self.launch_case(index, shape, draws) {
            Ok(outcome) => (outcome, None),
            Err(error @ DeviceError::Absent(_)) => (CheckOutcome::Skipped { reason: error.to_string() }, None),
            Err(error) => (CheckOutcome::Crashed { reason: error.to_string() }, Some(error.to_string())),
        };
        let record = CheckRecord { variant: variant.clone(), shape: shape.spec.name.clone(), seed, outcome, nulls };
        self.job.settle_check(&record);
        self.reporter.report(&WorkerEvent::Checked(record))?;
        match crash {
            Some(reason) => self.probe_device(&variant, &reason),
            None => Ok(ControlFlow::Continue(())),
        }
    }

    /// Launches a case on each of its draws. If there is only one, the buffers already hold its inputs.
    fn launch_case(
        &mut self,
        index: usize,
        shape: &mut CheckedShape<'_>,
        draws: &[CaseDraw],
    ) -> Result<CheckOutcome, DeviceError> {
        let program = self.program(index, shape.spec)?;
        self.load(index)?;
        let loaded = self.loaded[&self.job.kernels[index].variant].as_ref().map_err(Clone::clone)?;
        let extents = self.job.kernels[index].extents_at(&shape.spec.name);
        let mut results = Vec::new();
        for draw in draws {
            if draws.len() > 1 {
                shape.buffers.prepare(shape.spec, &draw.inputs.bytes);
            }
            let buffers = &mut shape.buffers;
            results.push(buffers.launch_draw(
                &self.device,
                (loaded, &program),
                (shape.spec, &extents),
                draw,
                &self.job.tolerance,
            )?);
        }
        Ok(case_outcome(results, &self.job.tolerance))
    }

    /// The inputs of a seed under a law, with their expected output.
    fn draw(&mut self, shape: &mut CheckedShape<'_>, seed: u64, law: Law) -> Result<CaseDraw, ExpectedOutputError> {
        let known = self.answers.remove(&(shape.spec.name.clone(), seed, law));
        let (inputs, expected) = match known.or_else(|| shape.answers.remove(&(seed, law))) {
            Some(answer) => answer?,
            None => self.answered(shape.spec, seed, law, Some(&mut shape.buffers))?,
        };
        if shape.usual.is_none() {
            shape.usual = Some(match law {
                Law::Declared => magnitudes(&expected),
                _ => magnitudes(&self.answered(shape.spec, seed, Law::Declared, Some(&mut shape.buffers))?.1),
            });
        }
        let usual = shape.usual.as_deref().filter(|_| law != Law::Declared);
        let proof = (&self.job.reference, &self.job.tolerance);
        let perturbed = perturbed(proof, shape.spec, seed, &inputs.values)?;
        let draw = comparable(proof, shape.spec, (law, seed), (inputs, expected), usual)?;
        Ok(match perturbed {
            Some(perturbed) => draw.with_perturbed(shape.spec, &perturbed, &self.job.tolerance),
            None => draw,
        })
    }

    /// A sentence for each input that a kernel need not read completely, once: at the smallest shape.
    fn unread_inputs(
        &self,
        shape: &mut CheckedShape<'_>,
        seed: u64,
        draw: &CaseDraw,
    ) -> Result<Vec<String>, ExpectedOutputError> {
        let smallest = self.job.shapes.iter().min_by_key(|spec| spec.elements());
        let is_tried = !matches!(shape.tried, ToleranceTrial::No);
        let (reference, spec) = (&self.job.reference, shape.spec);
        if is_tried || smallest.is_none_or(|smallest| smallest.name != spec.name) {
            return Ok(Vec::new());
        }
        let known = self.job.seeds.as_slice();
        let tried = TriedDraw { proof: (reference, &self.job.tolerance), shape: spec, seed, draw, known };
        tried.unread_inputs(|seed, inputs| match reference {
            ReferenceSpec::Entry { .. } => self.expected_by_entry(spec, inputs, Some(&mut shape.buffers)),
            _ => expected_on_host(reference, spec, seed, &CaseInputs::decoded(spec, inputs))?
                .ok_or(ExpectedOutputError::NoReference),
        })
    }

    /// Tries the tolerance on wrong answers to the declared inputs of a seed, once per shape. Returns the number of rejected
    /// answers.
    fn try_tolerance(
        &self,
        shape: &mut CheckedShape<'_>,
        seed: u64,
        draw: &CaseDraw,
    ) -> Result<u32, ExpectedOutputError> {
        let (spec, known) = (shape.spec, self.job.seeds.as_slice());
        let tried = TriedDraw { proof: (&self.job.reference, &self.job.tolerance), shape: spec, seed, draw, known };
        let buffers = &mut shape.buffers;
        let at_seed = |further| self.declared(spec, further, Some(&mut *buffers));
        let (rejected, now) = match &shape.tried {
            ToleranceTrial::No if known.len() < 2 => (tried.reject_nulls(at_seed)?, ToleranceTrial::OnAll),
            ToleranceTrial::No => (tried.reject_nulls(at_seed)?, ToleranceTrial::OnOne(draw.expected.clone())),
            ToleranceTrial::OnOne(other) => (tried.reject_others(other, at_seed)?, ToleranceTrial::OnAll),
            ToleranceTrial::OnAll => return Ok(0),
        };
        shape.tried = now;
        Ok(rejected)
    }

    /// The declared inputs of a seed, with their expected output.
    pub(super) fn declared(
        &self,
        shape: &ShapeSpec,
        seed: u64,
        buffers: Option<&mut CheckBuffers>,
    ) -> Result<CaseDraw, ExpectedOutputError> {
        let answered = self.answered(shape, seed, Law::Declared, buffers)?;
        comparable((&self.job.reference, &self.job.tolerance), shape, (Law::Declared, seed), answered, None)
    }

    fn answered(&self, shape: &ShapeSpec, seed: u64, law: Law, buffers: Option<&mut CheckBuffers>) -> AnsweredInputs {
        let by_entry = |inputs: &CaseInputs| self.expected_by_entry(shape, &inputs.bytes, buffers);
        answered((&self.job.reference, &self.job.tolerance), shape, (law, seed), by_entry)
    }

    fn expected_by_entry(
        &self,
        shape: &ShapeSpec,
        inputs: &[Vec<u8>],
        buffers: Option<&mut CheckBuffers>,
    ) -> Result<Vec<ExpectedOutput>, ExpectedOutputError> {
        match (&self.job.reference, buffers) {
            (ReferenceSpec::Entry { entry, cubin, programs }, Some(buffers)) => {
                buffers.expected_by_entry(&self.device, (entry, cubin, programs), shape, inputs)
            }
            _ => Err(ExpectedOutputError::NoReference),
        }
    }
}
