//! The worker's latency rounds, over variants that are correct.

use super::event::{WorkerEvent, WorkerTask};
use super::worker::{DeviceLost, WorkError, Worker};
use crate::gpu::{BufferSet, DeviceError, KernelArguments};
use crate::model::{LatencyOutcome, LatencyRecord, VariantId};
use crate::prove::ShapeSpec;
use crate::time::{TimedKernel, TimingSettings, order};
use std::ops::ControlFlow;

impl Worker<'_> {
    /// Times every variant without a reason against it at every shape it is to be timed at.
    pub(super) fn time(&mut self, settings: &TimingSettings) -> Result<ControlFlow<DeviceLost>, WorkError> {
        for shape in self.job.shapes.clone() {
            let (verified, unverified): (Vec<usize>, Vec<usize>) =
                self.wanted_at(&shape).into_iter().partition(|&i| self.job.kernels[i].unverified.is_none());
            for index in unverified {
                let kernel = &self.job.kernels[index];
                let reason = kernel.unverified.clone().unwrap_or_default();
                let variant = kernel.variant.clone();
                self.timed(&variant, &shape, LatencyOutcome::Failed { reason })?;
            }
            if !verified.is_empty()
                && let lost @ ControlFlow::Break(_) = self.time_shape(&shape, &verified, settings)?
            {
                return Ok(lost);
            }
        }
        Ok(ControlFlow::Continue(()))
    }

    fn time_shape(
        &mut self,
        shape: &ShapeSpec,
        indices: &[usize],
        settings: &TimingSettings,
    ) -> Result<ControlFlow<DeviceLost>, WorkError> {
        let sets = self.buffer_sets(shape, settings.buffer_sets)?;
        let mut kernels = Vec::new();
        for &index in indices {
            let variant = self.job.kernels[index].variant.clone();
            self.started(&variant, shape, WorkerTask::Warm)?;
            match self.timed_kernel(index, shape, &sets, settings) {
                Ok(kernel) => kernels.push(Some(kernel)),
                Err(error) => {
                    if let lost @ ControlFlow::Break(_) = self.drop_out(&variant, shape, &error)? {
                        return Ok(lost);
                    }
                }
            }
        }
        for round in 0..settings.rounds {
            for index in order(round, kernels.len()) {
                if let lost @ ControlFlow::Break(_) = self.sample(&mut kernels[index], shape, round)? {
                    return Ok(lost);
                }
            }
        }
        for kernel in kernels.into_iter().flatten() {
            let variant = kernel.variant.clone();
            self.timed(&variant, shape, kernel.outcome())?;
        }
        Ok(ControlFlow::Continue(()))
    }

    /// Takes one sample of a kernel; one that fails leaves the rounds.
    fn sample(
        &mut self,
        slot: &mut Option<TimedKernel>,
        shape: &ShapeSpec,
        round: u32,
    ) -> Result<ControlFlow<DeviceLost>, WorkError> {
        let Some(kernel) = slot else { return Ok(ControlFlow::Continue(())) };
        let variant = kernel.variant.clone();
        self.started(&variant, shape, WorkerTask::Sample { round })?;
        match kernel.sample(&self.device) {
            Ok(()) => Ok(ControlFlow::Continue(())),
            Err(error) => {
                *slot = None;
                self.drop_out(&variant, shape, &error)
            }
        }
    }

    fn timed_kernel(
        &mut self,
        index: usize,
        shape: &ShapeSpec,
        sets: &[BufferSet],
        settings: &TimingSettings,
    ) -> Result<TimedKernel, DeviceError> {
        let variant = self.job.kernels[index].variant.clone();
        let launch = self.launch(index, shape)?;
        self.kernel(index)?;
        let kernel = self.kernels[&variant].as_ref().map_err(Clone::clone)?;
        kernel.allow(&launch)?;
        let arguments: Vec<KernelArguments> =
            sets.iter().map(|s| s.arguments(&self.device, &launch, &shape.buffers)).collect::<Result<_, _>>()?;
        TimedKernel::prepare(variant, &self.device, kernel, &launch, &arguments, settings)
    }

    fn timed(&mut self, variant: &VariantId, shape: &ShapeSpec, outcome: LatencyOutcome) -> Result<(), WorkError> {
        let record = LatencyRecord { variant: variant.clone(), shape: shape.name.clone(), outcome };
        self.job.settle_latency(&record);
        Ok(self.reporter.report(&WorkerEvent::Timed(record))?)
    }

    fn drop_out(
        &mut self,
        variant: &VariantId,
        shape: &ShapeSpec,
        error: &DeviceError,
    ) -> Result<ControlFlow<DeviceLost>, WorkError> {
        let reason = format!("crashed while it was timed: {error}");
        self.timed(variant, shape, LatencyOutcome::Failed { reason: reason.clone() })?;
        self.probe_device(variant, &reason)
    }
}
