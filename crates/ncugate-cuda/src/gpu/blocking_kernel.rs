//! The blocking kernel, as `nvbench` has it: before what is timed the device waits in a kernel until the host has queued everything, so
//! that no time of the host is in a sample, however slow or busy the host is.

use super::device::CudaDevice;
use super::error::DeviceError;
use super::kernel::LoadedKernel;
use super::memory::PinnedMemory;
use std::rc::Rc;
use std::sync::atomic::{AtomicU32, Ordering};

/// The kernel; ends with NUL, as the driver wants it.
const PTX: &str = concat!(include_str!("blocking.ptx"), "\0");
const ENTRY: &str = "ncugate_blocking";
/// Nanoseconds after which the device goes on by itself, should the host never get there.
const LIMIT_NS: u64 = 1_000_000_000;

/// The kernel that waits, on a device, and the word of the host that it looks at.
#[derive(Debug)]
pub struct BlockingKernel {
    kernel: LoadedKernel,
    word: Rc<PinnedMemory>,
}

/// A device that waits, or will; it goes on when this is dropped.
#[derive(Debug)]
pub struct BlockedDevice(Rc<PinnedMemory>);

impl BlockingKernel {
    /// Loads the kernel.
    ///
    /// # Errors
    /// The driver cannot compile it, or there is no page-locked memory.
    pub fn new(device: &CudaDevice) -> Result<Self, DeviceError> {
        Ok(Self { kernel: device.load_text(PTX, ENTRY)?, word: Rc::new(device.pinned(size_of::<u32>())?) })
    }

    /// Queues that the device waits until what is given is dropped. The wait before has ended.
    ///
    /// # Errors
    /// The driver refuses.
    pub fn block(&self, device: &CudaDevice) -> Result<BlockedDevice, DeviceError> {
        write(&self.word, 0);
        self.launch(device, LIMIT_NS)?;
        Ok(BlockedDevice(Rc::clone(&self.word)))
    }

    /// Queues a launch that does not wait, or adds it to the graph being captured.
    ///
    /// # Errors
    /// The driver refuses.
    pub fn pass(&self, device: &CudaDevice) -> Result<(), DeviceError> {
        self.launch(device, 0)
    }

    fn launch(&self, device: &CudaDevice, limit: u64) -> Result<(), DeviceError> {
        device.launch_plain(&self.kernel, [1, 1, 1], [1, 1, 1], &[self.word.address(), limit])
    }
}

impl Drop for BlockedDevice {
    fn drop(&mut self) {
        write(&self.0, 1);
    }
}

fn write(word: &PinnedMemory, value: u32) {
    // SAFETY: page-locked memory of four bytes that starts at a page, that nothing else of the host refers to, and that the device reads
    // alone.
    unsafe { AtomicU32::from_ptr(word.pointer.cast()) }.store(value, Ordering::Release);
}
