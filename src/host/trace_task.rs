//! Launches for a profiler: each variant's kernels inside an NVTX range that names it, and no other launch at all.

use super::event::{WorkerEvent, WorkerTask};
use super::worker::{DeviceLost, WorkError, Worker};
use crate::gpu::{BufferSet, DeviceError, PinnedMemory, RangeGuard};
use crate::model::ShapeName;
use crate::model::VariantId;
use crate::prove::ShapeSpec;
use std::ffi::CString;
use std::ops::ControlFlow;

/// The NVTX range of a profiled evaluation, which holds every launch of it.
pub fn range_name(variant: &VariantId, shape: &ShapeName) -> String {
    format!("{variant}@{shape}")
}

impl Worker<'_> {
    /// Launches every variant `repeats` times at every shape it is to be profiled at, waiting for each.
    pub(super) fn trace(&mut self, repeats: u32) -> Result<ControlFlow<DeviceLost>, WorkError> {
        for shape in self.job.shapes.clone() {
            let wanted = self.wanted_at(&shape);
            if wanted.is_empty() {
                continue;
            }
            let buffers = self.known_buffers(&shape)?;
            for &index in &wanted {
                if let lost @ ControlFlow::Break(_) = self.trace_variant(index, &shape, &buffers, repeats)? {
                    return Ok(lost);
                }
            }
        }
        Ok(ControlFlow::Continue(()))
    }

    fn trace_variant(
        &mut self,
        index: usize,
        shape: &ShapeSpec,
        buffers: &(BufferSet, PinnedMemory),
        repeats: u32,
    ) -> Result<ControlFlow<DeviceLost>, WorkError> {
        let (variant, name) = (self.job.kernels[index].variant.clone(), shape.name.clone());
        // Launches of a function are counted together: of several calls they could not be told apart.
        let repeats = if self.job.kernels[index].function.is_some() { 1 } else { repeats };
        for repeat in 0..repeats {
            self.started(&variant, shape, WorkerTask::Profile { repeat })?;
            if let Err(error) = self.trace_launch(index, shape, buffers) {
                let reason = error.to_string();
                let event = WorkerEvent::LaunchFailed { variant: variant.clone(), shape: name, reason: reason.clone() };
                self.reporter.report(&event)?;
                return self.probe_device(&variant, &reason);
            }
            let event = WorkerEvent::Launched { variant: variant.clone(), shape: name.clone(), repeat };
            self.reporter.report(&event)?;
        }
        Ok(ControlFlow::Continue(()))
    }

    /// One launch on buffers that are filled anew, so that no launch finds what another has left.
    fn trace_launch(
        &mut self,
        index: usize,
        shape: &ShapeSpec,
        (set, image): &(BufferSet, PinnedMemory),
    ) -> Result<(), DeviceError> {
        self.load(index)?;
        let program = self.program(index, shape)?;
        let variant = &self.job.kernels[index].variant;
        let loaded = self.loaded[variant].as_ref().map_err(Clone::clone)?;
        let bound = set.bind(&self.device, (loaded, &program), &shape.buffers)?;
        if loaded.is_function() {
            // What a function does once (compile, choose, allocate) is not what is profiled.
            self.device.run(&bound)?;
            self.device.synchronize()?;
        }
        set.refill(&self.device, image)?;
        self.device.prepare(&bound)?;
        self.device.synchronize()?;
        let name = CString::new(range_name(variant, &shape.name))
            .map_err(|_| DeviceError::Launch("the variant's id holds a NUL".to_owned()))?;
        let range = RangeGuard::open(&name);
        let launched = self.device.run(&bound).and_then(|()| self.device.synchronize());
        drop(range);
        launched
    }
}
