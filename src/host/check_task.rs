//! The worker's correctness cases.

use super::event::{WorkerEvent, WorkerTask};
use super::job::JobKernel;
use super::worker::{DeviceLost, WorkError, Worker};
use crate::gpu::DeviceError;
use crate::model::{CheckOutcome, CheckRecord};
use crate::prove::{
    CaseInputs, CheckBuffers, ExpectedOutput, ExpectedOutputError, ReferenceSpec, ShapeSpec, expected_on_host,
};
use std::ops::ControlFlow;

impl Worker<'_> {
    /// Runs every pending case, shape by shape and seed by seed, so that inputs and reference are made once.
    pub(super) fn check(&mut self) -> Result<ControlFlow<DeviceLost>, WorkError> {
        for shape in self.job.shapes.clone() {
            if !self.job.kernels.iter().any(|k| k.cases.iter().any(|c| c.shape == shape.name)) {
                continue;
            }
            let buffers = CheckBuffers::allocate(&self.device, &shape.buffers);
            let mut buffers = buffers.map_err(|source| WorkError::buffers(&shape, source))?;
            for seed in self.job.seeds.clone() {
                if let lost @ ControlFlow::Break(_) = self.check_seed(&shape, seed, &mut buffers)? {
                    return Ok(lost);
                }
            }
        }
        Ok(ControlFlow::Continue(()))
    }

    fn check_seed(
        &mut self,
        shape: &ShapeSpec,
        seed: u64,
        buffers: &mut CheckBuffers,
    ) -> Result<ControlFlow<DeviceLost>, WorkError> {
        let asked = |k: &JobKernel| k.cases.iter().any(|c| c.shape == shape.name && c.seed == seed);
        let pending: Vec<usize> = (0..self.job.kernels.len()).filter(|&i| asked(&self.job.kernels[i])).collect();
        if pending.is_empty() {
            return Ok(ControlFlow::Continue(()));
        }
        self.reporter.report(&WorkerEvent::Preparing { shape: shape.name.clone(), seed })?;
        let inputs = CaseInputs::draw(shape, seed);
        let expected = self.expected(shape, seed, &inputs, Some(&mut *buffers));
        let expected = expected.map_err(|error| WorkError::reference(&shape.name, seed, &error))?;
        buffers.prepare(shape, &inputs.contents(shape, &expected));
        for index in pending {
            if let lost @ ControlFlow::Break(_) = self.check_case(index, shape, seed, buffers, &expected)? {
                return Ok(lost);
            }
        }
        Ok(ControlFlow::Continue(()))
    }

    /// Runs one case and reports it.
    fn check_case(
        &mut self,
        index: usize,
        shape: &ShapeSpec,
        seed: u64,
        buffers: &mut CheckBuffers,
        expected: &[ExpectedOutput],
    ) -> Result<ControlFlow<DeviceLost>, WorkError> {
        let variant = self.job.kernels[index].variant.clone();
        self.started(&variant, shape, WorkerTask::Check { seed })?;
        let (outcome, crash) = match self.launch_case(index, shape, buffers) {
            Ok(()) => (buffers.outcome(shape, expected, &self.job.tolerance), None),
            Err(error) => (CheckOutcome::Crashed { reason: error.to_string() }, Some(error.to_string())),
        };
        let record = CheckRecord { variant: variant.clone(), shape: shape.name.clone(), seed, outcome };
        self.job.settle_check(&record);
        self.reporter.report(&WorkerEvent::Checked(record))?;
        match crash {
            Some(reason) => self.probe_device(&variant, &reason),
            None => Ok(ControlFlow::Continue(())),
        }
    }

    fn launch_case(&mut self, index: usize, shape: &ShapeSpec, buffers: &mut CheckBuffers) -> Result<(), DeviceError> {
        let launch = self.launch(index, shape)?;
        self.kernel(index)?;
        let kernel = self.kernels[&self.job.kernels[index].variant].as_ref().map_err(Clone::clone)?;
        buffers.launch_once(&self.device, kernel, &launch, shape)
    }

    /// The right outputs; `buffers` are for a reference that takes the device.
    pub(super) fn expected(
        &self,
        shape: &ShapeSpec,
        seed: u64,
        inputs: &CaseInputs,
        buffers: Option<&mut CheckBuffers>,
    ) -> Result<Vec<ExpectedOutput>, ExpectedOutputError> {
        if let Some(expected) = expected_on_host(&self.job.reference, shape, seed, &inputs.values)? {
            return Ok(expected);
        }
        match (&self.job.reference, buffers) {
            (ReferenceSpec::Entry { entry, cubin, launches }, Some(buffers)) => {
                buffers.expected_by_entry(&self.device, (entry, cubin, launches), shape, inputs)
            }
            _ => Err(ExpectedOutputError::NoReference),
        }
    }
}
