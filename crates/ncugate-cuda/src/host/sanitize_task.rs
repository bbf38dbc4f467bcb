//! Launches for compute-sanitizer: each variant once, on buffers that let the tool see as much as possible.
//!
//! Every buffer has its own allocation of exactly the variant's size, so that an access next to it is out of bounds. Outputs
//! have no content, so that a read before the first write is uninitialized. Nothing is compared: the checks did that.

use super::event::{WorkerEvent, WorkerTask};
use super::worker::{DeviceLoss, WorkError, Worker};
use crate::gpu::{BufferSpec, CudaDevice, DeviceError, DeviceMemory, VariantExtents};
use crate::prove::{CaseInputs, ShapeSpec};
use ncugate_model::Role;
use std::ops::ControlFlow;

impl Worker<'_> {
    /// Launches every variant once at each of its shapes, on the declared inputs of `seed`.
    pub(super) fn sanitize(&mut self, seed: u64) -> Result<ControlFlow<DeviceLoss>, WorkError> {
        for shape in self.job.shapes.clone() {
            let wanted = self.wanted_at(&shape);
            if wanted.is_empty() {
                continue;
            }
            self.reporter.report(&WorkerEvent::Preparing { shape: shape.name.clone(), seed })?;
            let inputs = self.inputs(&shape, seed)?;
            for index in wanted {
                let variant = self.job.kernels[index].variant.clone();
                self.started(&variant, &shape, WorkerTask::Profile { repeat: 0 })?;
                let event = match self.launch_exposed(index, &shape, &inputs) {
                    Ok(()) => WorkerEvent::Sanitized { variant: variant.clone(), shape: shape.name.clone() },
                    Err(error) => WorkerEvent::LaunchFailed {
                        variant: variant.clone(),
                        shape: shape.name.clone(),
                        reason: error.to_string(),
                    },
                };
                self.reporter.report(&event)?;
                if let lost @ ControlFlow::Break(_) = self.probe_device(&variant, "a launch for compute-sanitizer")? {
                    return Ok(lost);
                }
            }
        }
        Ok(ControlFlow::Continue(()))
    }

    fn launch_exposed(&mut self, index: usize, shape: &ShapeSpec, inputs: &CaseInputs) -> Result<(), DeviceError> {
        self.load(index)?;
        let program = self.program(index, shape)?;
        let kernel = &self.job.kernels[index];
        let loaded = self.loaded[&kernel.variant].as_ref().map_err(Clone::clone)?;
        let extents = kernel.extents_at(&shape.name);
        let buffers = shape.buffers.iter().zip(&inputs.bytes).enumerate();
        let memory = buffers.map(|(at, (buffer, bytes))| exposed(&self.device, (at, buffer), bytes, &extents));
        let memory = memory.collect::<Result<Vec<DeviceMemory>, DeviceError>>()?;
        let find = |name: &str| {
            let at = shape.buffers.iter().position(|buffer| buffer.name == name)?;
            Some((memory[at].address(), &shape.buffers[at]))
        };
        let bound = self.device.bind(loaded, &program, find)?;
        self.device.set_l2_aside(bound.l2_set_aside())?;
        self.device.prepare(&bound)?;
        self.device.run(&bound)?;
        self.device.finish(&bound)?;
        self.device.synchronize()
    }
}

/// A buffer in a separate allocation.
fn exposed(
    device: &CudaDevice,
    (index, buffer): (usize, &BufferSpec),
    content: &[u8],
    extents: &VariantExtents,
) -> Result<DeviceMemory, DeviceError> {
    let own = extents.buffers.get(&index).map(|extents| extents.iter().product::<usize>());
    let bytes = own.unwrap_or_else(|| buffer.room()) * buffer.dtype.size();
    let memory = device.allocate(bytes)?;
    if content.is_empty() {
        // The documentation promises cleared scratch, and nothing about outputs.
        if buffer.role == Role::Scratch {
            device.fill(&memory, 0)?;
        }
    } else {
        let mut image = device.pinned(bytes)?;
        let shared = bytes.min(content.len());
        image.as_mut_slice()[..shared].copy_from_slice(&content[..shared]);
        device.upload(&memory, &image)?;
    }
    device.synchronize()?;
    Ok(memory)
}
