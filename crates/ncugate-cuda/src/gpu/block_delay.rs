//! A kernel that runs next to another one and delays its blocks, so that they start in another order at every launch.

use super::device::CudaDevice;
use super::error::{DeviceError, cuda};
use super::kernel::LoadedKernel;
use cudarc::driver::{result, sys};
use ncugate_model::LaunchMode;

/// The kernel; ends with a NUL, as the driver requires.
const PTX: &str = concat!(include_str!("delay.ptx"), "\0");
const ENTRY: &str = "ncugate_delay";
/// Two such blocks fill a multiprocessor of any chip, so that no other block starts on it until one of them has ended.
const THREADS: u32 = 1024;
const BLOCKS_PER_SM: u32 = 2;
/// Longest delay of a block. The second launch reaches the device a few microseconds after the first, so the blocks end
/// while it is waiting for room.
const LIMIT_NS: u64 = 100_000;

/// The delaying kernel and its stream.
#[derive(Debug)]
pub struct BlockDelay {
    kernel: LoadedKernel,
    stream: sys::CUstream,
    sms: u32,
}

impl BlockDelay {
    /// Loads the kernel.
    ///
    /// # Errors
    /// The driver cannot compile it or create a stream.
    pub fn new(device: &CudaDevice) -> Result<Self, DeviceError> {
        let kernel = device.load_text(PTX, ENTRY)?;
        let stream = result::stream::create(result::stream::StreamKind::NonBlocking);
        let stream = stream.map_err(cuda("cuStreamCreate"))?;
        Ok(Self { kernel, stream, sms: device.attributes().sms })
    }

    /// Occupies the device for at most `LIMIT_NS`, by an odd seed the whole of it and by an even one every second
    /// multiprocessor: some blocks of the variant then start at once and others wait.
    ///
    /// # Errors
    /// The driver refuses.
    pub fn begin(&self, device: &CudaDevice, seed: u64) -> Result<(), DeviceError> {
        let blocks = if seed % 2 == 1 { self.sms * BLOCKS_PER_SM } else { self.sms.div_ceil(2) };
        let launch = (LaunchMode::Ordinary, self.stream);
        device.launch_words(&self.kernel, ([blocks, 1, 1], [THREADS, 1, 1]), launch, &[seed, LIMIT_NS])
    }
}

impl Drop for BlockDelay {
    fn drop(&mut self) {
        // SAFETY: created by `new`; the driver lets queued work end.
        let _ = unsafe { result::stream::destroy(self.stream) };
    }
}
