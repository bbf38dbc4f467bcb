//! Relaunches a variant whose outputs were wrong during measurement, in the way a check launches it: from a reloaded module, on
//! the same inputs. If the outputs are now right, the variant cheats. If they are wrong again, it is wrong on these inputs,
//! which no check covered.

use super::worker::Worker;
use crate::gpu::DeviceError;
use crate::prove::{CaseDraw, CheckBuffers, ShapeSpec, case_outcome};
use ncugate_model::CheckOutcome;

/// Outputs of launches from a reloaded module.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FreshOutputs {
    Right,
    Wrong,
}

impl Worker<'_> {
    /// Launches a kernel on a draw, once over each of its poisons. Graphs of its earlier module must be destroyed first.
    ///
    /// # Errors
    /// Memory runs out, or a launch fails; the device is then possibly unusable.
    pub(super) fn launch_fresh(
        &mut self,
        index: usize,
        shape: &ShapeSpec,
        draw: &CaseDraw,
    ) -> Result<FreshOutputs, DeviceError> {
        let program = self.program(index, shape)?;
        let kernel = &self.job.kernels[index];
        let extents = kernel.extents_at(&shape.name);
        self.loaded.remove(&kernel.variant);
        let mut buffers = CheckBuffers::allocate(&self.device, &shape.buffers)?;
        buffers.prepare(shape, &draw.inputs.bytes);
        self.load(index)?;
        let loaded = self.loaded[&self.job.kernels[index].variant].as_ref().map_err(Clone::clone)?;
        let (program, spec) = ((loaded, &program), (shape, &extents));
        let result = buffers.launch_draw(&self.device, program, spec, draw, &self.job.tolerance)?;
        // Without the wipe, the expected output for a hidden seed would stay in freed memory, where another variant can read
        // it.
        buffers.wipe(&self.device)?;
        Ok(match case_outcome(vec![result], &self.job.tolerance) {
            CheckOutcome::Correct { .. } => FreshOutputs::Right,
            CheckOutcome::Wrong { .. } | CheckOutcome::Crashed { .. } | CheckOutcome::Skipped { .. } => {
                FreshOutputs::Wrong
            }
        })
    }
}
