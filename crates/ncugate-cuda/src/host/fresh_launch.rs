//! A variant whose outputs were wrong while it was measured, launched again as a check launches it: of a module that was loaded anew, on the
//! same inputs. If its outputs are right then, it cheats; if they are wrong again, it is wrong on these inputs, which no check had.

use super::worker::Worker;
use crate::gpu::DeviceError;
use crate::prove::{CaseDraw, CheckBuffers, ShapeSpec, case_outcome};
use ncugate_model::CheckOutcome;

/// Outputs of launches of a module that was loaded anew.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FreshOutputs {
    Right,
    Wrong,
}

impl Worker<'_> {
    /// Launches a kernel on a draw, once over each of its poisons. Graphs of its earlier module have to be gone.
    ///
    /// # Errors
    /// There is no memory for it, or a launch fails; the device may not work any more.
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
        buffers.prepare(shape, &draw.inputs);
        self.load(index)?;
        let loaded = self.loaded[&self.job.kernels[index].variant].as_ref().map_err(Clone::clone)?;
        let (program, spec) = ((loaded, &program), (shape, &extents));
        let result = buffers.launch_draw(&self.device, program, spec, draw, &self.job.tolerance)?;
        // A right answer to inputs of a hidden seed would lie in freed memory, where another variant can read it.
        buffers.wipe(&self.device)?;
        Ok(match case_outcome(vec![result], &self.job.tolerance) {
            CheckOutcome::Correct { .. } => FreshOutputs::Right,
            CheckOutcome::Wrong { .. } | CheckOutcome::Crashed { .. } | CheckOutcome::Skipped { .. } => {
                FreshOutputs::Wrong
            }
        })
    }
}
