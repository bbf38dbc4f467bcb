//! Copies of device memory by the multiprocessors.
//!
//! The driver's copies can run on a copy engine. Work queued behind such a copy waits some microseconds for it, which would be
//! part of a sample. Data copied here is evicted from the L2 cache first, so that the timed graphs stay in it.

use super::device::CudaDevice;
use super::error::DeviceError;
use super::kernel::LoadedKernel;
use super::memory::DeviceMemory;
use std::ops::Range;

/// The kernel; ends with a NUL, as the driver requires.
const PTX: &str = concat!(include_str!("copy.ptx"), "\0");
const ENTRY: &str = "ncugate_copy";
/// Threads of a block, as in `copy.ptx`.
const THREADS: usize = 256;
/// Bytes that a thread copies; more only if the largest grid would not copy everything.
const BYTES_A_THREAD: usize = 32;
/// Maximum number of blocks: eight per multiprocessor of the largest chips.
const MAX_BLOCKS: usize = 1056;
/// Alignment of addresses, in bytes.
const ALIGNMENT: usize = 16;

/// The copy kernel on a device.
#[derive(Debug)]
pub struct Copier {
    kernel: LoadedKernel,
}

impl Copier {
    /// Loads the kernel.
    ///
    /// # Errors
    /// The driver cannot compile it.
    pub fn new(device: &CudaDevice) -> Result<Self, DeviceError> {
        Ok(Self { kernel: device.load_text(PTX, ENTRY)? })
    }

    /// Queues a copy of `range` of `from` to offset `at` of `to`, or adds it to the graph being captured. `at` and the start of
    /// the range are multiples of 16. Both must live until the copy is complete.
    ///
    /// # Errors
    /// A range is outside of its memory or not aligned, or the driver refuses.
    pub fn copy(
        &self,
        device: &CudaDevice,
        to: &DeviceMemory,
        at: usize,
        from: &DeviceMemory,
        range: &Range<usize>,
    ) -> Result<(), DeviceError> {
        inside(from, range)?;
        inside(to, &(at..at + range.len()))?;
        if range.is_empty() {
            return Ok(());
        }
        let words = [to.address() + at as u64, from.address() + range.start as u64, range.len() as u64];
        let blocks = range.len().div_ceil(THREADS * BYTES_A_THREAD).clamp(1, MAX_BLOCKS);
        device.launch_plain(&self.kernel, [blocks as u32, 1, 1], [THREADS as u32, 1, 1], &words)
    }
}

fn inside(memory: &DeviceMemory, range: &Range<usize>) -> Result<(), DeviceError> {
    if range.start <= range.end && range.end <= memory.bytes() && range.start.is_multiple_of(ALIGNMENT) {
        return Ok(());
    }
    let (start, end, bytes) = (range.start, range.end, memory.bytes());
    Err(DeviceError::Launch(format!("cannot copy bytes {start} to {end} of an allocation of {bytes}")))
}
