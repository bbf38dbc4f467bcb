//! Flushes the L2 cache as ncu does: nothing is left to write back.

use super::cache_warmer::CacheWarmer;
use super::device::CudaDevice;
use super::error::DeviceError;
use super::kernel::LoadedKernel;
use super::memory::DeviceMemory;
use ncugate_model::ComputeCapability;

/// The kernel that discards lines; ends with a NUL, as the driver requires.
const DISCARD: &str = concat!(include_str!("discard.ptx"), "\0");
/// The first compute capability with `discard.global.L2`.
const DISCARDING: ComputeCapability = ComputeCapability::new(8, 0);
const DISCARD_ENTRY: &str = "ncugate_discard";
const THREADS: u32 = 256;
const BLOCKS: u32 = 1024;
/// Bytes of a cache line, of which the memory has a whole number.
const LINE: usize = 128;

/// Memory of several L2 caches, read before a launch and never written, whose lines are then discarded. The cache holds
/// neither the launch's buffers nor lines that must be written back during the launch, and its lines are free
/// (`tests/gpu/isolated.sh`, columns `discard`, `clean` and `dirty`).
#[derive(Debug)]
pub struct CacheFlush {
    warmer: CacheWarmer,
    discard: Option<LoadedKernel>,
    memory: DeviceMemory,
}

impl CacheFlush {
    /// Names of its kernels in a profiler.
    pub const KERNELS: [&'static str; 2] = [CacheWarmer::KERNEL, DISCARD_ENTRY];

    /// Allocates the memory.
    ///
    /// # Errors
    /// Memory runs out.
    pub fn new(device: &CudaDevice) -> Result<Self, DeviceError> {
        let attributes = device.attributes();
        let memory = device.allocate(4 * (attributes.l2_bytes as usize).next_multiple_of(LINE))?;
        device.fill(&memory, 0)?;
        let can_discard = attributes.compute_capability >= DISCARDING;
        let discard = can_discard.then(|| device.load_text(DISCARD, DISCARD_ENTRY)).transpose()?;
        Ok(Self { warmer: CacheWarmer::new(device)?, discard, memory })
    }

    /// Queues a flush.
    ///
    /// # Errors
    /// The driver refuses.
    pub fn queue(&self, device: &CudaDevice) -> Result<(), DeviceError> {
        self.warmer.warm(device, &self.memory)?;
        let words = [self.memory.address(), self.memory.bytes() as u64];
        let discarded = |kernel| device.launch_plain(kernel, [BLOCKS, 1, 1], [THREADS, 1, 1], &words);
        self.discard.as_ref().map_or(Ok(()), discarded)
    }
}
