//! Arrays for the surfaces of a timed program.

use crate::gpu::{BoundProgram, CudaDevice, DeviceError, Surface, SurfaceCopy};

/// Surfaces of a program, with arrays that mirror the buffers of a sample.
#[derive(Debug)]
pub struct Surfaces {
    sets: Vec<Vec<Surface>>,
    lead_in: Vec<Surface>,
}

impl Surfaces {
    /// The surfaces of a program bound to sets and to the buffers of the lead-in.
    pub fn of(sets: &[BoundProgram<'_>], lead_in: &BoundProgram<'_>) -> Self {
        let sets = sets.iter().map(|program| program.surfaces().to_vec()).collect();
        Self { sets, lead_in: lead_in.surfaces().to_vec() }
    }

    /// Queues copies from the buffers of the first `sets` sets to their arrays; the lead-in's graph fills its own.
    ///
    /// # Errors
    /// The driver refuses a copy.
    pub fn fill(&self, device: &CudaDevice, sets: usize) -> Result<(), DeviceError> {
        self.sets.iter().take(sets).try_for_each(|surfaces| device.copy_surfaces(surfaces, SurfaceCopy::Fill))
    }

    /// Queues copies from the arrays of the first `sets` sets, and of the lead-in, to their buffers.
    ///
    /// # Errors
    /// The driver refuses a copy.
    pub fn write_back(&self, device: &CudaDevice, sets: usize) -> Result<(), DeviceError> {
        let mut all = self.sets.iter().take(sets).chain([&self.lead_in]);
        all.try_for_each(|surfaces| device.copy_surfaces(surfaces, SurfaceCopy::WriteBack))
    }
}
