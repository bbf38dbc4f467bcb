//! Flushes the L2 cache as ncu does: nothing is left to write back.

use super::cache_warmer::CacheWarmer;
use super::device::CudaDevice;
use super::error::DeviceError;
use super::memory::DeviceMemory;

/// Memory of twice the size of the L2 cache, read before a launch and never written. The cache then holds neither the
/// launch's buffers nor lines that must be written back during the launch (`tests/gpu/isolated.sh`, columns `clean` and
/// `dirty`).
#[derive(Debug)]
pub struct CacheFlush {
    warmer: CacheWarmer,
    memory: DeviceMemory,
}

impl CacheFlush {
    /// Allocates the memory.
    ///
    /// # Errors
    /// Memory runs out.
    pub fn new(device: &CudaDevice) -> Result<Self, DeviceError> {
        let memory = device.allocate(2 * device.attributes().l2_bytes as usize)?;
        device.fill(&memory, 0)?;
        Ok(Self { warmer: CacheWarmer::new(device)?, memory })
    }

    /// Queues a flush.
    ///
    /// # Errors
    /// The driver refuses.
    pub fn queue(&self, device: &CudaDevice) -> Result<(), DeviceError> {
        self.warmer.warm(device, &self.memory)
    }
}
