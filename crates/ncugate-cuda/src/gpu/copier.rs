//! Copies of device memory by the multiprocessors.
//!
//! The driver's copies may run on a copy engine: what is queued behind one waits some microseconds for it, which would be in
//! the time of a sample. What is copied here is the first to leave the L2 cache again, so that the graphs that are timed stay there.

use super::device::CudaDevice;
use super::error::DeviceError;
use super::kernel::LoadedKernel;
use super::memory::DeviceMemory;
use std::ops::Range;

/// The kernel; ends with NUL, as the driver wants it.
const PTX: &str = concat!(include_str!("copy.ptx"), "\0");
const ENTRY: &str = "ncugate_copy";
/// Threads of a block, as `copy.ptx` has it.
const THREADS: usize = 256;
/// Bytes that a thread copies unless there are more than the largest grid copies so.
const BYTES_A_THREAD: usize = 32;
/// Most blocks: eight on each multiprocessor of the largest chips.
const MAX_BLOCKS: usize = 1056;
/// What addresses are multiples of.
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

    /// Queues a copy of `range` of `from` to place `at` of `to`, or adds it to the graph being captured. `at` and the start
    /// of the range are multiples of 16. Both live until the copy was waited for.
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
