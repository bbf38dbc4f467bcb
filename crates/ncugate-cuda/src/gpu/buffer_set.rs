//! A shape's buffers on the device, filled once and used by many launches.

use super::arena::ArenaLayout;
use super::buffer::BufferSpec;
use super::device::CudaDevice;
use super::error::DeviceError;
use super::kernel::LoadedProgram;
use super::memory::{DeviceMemory, PinnedMemory, check_sizes};
use super::program::BoundProgram;
use ncugate_phase::plan::ShapeProgram;

/// One set of a shape's buffers on the device.
#[derive(Debug)]
pub struct BufferSet {
    layout: ArenaLayout,
    memory: DeviceMemory,
}

impl BufferSet {
    /// `count` sets with `contents` (bytes per buffer), uploaded through `image`, which has the size of a set.
    ///
    /// # Errors
    /// Memory on the device or the host runs out, or a copy fails.
    pub fn several(
        device: &CudaDevice,
        buffers: &[BufferSpec],
        contents: &[impl AsRef<[u8]>],
        (count, image): (u32, &mut PinnedMemory),
    ) -> Result<Vec<Self>, DeviceError> {
        let first = Self::through(device, buffers, contents, image)?;
        let another = |_| {
            let set = Self { layout: first.layout.clone(), memory: device.allocate(first.memory.bytes())? };
            device.upload(&set.memory, image)?;
            Ok(set)
        };
        let others: Vec<Self> = (1..count).map(another).collect::<Result<_, DeviceError>>()?;
        Ok(std::iter::once(first).chain(others).collect())
    }

    /// A set with `contents`, uploaded through `image`, which has the size of a set.
    ///
    /// # Errors
    /// Memory runs out, the image has another size, or a copy fails.
    pub fn through(
        device: &CudaDevice,
        buffers: &[BufferSpec],
        contents: &[impl AsRef<[u8]>],
        image: &mut PinnedMemory,
    ) -> Result<Self, DeviceError> {
        let layout = ArenaLayout::new(buffers);
        let memory = device.allocate(layout.bytes())?;
        check_sizes(&memory, image)?;
        layout.write_fresh(buffers, contents, image.as_mut_slice());
        device.upload(&memory, image)?;
        Ok(Self { layout, memory })
    }

    /// A set with `contents`, and the image that it was uploaded from, for [`Self::refill`].
    ///
    /// # Errors
    /// As [`Self::several`].
    pub fn with_image(
        device: &CudaDevice,
        buffers: &[BufferSpec],
        contents: &[impl AsRef<[u8]>],
    ) -> Result<(Self, PinnedMemory), DeviceError> {
        let mut image = device.pinned(ArenaLayout::new(buffers).bytes())?;
        Ok((Self::through(device, buffers, contents, &mut image)?, image))
    }

    /// Copies the image from the host into the set.
    ///
    /// # Errors
    /// The copy fails.
    pub fn refill(&self, device: &CudaDevice, image: &PinnedMemory) -> Result<(), DeviceError> {
        device.upload(&self.memory, image)
    }

    /// Queues a copy of another set of the same shape into this one.
    ///
    /// # Errors
    /// The driver refuses.
    pub fn restore(&self, device: &CudaDevice, from: &Self) -> Result<(), DeviceError> {
        device.duplicate(&from.memory, &self.memory)
    }

    pub const fn layout(&self) -> &ArenaLayout {
        &self.layout
    }

    pub const fn memory(&self) -> &DeviceMemory {
        &self.memory
    }

    /// A program on this set; `buffers` describes the set's buffers, and `loaded` has the program's entries.
    ///
    /// # Errors
    /// As [`CudaDevice::bind`].
    pub fn bind<'p>(
        &self,
        device: &CudaDevice,
        (loaded, program): (&'p LoadedProgram, &'p ShapeProgram),
        buffers: &[BufferSpec],
    ) -> Result<BoundProgram<'p>, DeviceError> {
        device.bind(loaded, program, |name| self.layout.find(buffers, name, self.memory.address()))
    }
}
