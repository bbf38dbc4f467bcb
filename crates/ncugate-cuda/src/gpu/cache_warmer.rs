//! Warms the L2 cache: the multiprocessors read memory for its effect on the caches.

use super::device::CudaDevice;
use super::error::DeviceError;
use super::kernel::LoadedKernel;
use super::memory::DeviceMemory;

/// The kernel; ends with a NUL, as the driver requires.
const PTX: &str = concat!(include_str!("warm.ptx"), "\0");
const ENTRY: &str = "ncugate_warm";
/// Threads of a block, as in `warm.ptx`.
const THREADS: usize = 256;
/// Bytes that a thread reads; more only if the largest grid would not read everything.
const BYTES_A_THREAD: usize = 64;
/// Maximum number of blocks: eight per multiprocessor of the largest chips.
const MAX_BLOCKS: usize = 1056;

/// The reading kernel on a device.
#[derive(Debug)]
pub struct CacheWarmer {
    kernel: LoadedKernel,
    /// Destination of the sum. The kernel writes it only for a sum that occurs by chance alone.
    sum: DeviceMemory,
}

impl CacheWarmer {
    /// The name of its kernel in a profiler.
    pub const KERNEL: &'static str = ENTRY;

    /// Loads the kernel.
    ///
    /// # Errors
    /// The driver cannot compile it, or memory runs out.
    pub fn new(device: &CudaDevice) -> Result<Self, DeviceError> {
        Ok(Self { kernel: device.load_text(PTX, ENTRY)?, sum: device.allocate(8)? })
    }

    /// Queues a read of all of `memory`, which must live until the read is complete.
    ///
    /// # Errors
    /// The driver refuses.
    pub fn warm(&self, device: &CudaDevice, memory: &DeviceMemory) -> Result<(), DeviceError> {
        let words = [memory.address(), memory.bytes() as u64, 0x9e37_79b9_7f4a_7c15, self.sum.address()];
        let blocks = memory.bytes().div_ceil(THREADS * BYTES_A_THREAD).clamp(1, MAX_BLOCKS);
        device.launch_plain(&self.kernel, [blocks as u32, 1, 1], [THREADS as u32, 1, 1], &words)
    }
}
