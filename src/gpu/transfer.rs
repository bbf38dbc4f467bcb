//! Fills of device memory, copies of a part of it to the host, and the state of the L2 cache.

use super::device::Device;
use super::error::{DeviceError, cuda};
use super::memory::{DeviceMemory, PinnedMemory};
use crate::model::ComputeCapability;
use cudarc::driver::{result, sys};
use std::ops::Range;

/// The compute capability that brought an L2 cache with a part that persists.
const PERSISTING_L2: ComputeCapability = ComputeCapability::new(8, 0);

impl Device {
    /// Queues a fill of the whole allocation with a byte.
    ///
    /// # Errors
    /// The driver refuses.
    pub fn fill(&self, memory: &DeviceMemory, byte: u8) -> Result<(), DeviceError> {
        if memory.bytes == 0 {
            return Ok(());
        }
        // SAFETY: the allocation is of that many bytes.
        unsafe { result::memset_d8_async(memory.address, byte, memory.bytes, self.stream()) }
            .map_err(cuda("cuMemsetD8"))
    }

    /// Copies a range of device memory to the start of host memory and waits; gives the bytes.
    ///
    /// # Errors
    /// The range is outside of the memory or larger than `to`, or the copy fails.
    pub fn download_range<'h>(
        &self,
        to: &'h mut PinnedMemory,
        from: &DeviceMemory,
        range: &Range<usize>,
    ) -> Result<&'h [u8], DeviceError> {
        inside(from.bytes, range)?;
        inside(to.bytes, &(0..range.len()))?;
        let target = &mut to.as_mut_slice()[..range.len()];
        if !target.is_empty() {
            // SAFETY: both are allocations of at least that many bytes, alive until the synchronisation.
            unsafe { result::memcpy_dtoh_async(target, from.address + range.start as u64, self.stream()) }
                .map_err(cuda("cuMemcpyDtoH"))?;
        }
        self.synchronize()?;
        Ok(target)
    }

    /// Makes lines of L2 that a kernel has set aside (persisting accesses) ordinary ones again, where the chip knows such
    /// lines.
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
