//! The blocking kernel, as in `nvbench`: before the timed work, the device waits in a kernel until the host has queued
//! everything. No host time is then in a sample, even if the host is slow or busy.

use super::device::CudaDevice;
use super::error::DeviceError;
use super::kernel::LoadedKernel;
use super::memory::PinnedMemory;
use std::rc::Rc;
use std::sync::atomic::{AtomicU32, Ordering};

/// The kernel; ends with a NUL, as the driver requires.
const PTX: &str = concat!(include_str!("blocking.ptx"), "\0");
const ENTRY: &str = "ncugate_blocking";
/// Nanoseconds after which the device continues even if the host never releases it.
const LIMIT_NS: u64 = 1_000_000_000;

/// The waiting kernel on a device, and the word of host memory that it polls.
#[derive(Debug)]
pub struct BlockingKernel {
    kernel: LoadedKernel,
    word: Rc<PinnedMemory>,
}

/// A waiting device, now or later in its queue; dropping this releases it.
#[derive(Debug)]
pub struct BlockedDevice(Rc<PinnedMemory>);

impl BlockingKernel {
    /// Loads the kernel.
    ///
    /// # Errors
    /// The driver cannot compile it, or page-locked memory runs out.
    pub fn new(device: &CudaDevice) -> Result<Self, DeviceError> {
        Ok(Self { kernel: device.load_text(PTX, ENTRY)?, word: Rc::new(device.pinned(size_of::<u32>())?) })
    }

    /// Queues a wait that lasts until the returned value is dropped. The previous wait has ended.
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
    // SAFETY: page-locked memory of four bytes that starts at a page. Nothing else on the host refers to it, and the device
    // only reads it.
    unsafe { AtomicU32::from_ptr(word.pointer.cast()) }.store(value, Ordering::Release);
}
