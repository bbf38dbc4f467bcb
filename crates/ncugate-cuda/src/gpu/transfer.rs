//! Fills of device memory, copies of parts of it to the host, and the state of the L2 cache.

use super::device::CudaDevice;
use super::error::{DeviceError, cuda};
use super::memory::{DeviceMemory, PinnedMemory};
use cudarc::driver::{result, sys};
use ncugate_model::ComputeCapability;
use std::ops::Range;

/// The first compute capability whose L2 cache has a persisting part.
const PERSISTING_L2: ComputeCapability = ComputeCapability::new(8, 0);

impl CudaDevice {
    /// Queues a fill of the whole allocation with a byte.
    ///
    /// # Errors
    /// The driver refuses.
    pub fn fill(&self, memory: &DeviceMemory, byte: u8) -> Result<(), DeviceError> {
        self.fill_start(memory, memory.bytes, byte)
    }

    /// Queues a fill of the first bytes of an allocation with a byte.
    ///
    /// # Errors
    /// The allocation is smaller, or the driver refuses.
    pub fn fill_start(&self, memory: &DeviceMemory, bytes: usize, byte: u8) -> Result<(), DeviceError> {
        inside(memory.bytes, &(0..bytes))?;
        if bytes == 0 {
            return Ok(());
        }
        // SAFETY: the allocation has that many bytes.
        unsafe { result::memset_d8_async(memory.address, byte, bytes, self.stream()) }.map_err(cuda("cuMemsetD8"))
    }

    /// Copies a range of device memory to the start of host memory, in parts of `part` bytes. Passes on each part with its
    /// offset in the range, while the next one is being copied.
    ///
    /// # Errors
    /// The range is outside of the memory or larger than `to`, or a copy fails.
    pub fn download_in_parts(
        &self,
        to: &mut PinnedMemory,
        (from, range): (&DeviceMemory, &Range<usize>),
        part: usize,
        mut take: impl FnMut(usize, &[u8]),
    ) -> Result<(), DeviceError> {
        inside(from.bytes, range)?;
        inside(to.bytes, &(0..range.len()))?;
        let parts = to.as_mut_slice()[..range.len()].chunks_mut(part.max(1));
        let mut before: Option<(usize, &[u8])> = None;
        for (number, target) in parts.enumerate() {
            let at = number * part.max(1);
            // SAFETY: the part of the allocation is that large, is borrowed by nothing else, and lives until the
            // synchronisation.
            unsafe { result::memcpy_dtoh_async(target, from.address + (range.start + at) as u64, self.stream()) }
                .map_err(cuda("cuMemcpyDtoH"))?;
            if let Some((at, bytes)) = before.take() {
                take(at, bytes);
            }
            self.synchronize()?;
            before = Some((at, target));
        }
        if let Some((at, bytes)) = before {
            take(at, bytes);
        }
        Ok(())
    }

    /// Turns L2 lines that a kernel has set aside (persisting accesses) back into ordinary ones, if the chip has such lines.
    ///
    /// # Errors
    /// The driver refuses.
    pub fn reset_persisting_l2(&self) -> Result<(), DeviceError> {
        if self.attributes().compute_capability < PERSISTING_L2 {
            return Ok(());
        }
        // SAFETY: takes nothing; the context of this thread is the device's.
        unsafe { sys::cuCtxResetPersistingL2Cache() }.result().map_err(cuda("cuCtxResetPersistingL2Cache"))
    }
}

fn inside(bytes: usize, range: &Range<usize>) -> Result<(), DeviceError> {
    if range.start <= range.end && range.end <= bytes {
        return Ok(());
    }
    Err(DeviceError::Launch(format!("bytes {} to {} of an allocation of {bytes}", range.start, range.end)))
}
