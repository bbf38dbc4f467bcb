//! Launches for a profiler: each variant's kernels inside an NVTX range with its name, an empty kernel in another range,
//! and no other launch at all.

use super::event::{WorkerEvent, WorkerTask};
use super::job::ProfiledInputs;
use super::probed_buffers::ProbedBuffers;
use super::worker::{DeviceLoss, WorkError, Worker};
use crate::gpu::{DeviceError, EmptyKernel, RangeGuard};
use ncugate_model::LaunchMode;
use ncugate_model::{EMPTY_RANGE, ProfiledOutputs, ShapeName, VariantId};
use std::ffi::CString;
use std::ops::ControlFlow;

/// The NVTX range of a profiled evaluation, which contains all its launches.
pub fn range_name(variant: &VariantId, shape: &ShapeName) -> String {
    format!("{variant}@{shape}")
}

impl Worker<'_> {
    /// Launches every variant at each of its profiled shapes, once for each seed of a repeat, and compares the outputs of each
    /// launch. Every repeat has freshly loaded modules and its own inputs, and so has each function of a candidate: none finds
    /// an earlier answer.
    pub(super) fn trace(&mut self, inputs: &ProfiledInputs) -> Result<ControlFlow<DeviceLoss>, WorkError> {
        self.launch_empty(inputs.empty_launches)?;
        for shape in self.job.shapes.clone() {
            let wanted = self.wanted_at(&shape);
            for (repeat, &seed) in (0..).zip(&inputs.repeats) {
                // The launches of a function are counted together, so several calls would be indistinguishable.
                let in_repeat = |index: &usize| repeat == 0 || self.job.kernels[*index].function.is_none();
                let wanted: Vec<usize> = wanted.iter().copied().filter(in_repeat).collect();
                if wanted.is_empty() {
                    break;
                }
                self.loaded.clear();
                let own_seed =
                    |index: usize| self.job.kernels[index].function.as_ref().and_then(|function| function.profiled);
                let mut seeds: Vec<_> = wanted.iter().map(|&index| (own_seed(index).unwrap_or(seed), index)).collect();
                // Variants with the seed of the repeat share its buffers.
                seeds.sort_by_key(|&(own, _)| own != seed);
                let mut shared: Option<(u64, ProbedBuffers<'_>)> = None;
                for (seed, index) in seeds {
                    let (_, buffers) = match shared.take() {
                        Some(held) if held.0 == seed => shared.insert(held),
                        _ => shared.insert((seed, self.probed_buffers(&shape, (seed, inputs.warm_up))?)),
                    };
                    if let lost @ ControlFlow::Break(_) = self.trace_variant(index, buffers, repeat)? {
                        return Ok(lost);
                    }
                }
            }
        }
        Ok(ControlFlow::Continue(()))
    }

    /// Launches an empty kernel: what ncu adds to the work of every launch.
    fn launch_empty(&self, launches: u32) -> Result<(), DeviceError> {
        if launches == 0 {
            return Ok(());
        }
        let empty = EmptyKernel::new(&self.device)?;
        let range = RangeGuard::open(EMPTY_RANGE);
        let launched = (0..launches).try_for_each(|_| {
            empty.launch(&self.device, LaunchMode::Ordinary).and_then(|()| self.device.synchronize())
        });
        drop(range);
        launched
    }

    fn trace_variant(
        &mut self,
        index: usize,
        buffers: &mut ProbedBuffers<'_>,
        repeat: u32,
    ) -> Result<ControlFlow<DeviceLoss>, WorkError> {
        let (variant, shape) = (self.job.kernels[index].variant.clone(), buffers.shape.name.clone());
        self.started(&variant, buffers.shape, WorkerTask::Profile { repeat })?;
        match self.trace_launch(index, buffers) {
            Ok(outputs) => {
                self.reporter.report(&WorkerEvent::Launched { variant, shape, repeat, outputs })?;
                Ok(ControlFlow::Continue(()))
            }
            Err(error) => self.launch_failed(variant, shape, error.to_string()),
        }
    }

    /// Reports why a launch failed; whether the device still works.
    pub(super) fn launch_failed(
        &mut self,
        variant: VariantId,
        shape: ShapeName,
        reason: String,
    ) -> Result<ControlFlow<DeviceLoss>, WorkError> {
        let event = WorkerEvent::LaunchFailed { variant: variant.clone(), shape, reason: reason.clone() };
        self.reporter.report(&event)?;
        self.probe_device(&variant, &reason)
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
            // Keep a function's one-time work (compile, choose, allocate) out of the profile. This call has other inputs.
            buffers.fill_for_warm_up(&self.device)?;
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
