//! Arrays of the surfaces of a program that is timed.

use crate::gpu::{BoundProgram, CudaDevice, DeviceError, Surface, SurfaceCopy};

/// Surfaces of a program, whose arrays hold what the buffers of a sample hold.
#[derive(Debug)]
pub struct Surfaces {
    sets: Vec<Vec<Surface>>,
    lead_in: Vec<Surface>,
}

impl Surfaces {
    /// Those of a program that is bound to sets and to the buffers of the lead-in.
    pub fn of(sets: &[BoundProgram<'_>], lead_in: &BoundProgram<'_>) -> Self {
        let sets = sets.iter().map(|program| program.surfaces().to_vec()).collect();
        Self { sets, lead_in: lead_in.surfaces().to_vec() }
    }

    /// Queues that the arrays of so many sets hold what their buffers hold; those of the lead-in are filled by its graph.
    ///
    /// # Errors
    /// The driver refuses a copy.
    pub fn fill(&self, device: &CudaDevice, sets: usize) -> Result<(), DeviceError> {
        self.sets.iter().take(sets).try_for_each(|surfaces| device.copy_surfaces(surfaces, SurfaceCopy::Fill))
    }

    /// Queues that the buffers of so many sets, and of the lead-in, hold what their arrays hold.
    ///
    /// # Errors
    /// The driver refuses a copy.
    pub fn write_back(&self, device: &CudaDevice, sets: usize) -> Result<(), DeviceError> {
        let mut all = self.sets.iter().take(sets).chain([&self.lead_in]);
        all.try_for_each(|surfaces| device.copy_surfaces(surfaces, SurfaceCopy::WriteBack))
    }
}
