//! Kernels that measure the measuring itself: an empty one, and one that reads the multiprocessors' clock.

use super::device::CudaDevice;
use super::error::DeviceError;
use super::kernel::LoadedKernel;
use super::memory::PinnedMemory;
use ncugate_model::LaunchMode;

/// The kernels; ends with a NUL, as the driver requires.
const PTX: &str = concat!(include_str!("probe.ptx"), "\0");
/// How long the clock is read: 2.5 % of it is the coarsest step of the global timer, 1 us.
const CLOCK_NS: u64 = 40_000;

/// A kernel that does nothing. Its duration is what a clock adds to the work of every launch.
#[derive(Debug)]
pub struct EmptyKernel(LoadedKernel);

impl EmptyKernel {
    /// Its name in a profiler.
    pub const NAME: &'static str = "ncugate_empty";

    /// Loads the kernel.
    ///
    /// # Errors
    /// The driver cannot compile it.
    pub fn new(device: &CudaDevice) -> Result<Self, DeviceError> {
        device.load_text(PTX, Self::NAME).map(Self)
    }

    /// Queues a launch, or adds it to the graph being captured.
    ///
    /// # Errors
    /// The driver refuses.
    pub fn launch(&self, device: &CudaDevice, mode: LaunchMode) -> Result<(), DeviceError> {
        device.launch_words(&self.0, ([1, 1, 1], [32, 1, 1]), (mode, device.stream()), &[])
    }
}

/// Reads the clock of the multiprocessors right before a launch.
#[derive(Debug)]
pub struct ClockReader {
    kernel: LoadedKernel,
    /// Nanoseconds, then clocks.
    read: PinnedMemory,
}

impl ClockReader {
    /// Loads the kernel.
    ///
    /// # Errors
    /// The driver cannot compile it, or page-locked memory runs out.
    pub fn new(device: &CudaDevice) -> Result<Self, DeviceError> {
        Ok(Self { kernel: device.load_text(PTX, "ncugate_clock")?, read: device.pinned(2 * size_of::<u64>())? })
    }

    /// Queues a reading, which takes 40 us.
    ///
    /// # Errors
    /// The driver refuses.
    pub fn queue(&self, device: &CudaDevice) -> Result<(), DeviceError> {
        device.launch_plain(&self.kernel, [1, 1, 1], [1, 1, 1], &[CLOCK_NS, self.read.address()])
    }

    /// The last reading in MHz, after the device was synchronised; NaN if the device's timer stands still.
    pub fn mhz(&self) -> f64 {
        let word = |at: usize| {
            let bytes = self.read.as_slice().get(at..at + 8).and_then(|bytes| bytes.try_into().ok());
            bytes.map_or(0, u64::from_ne_bytes) as f64
        };
        1e3 * word(8) / word(0)
    }
}
