//! Warms the L2 cache: memory is read by the multiprocessors, for what that leaves in the caches.

use super::device::CudaDevice;
use super::error::DeviceError;
use super::kernel::LoadedKernel;
use super::memory::DeviceMemory;

/// The kernel; ends with NUL, as the driver wants it.
const PTX: &str = concat!(include_str!("warm.ptx"), "\0");
const ENTRY: &str = "ncugate_warm";
/// Threads of a block, as `warm.ptx` has it.
const THREADS: usize = 256;
/// Bytes that a thread reads unless there are more than the largest grid reads so.
const BYTES_A_THREAD: usize = 64;
/// Most blocks: eight on each multiprocessor of the largest chips.
const MAX_BLOCKS: usize = 1056;

/// The kernel that reads, on a device.
#[derive(Debug)]
pub struct CacheWarmer {
    kernel: LoadedKernel,
    /// Where the sum would go that no memory adds up to but by chance.
    sum: DeviceMemory,
}

impl CacheWarmer {
    /// What a profiler calls its kernel.
    pub const KERNEL: &'static str = ENTRY;

    /// Loads the kernel.
    ///
    /// # Errors
    /// The driver cannot compile it, or there is no memory.
    pub fn new(device: &CudaDevice) -> Result<Self, DeviceError> {
        Ok(Self { kernel: device.load_text(PTX, ENTRY)?, sum: device.allocate(8)? })
    }

    /// Queues that all of `memory` is read. It lives until that was waited for.
    ///
    /// # Errors
    /// The driver refuses.
    pub fn warm(&self, device: &CudaDevice, memory: &DeviceMemory) -> Result<(), DeviceError> {
        let words = [memory.address(), memory.bytes() as u64, 0x9e37_79b9_7f4a_7c15, self.sum.address()];
        let blocks = memory.bytes().div_ceil(THREADS * BYTES_A_THREAD).clamp(1, MAX_BLOCKS);
        device.launch_plain(&self.kernel, [blocks as u32, 1, 1], [THREADS as u32, 1, 1], &words)
    }
}
