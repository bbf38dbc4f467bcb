//! The blocking kernel, as `nvbench` has it: before what is timed the device waits in a kernel until the host has queued everything, so
//! that no time of the host is in a sample, however slow or busy the host is.

use super::device::Device;
use super::error::DeviceError;
use super::kernel::LoadedKernel;
use super::memory::PinnedMemory;
use std::ffi::c_void;
use std::rc::Rc;
use std::sync::atomic::{AtomicU32, Ordering};

/// The kernel; ends with NUL, as the driver wants it.
const PTX: &str = concat!(include_str!("blocking.ptx"), "\0");
/// Its entry.
const ENTRY: &str = "ncugate_blocking";
/// Nanoseconds after which the device goes on by itself, should the host never get there.
const LIMIT_NS: u64 = 1_000_000_000;

/// The kernel that waits, on a device, and the memory of the host that it shares.
#[derive(Debug)]
pub struct BlockingKernel {
    kernel: LoadedKernel,
    /// The word that it looks at.
    word: Rc<PinnedMemory>,
    /// Where it says how long it waited.
    waited: PinnedMemory,
}

/// How long the device waited, by its own clocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Waited {
    /// Cycles of the multiprocessor.
    pub cycles: u64,
    /// Nanoseconds.
    pub nanoseconds: u64,
}

/// A device that waits, or will; it goes on when this is dropped.
#[derive(Debug)]
pub struct BlockedDevice(Rc<PinnedMemory>);

impl Waited {
    /// Both together.
    #[must_use]
    pub const fn and(self, other: Self) -> Self {
        Self {
            cycles: self.cycles.saturating_add(other.cycles),
            nanoseconds: self.nanoseconds.saturating_add(other.nanoseconds),
        }
    }

    /// The clock of the multiprocessor meanwhile, in megahertz; none where it did not wait.
    pub fn megahertz(self) -> Option<f64> {
        (self.nanoseconds > 0).then(|| 1e3 * self.cycles as f64 / self.nanoseconds as f64)
    }
}

impl BlockingKernel {
    /// Loads the kernel.
    ///
    /// # Errors
    /// The driver cannot compile it, or there is no page-locked memory.
    pub fn new(device: &Device) -> Result<Self, DeviceError> {
        let waited = device.pinned(size_of::<Waited>())?;
        Ok(Self { kernel: device.load_text(PTX, ENTRY)?, word: Rc::new(device.pinned(size_of::<u32>())?), waited })
    }

    /// How long the last wait was, once the device was waited for.
    pub fn waited(&self) -> Waited {
        let (words, _) = self.waited.as_slice().as_chunks::<8>();
        let word = |at: usize| words.get(at).map_or(0, |word| u64::from_le_bytes(*word));
        Waited { cycles: word(0), nanoseconds: word(1) }
    }

    /// Queues that the device waits until what is given is dropped. The wait before has ended.
    ///
    /// # Errors
    /// The driver refuses.
    pub fn block(&self, device: &Device) -> Result<BlockedDevice, DeviceError> {
        write(&self.word, 0);
        let (mut flag, mut limit, mut waited) = (self.word.address(), LIMIT_NS, self.waited.address());
        let mut parameters =
            [&mut flag, &mut limit, &mut waited].map(|value| std::ptr::from_mut(value).cast::<c_void>());
        device.launch_plain(&self.kernel, [1, 1, 1], [1, 1, 1], &mut parameters)?;
        Ok(BlockedDevice(Rc::clone(&self.word)))
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
