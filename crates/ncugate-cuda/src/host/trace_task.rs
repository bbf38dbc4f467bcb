//! Launches for a profiler: each variant's kernels inside an NVTX range with its name, and no other launch at all.

use super::event::{WorkerEvent, WorkerTask};
use super::probed_buffers::ProbedBuffers;
use super::worker::{DeviceLoss, WorkError, Worker};
use crate::gpu::{DeviceError, RangeGuard};
use ncugate_model::{ProfiledOutputs, ShapeName, VariantId};
use std::ffi::CString;
use std::ops::ControlFlow;

/// The NVTX range of a profiled evaluation, which contains all its launches.
pub fn range_name(variant: &VariantId, shape: &ShapeName) -> String {
    format!("{variant}@{shape}")
}

impl Worker<'_> {
    /// Launches every variant `repeats` times at each of its profiled shapes, on inputs of `seed`, and compares the outputs of
    /// each launch.
    pub(super) fn trace(&mut self, repeats: u32, seed: u64) -> Result<ControlFlow<DeviceLoss>, WorkError> {
        for shape in self.job.shapes.clone() {
            let wanted = self.wanted_at(&shape);
            if wanted.is_empty() {
                continue;
            }
            let mut buffers = self.probed_buffers(&shape, seed)?;
            for &index in &wanted {
                if let lost @ ControlFlow::Break(_) = self.trace_variant(index, &mut buffers, repeats)? {
                    return Ok(lost);
                }
            }
        }
        Ok(ControlFlow::Continue(()))
    }

    fn trace_variant(
        &mut self,
        index: usize,
        buffers: &mut ProbedBuffers<'_>,
        repeats: u32,
    ) -> Result<ControlFlow<DeviceLoss>, WorkError> {
        let shape = buffers.shape;
        let (variant, name) = (self.job.kernels[index].variant.clone(), shape.name.clone());
        // The launches of a function are counted together, so several calls would be indistinguishable.
        let repeats = if self.job.kernels[index].function.is_some() { 1 } else { repeats };
        for repeat in 0..repeats {
            self.started(&variant, shape, WorkerTask::Profile { repeat })?;
            let outputs = match self.trace_launch(index, buffers) {
                Ok(outputs) => outputs,
                Err(error) => {
                    let (variant, reason) = (variant.clone(), error.to_string());
                    self.reporter.report(&WorkerEvent::LaunchFailed {
                        variant,
                        shape: name,
                        reason: reason.clone(),
                    })?;
                    return self.probe_device(&self.job.kernels[index].variant.clone(), &reason);
                }
            };
            let (variant, shape) = (variant.clone(), name.clone());
            self.reporter.report(&WorkerEvent::Launched { variant, shape, repeat, outputs })?;
        }
        Ok(ControlFlow::Continue(()))
    }

    /// One launch on refilled buffers, and whether its outputs are right.
    fn trace_launch(&mut self, index: usize, buffers: &mut ProbedBuffers<'_>) -> Result<ProfiledOutputs, DeviceError> {
        let shape = buffers.shape;
        self.load(index)?;
        let program = self.program(index, shape)?;
        let extents = self.job.kernels[index].extents_at(&shape.name);
        let variant = &self.job.kernels[index].variant;
        let loaded = self.loaded[variant].as_ref().map_err(Clone::clone)?;
        let bound = buffers.set.bind(&self.device, (loaded, &program), &shape.buffers)?;
        if loaded.is_function() {
            // Keep a function's one-time work (compile, choose, allocate) out of the profile.
            buffers.refill(&self.device)?;
            self.device.run(&bound)?;
            self.device.synchronize()?;
        }
        self.device.set_l2_aside(bound.l2_set_aside())?;
        buffers.refill(&self.device)?;
        self.device.prepare(&bound)?;
        self.device.synchronize()?;
        let name = CString::new(range_name(variant, &shape.name))
            .map_err(|_| DeviceError::Launch("the variant's id contains a NUL".to_owned()))?;
        let range = RangeGuard::open(&name);
        let launched = self.device.run(&bound).and_then(|()| self.device.synchronize());
        drop(range);
        launched?;
        buffers.verified(&self.device, (&bound, &extents))
    }
}
