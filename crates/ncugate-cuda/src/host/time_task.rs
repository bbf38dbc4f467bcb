//! The worker's latency rounds, over variants that are correct.

use super::event::{WorkerEvent, WorkerTask};
use super::fresh_launch::FreshOutputs;
use super::hidden_draws::{cases, seeds};
use super::shared_outputs::{file_of, read_or};
use super::worker::{DeviceLoss, WorkError, Worker};
use crate::gpu::{BoundProgram, BufferSet, DeviceError, GpuMonitor};
use crate::prove::{ExpectedOutputError, ReferenceSpec, ShapeSpec};
use crate::time::{
    AuditSchedule, TimedBuffers, TimedKernel, TimedProgram, TimingSettings, VERIFIED_LAUNCHES, WrongSample, order,
};
use ncugate_model::{LatencyOutcome, LatencyRecord, VariantId};
use std::ops::ControlFlow;
use std::time::Instant;

/// Calls of a function before it is captured.
const WARM_CALLS: u32 = 3;

impl Worker<'_> {
    /// Times every variant at each of its timed shapes. An unverified variant gets a failed latency instead.
    pub(super) fn time(&mut self, settings: &TimingSettings) -> Result<ControlFlow<DeviceLoss>, WorkError> {
        let shapes: Vec<u32> = self.job.kernels.iter().map(|kernel| kernel.shapes.len() as u32).collect();
        for shape in self.job.shapes.clone() {
            let (verified, unverified): (Vec<usize>, Vec<usize>) =
                self.wanted_at(&shape).into_iter().partition(|&i| self.job.kernels[i].unverified.is_none());
            for index in unverified {
                let kernel = &self.job.kernels[index];
                let reason = kernel.unverified.clone().unwrap_or_default();
                let variant = kernel.variant.clone();
                self.timed(&variant, &shape, LatencyOutcome::Failed { reason })?;
            }
            // Variables of a module keep nothing from shape to shape.
            self.loaded.clear();
            if !verified.is_empty()
                && let lost @ ControlFlow::Break(_) = self.time_shape(&shape, &verified, &shapes, settings)?
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
        shapes: &[u32],
        settings: &TimingSettings,
    ) -> Result<ControlFlow<DeviceLoss>, WorkError> {
        let mut buffers = self.timed_buffers(shape, settings)?;
        let mut kernels = Vec::new();
        for &index in indices {
            let variant = self.job.kernels[index].variant.clone();
            self.started(&variant, shape, WorkerTask::Warm)?;
            let wanted = VERIFIED_LAUNCHES.div_ceil(shapes[index].max(1));
            match self.timed_kernel(index, shape, &buffers, settings, wanted) {
                Ok(kernel) => kernels.push((index, Some(kernel))),
                Err(error) => {
                    if let lost @ ControlFlow::Break(_) = self.drop_out(&variant, shape, &error)? {
                        return Ok(lost);
                    }
                }
            }
        }
        let uuid = self.device.attributes().uuid.as_deref().ok_or_else(|| "the driver gives no UUID".to_owned());
        let monitor = uuid.and_then(GpuMonitor::open);
        // Between rounds only: nothing is read while a sample is taken.
        let read = || monitor.as_ref().ok().and_then(|monitor| monitor.read().ok());
        let mut before = read();
        for round in 0..settings.rounds {
            for at in order(round, kernels.len()) {
                if let lost @ ControlFlow::Break(_) = self.sample(&mut kernels[at], shape, &mut buffers, round)? {
                    return Ok(lost);
                }
            }
            let after = read();
            if let (Some(before), Some(after)) = (before, after) {
                kernels
                    .iter_mut()
                    .filter_map(|(_, kernel)| kernel.as_mut())
                    .for_each(|kernel| kernel.note(before, after));
            }
            before = after;
        }
        for kernel in kernels.into_iter().filter_map(|(_, kernel)| kernel) {
            let variant = kernel.variant.clone();
            self.timed(&variant, shape, kernel.outcome())?;
        }
        Ok(ControlFlow::Continue(()))
    }

    /// Takes one sample of a kernel. If the sample fails or an output is wrong, the kernel leaves the rounds.
    fn sample(
        &mut self,
        (index, slot): &mut (usize, Option<TimedKernel>),
        shape: &ShapeSpec,
        buffers: &mut TimedBuffers,
        round: u32,
    ) -> Result<ControlFlow<DeviceLoss>, WorkError> {
        let Some(kernel) = slot else { return Ok(ControlFlow::Continue(())) };
        let variant = kernel.variant.clone();
        self.started(&variant, shape, WorkerTask::Sample { round })?;
        match kernel.sample(&self.device, buffers, round) {
            Ok(None) => Ok(ControlFlow::Continue(())),
            Ok(Some(WrongSample { reason, content })) => {
                let audit = Some(kernel.verified());
                *slot = None;
                let fresh = self.launch_fresh(*index, shape, buffers.draw(content));
                let outcome = match fresh {
                    Ok(FreshOutputs::Wrong) => LatencyOutcome::Wrong { reason, audit },
                    Ok(FreshOutputs::Right) | Err(_) => LatencyOutcome::Cheats { reason, audit },
                };
                self.timed(&variant, shape, outcome)?;
                match fresh {
                    Ok(_) => Ok(ControlFlow::Continue(())),
                    Err(error) => self.probe_device(&variant, &error.to_string()),
                }
            }
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
        buffers: &TimedBuffers,
        settings: &TimingSettings,
        wanted: u32,
    ) -> Result<TimedKernel, DeviceError> {
        let variant = self.job.kernels[index].variant.clone();
        let program = self.program(index, shape)?;
        self.load(index)?;
        let loaded = self.loaded[&variant].as_ref().map_err(Clone::clone)?;
        let bind = |set: &BufferSet| set.bind(&self.device, (loaded, &program), &shape.buffers);
        let sets: Vec<BoundProgram<'_>> = buffers.sets.iter().map(bind).collect::<Result<_, _>>()?;
        let extents = self.job.kernels[index].extents_at(&shape.name);
        let timed = TimedProgram { sets, lead_in: bind(&buffers.lead_in)?, extents };
        if loaded.is_function() {
            // Functions do their one-time work (compile, choose, allocate) before a graph is captured.
            (0..WARM_CALLS).try_for_each(|_| self.device.run(&timed.lead_in))?;
            self.device.synchronize()?;
        }
        let schedule = AuditSchedule::new(settings.hidden.schedule, &variant.0, &shape.name.0);
        TimedKernel::prepare(variant, &self.device, &timed, buffers, settings, schedule, wanted)
    }

    /// The buffers of a shape, with the contents of the hidden seeds and their expected outputs. No candidate is launched while
    /// the device holds a result of a reference entry.
    fn timed_buffers(&mut self, shape: &ShapeSpec, settings: &TimingSettings) -> Result<TimedBuffers, WorkError> {
        let seed = self.job.seeds.first().copied().unwrap_or(0);
        let mut references = self.reference_buffers(shape)?;
        let cases = match self.hidden.remove(&shape.name) {
            Some(cases) => cases,
            None => {
                let (shared, proof) = (self.job.shared.clone(), (self.job.reference.clone(), self.job.tolerance));
                let seeds = seeds(shape, settings, self.device.attributes().l2_bytes);
                read_or(file_of(&shared, shape), (&proof.0, &proof.1), (shape, seeds), || {
                    cases(shape, seeds, Instant::now(), |hidden| {
                        // If the parent is gone, the next essential report fails.
                        let _ = self.reporter.report(&WorkerEvent::Preparing { shape: shape.name.clone(), seed });
                        self.declared(shape, hidden, references.as_mut())
                    })
                })
            }
        };
        let cases = cases.map_err(|(hidden, error)| WorkError::reference(&shape.name, hidden, &error))?;
        let wanted = seeds(shape, settings, self.device.attributes().l2_bytes).len();
        if matches!(self.job.reference, ReferenceSpec::Program { .. }) && cases.len() < wanted {
            let (drawn, shape) = (cases.len(), &shape.name);
            let reason = format!("the reference is slow: {drawn} instead of {wanted} hidden inputs at shape '{shape}'");
            self.reporter.report(&WorkerEvent::Weakened { reason })?;
        }
        if let Some(buffers) = references.take() {
            buffers.wipe(&self.device)?;
        }
        let absent = || WorkError::reference(&shape.name, seed, &ExpectedOutputError::NoReference);
        let pilot = settings.hidden.pilot;
        let pilot = cases.first().ok_or_else(absent)?.draw.disguised(shape, self.inputs(shape, pilot)?);
        let made = TimedBuffers::new(&self.device, shape, &self.job.tolerance, settings, &pilot)
            .and_then(|mut made| cases.into_iter().try_for_each(|case| made.add(&self.device, case)).map(|()| made));
        made.map_err(|source| WorkError::buffers(shape, source))
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
    ) -> Result<ControlFlow<DeviceLoss>, WorkError> {
        let reason = format!("crashed during timing: {error}");
        self.timed(variant, shape, LatencyOutcome::Failed { reason: reason.clone() })?;
        self.probe_device(variant, &reason)
    }
}
