//! Buffers for launches under a profiler, and the check of their outputs. They hold inputs of a hidden seed and random poison,
//! as for timed launches, so that a kernel cannot detect the profiler from memory.
//!
//! Outputs are compared on the host, because the profiler would also see a comparison kernel on the device.

use super::event::WorkerEvent;
use super::worker::{WorkError, Worker};
use crate::gpu::{BoundProgram, BufferSet, CudaDevice, DeviceError, PinnedMemory, VariantExtents};
use crate::prove::{CaseDraw, CaseInputs, CheckBuffers, PlacedOutput, ReferenceSpec, ShapeSpec, compare_outputs};
use ncugate_model::{CheckOutcome, ProfiledOutputs, Tolerance};

/// The buffers of a shape on the device, used for one launch after the other.
pub(super) struct ProbedBuffers<'s> {
    pub(super) shape: &'s ShapeSpec,
    pub(super) set: BufferSet,
    /// The contents of the set before each launch.
    fresh: PinnedMemory,
    /// Destination of the output copies.
    image: PinnedMemory,
    seed: u64,
    /// The seed of the inputs of a warm-up call.
    warm_up: u64,
    draw: CaseDraw,
    tolerance: Tolerance,
}

impl Worker<'_> {
    /// The buffers of a shape, with the inputs of a seed, the expected outputs and poison; warm-up calls have other inputs.
    pub(super) fn probed_buffers<'s>(
        &mut self,
        shape: &'s ShapeSpec,
        (seed, warm_up): (u64, u64),
    ) -> Result<ProbedBuffers<'s>, WorkError> {
        self.reporter.report(&WorkerEvent::Preparing { shape: shape.name.clone(), seed })?;
        let mut references = self.reference_buffers(shape)?;
        let draw = self.declared(shape, seed, references.as_mut());
        let draw = draw.map_err(|error| WorkError::reference(&shape.name, seed, &error))?;
        let failed = |source| WorkError::buffers(shape, source);
        if let Some(buffers) = references {
            buffers.wipe(&self.device)?;
        }
        let (set, fresh) =
            BufferSet::with_image(&self.device, &shape.buffers, &draw.poisoned(shape)).map_err(failed)?;
        let outputs = set.layout().regions_of(&shape.buffers, |buffer| buffer.role.is_compared());
        let longest = outputs.map(|region| region.len()).max().unwrap_or(0);
        let image = self.device.pinned(longest).map_err(failed)?;
        Ok(ProbedBuffers { shape, set, fresh, image, seed, warm_up, draw, tolerance: self.job.tolerance })
    }

    /// Buffers for a reference that runs on the device. No candidate is launched while they hold a result.
    pub(super) fn reference_buffers(&self, shape: &ShapeSpec) -> Result<Option<CheckBuffers>, WorkError> {
        match &self.job.reference {
            ReferenceSpec::Entry { .. } => {
                let buffers = CheckBuffers::allocate(&self.device, &shape.buffers);
                Ok(Some(buffers.map_err(|source| WorkError::buffers(shape, source))?))
            }
            ReferenceSpec::Builtin(_)
            | ReferenceSpec::Npy { .. }
            | ReferenceSpec::Program { .. }
            | ReferenceSpec::None => Ok(None),
        }
    }
}

impl ProbedBuffers<'_> {
    /// Restores the contents before a launch, so that no launch finds data of another.
    pub(super) fn refill(&self, device: &CudaDevice) -> Result<(), DeviceError> {
        self.set.refill(device, &self.fresh)
    }

    /// Fills the buffers for a call that is neither profiled nor verified.
    pub(super) fn fill_for_warm_up(&self, device: &CudaDevice) -> Result<(), DeviceError> {
        let inputs =
            CaseInputs::draw(self.shape, self.warm_up).map_err(|error| DeviceError::Launch(error.to_string()))?;
        let mut image = device.pinned(self.set.layout().bytes())?;
        let contents = self.draw.disguised(self.shape, inputs);
        self.set.layout().write_fresh(&self.shape.buffers, &contents, image.as_mut_slice());
        self.set.refill(device, &image)
    }

    /// Whether the outputs of the last completed launch are right.
    pub(super) fn verified(
        &mut self,
        device: &CudaDevice,
        (program, extents): (&BoundProgram<'_>, &VariantExtents),
    ) -> Result<ProfiledOutputs, DeviceError> {
        device.finish(program)?;
        device.synchronize()?;
        let buffers = self.shape.buffers.iter().enumerate().filter(|(_, buffer)| buffer.role.is_compared());
        let placed = |(index, _): (usize, _)| (index, self.set.memory(), self.set.layout().region(index));
        let outputs: Vec<PlacedOutput<'_>> = buffers.map(placed).collect();
        let proof = (&self.draw, &self.tolerance);
        let seed = self.seed;
        Ok(match compare_outputs(device, &mut self.image, proof, (self.shape, extents), &outputs)? {
            CheckOutcome::Correct { .. } => ProfiledOutputs::Right { seed, evaluations: 1 },
            CheckOutcome::Wrong { reason, .. }
            | CheckOutcome::Crashed { reason }
            | CheckOutcome::Skipped { reason } => ProfiledOutputs::Wrong { seed, reason },
        })
    }
}
