//! Kernels traced by CUPTI's activity records: when each kernel began and ended on the GPU, and its launch parameters. Unlike
//! counters, this needs no permission.
//!
//! Tracing slows down launches on the host, so it runs only in a process that times nothing.

use super::activity_library::{ActivityError, Cupti, NextRecord};
use super::activity_record::{CONCURRENT_KERNEL, is_kernel, kind, launch};
use ncugate_model::TracedLaunch;
use std::collections::HashMap;
use std::ffi::{CStr, c_void};
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Size of a buffer for records, in words of 8 bytes: 1 MiB, the minimum in CUPTI's guide.
const BUFFER: usize = 1 << 17;
/// Maximum number of buffers that CUPTI holds at a time.
const MOST_BUFFERS: usize = 64;
/// `CUPTI_ERROR_MAX_LIMIT_REACHED`: the buffer has no further record.
const NO_MORE: u32 = 12;
/// Maximum length of a kernel's name, in bytes.
const MOST_NAME: usize = 4096;

/// State of the callbacks. CUPTI calls them on its own threads.
#[derive(Default)]
struct Collector {
    next: Option<NextRecord>,
    /// Buffers that CUPTI holds, by address.
    lent: HashMap<usize, Box<[u64]>>,
    launches: Vec<TracedLaunch>,
    damage: Option<String>,
}

static COLLECTOR: Mutex<Option<Collector>> = Mutex::new(None);

/// The collector. No call into CUPTI is made while it is locked.
fn collector() -> MutexGuard<'static, Option<Collector>> {
    COLLECTOR.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Traces all kernels of this process until it is dropped. Only one exists at a time.
#[derive(Debug)]
pub struct ActivityTracer {
    cupti: Cupti,
}

impl ActivityTracer {
    /// Loads the library and starts tracing. Earlier launches are not traced; open the device afterwards.
    ///
    /// # Errors
    /// The library is unusable or refuses to trace.
    pub fn start(library: &Path) -> Result<Self, ActivityError> {
        let cupti = Cupti::load(library)?;
        *collector() = Some(Collector { next: Some(cupti.next), ..Collector::default() });
        cupti.register(requested, completed)?;
        cupti.enable(CONCURRENT_KERNEL)?;
        Ok(Self { cupti })
    }

    /// The CUDA release of the library (`13.0`).
    pub fn release(&self) -> &'static str {
        self.cupti.release.name
    }

    /// Forgets all launches so far. The device has completed all of them.
    ///
    /// # Errors
    /// As [`Self::take`].
    pub fn forget(&self) -> Result<(), ActivityError> {
        self.cupti.flush(true)?;
        self.take(0).map(drop)
    }

    /// The launches since the last call, in the order they ran. The device has completed all of them; the caller knows of
    /// `expected`.
    ///
    /// # Errors
    /// CUPTI fails, or its records cannot be read.
    pub fn take(&self, expected: usize) -> Result<Vec<TracedLaunch>, ActivityError> {
        self.cupti.flush(false)?;
        let known = collector().as_ref().map_or(0, |all| all.launches.len());
        if known < expected {
            self.cupti.flush(true)?;
        }
        let mut held = collector();
        let Some(all) = held.as_mut() else { return Ok(Vec::new()) };
        if let Some(damage) = all.damage.take() {
            return Err(ActivityError::Records(damage));
        }
        let mut launches = std::mem::take(&mut all.launches);
        // Records from several buffers are not in order.
        launches.sort_by_key(|launch| launch.start_ns);
        Ok(launches)
    }
}

impl Drop for ActivityTracer {
    fn drop(&mut self) {
        // Errors do not matter: the tracer is not used again.
        let _ = self.cupti.disable(CONCURRENT_KERNEL);
        let _ = self.cupti.flush(true);
    }
}

/// CUPTI requests a buffer.
unsafe extern "C" fn requested(buffer: *mut *mut u8, size: *mut usize, records: *mut usize) {
    let mut held = collector();
    let lent = held.as_mut().filter(|all| all.lent.len() < MOST_BUFFERS).map(|all| {
        let mut memory = vec![0_u64; BUFFER].into_boxed_slice();
        let address = memory.as_mut_ptr();
        all.lent.insert(address as usize, memory);
        address
    });
    let (address, bytes) = lent.map_or((std::ptr::null_mut(), 0), |address| (address.cast(), BUFFER * 8));
    // SAFETY: CUPTI provides three places to write to. The memory is aligned to 8 bytes, has the reported size, and is neither
    // moved nor freed before CUPTI returns it. Without memory, a size of 0 makes CUPTI drop records. As many records as fit are
    // allowed.
    unsafe {
        *buffer = address;
        *size = bytes;
        *records = 0;
    }
}

/// CUPTI returns a buffer.
unsafe extern "C" fn completed(_context: *mut c_void, _stream: u32, buffer: *mut u8, _size: usize, valid: usize) {
    let taken = collector().as_mut().and_then(|all| Some((all.next?, all.lent.remove(&(buffer as usize))?)));
    // Ignore an address that was not lent or was already returned.
    let Some((next, mut memory)) = taken else { return };
    let read = read(next, &mut memory, valid);
    if let Some(all) = collector().as_mut() {
        match read {
            Ok(launches) => all.launches.extend(launches),
            Err(damage) => all.damage = Some(damage),
        }
    }
}

/// The launches whose records are in a buffer.
fn read(next: NextRecord, memory: &mut [u64], valid: usize) -> Result<Vec<TracedLaunch>, String> {
    let valid = valid.min(size_of_val(memory));
    let start = memory.as_mut_ptr().cast::<u8>();
    let (mut record, mut before, mut launches) = (std::ptr::null_mut(), None, Vec::new());
    loop {
        // SAFETY: the buffer has `valid` bytes that CUPTI has written; the record is null or the one that it returned before.
        let status = unsafe { next(start, valid, &raw mut record) };
        match status {
            0 => {}
            NO_MORE => return Ok(launches),
            failed => return Err(format!("cuptiActivityGetNextRecord failed with {failed}")),
        }
        let at = (record as usize).wrapping_sub(start as usize);
        if at >= valid || before.is_some_and(|before| at <= before) {
            return Err("records overlap".to_owned());
        }
        before = Some(at);
        // SAFETY: `at` is below `valid`, which is at most the bytes of `memory`; nobody writes to them any more.
        let bytes = unsafe { std::slice::from_raw_parts(start.add(at), valid - at) };
        if kind(bytes).is_some_and(is_kernel) {
            let (launch, address) = launch(bytes).ok_or("the record of a kernel is truncated")?;
            launches.push(TracedLaunch { kernel: name(address), ..launch });
        }
    }
}

/// The name at an address; empty for a null address.
fn name(address: usize) -> String {
    let address = std::ptr::with_exposed_provenance::<std::ffi::c_char>(address);
    if address.is_null() {
        return String::new();
    }
    // SAFETY: CUPTI keeps the names of kernels, which end with a NUL, as long as their records are handed over.
    let name = unsafe { CStr::from_ptr(address) }.to_string_lossy();
    name.chars().take(MOST_NAME).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Behaves like CUPTI, over records of 208 bytes whose kind is not 0.
    unsafe extern "C" fn next(buffer: *mut u8, valid: usize, record: *mut *mut u8) -> u32 {
        // SAFETY: the tests pass a buffer of `valid` bytes and a place for a pointer.
        unsafe {
            let following = if (*record).is_null() { buffer } else { (*record).add(208) };
            if following as usize + 208 > buffer as usize + valid {
                return NO_MORE;
            }
            *record = following;
        }
        0
    }

    unsafe extern "C" fn stuck(buffer: *mut u8, _valid: usize, record: *mut *mut u8) -> u32 {
        // SAFETY: as above.
        unsafe { *record = buffer };
        0
    }

    unsafe extern "C" fn elsewhere(_buffer: *mut u8, _valid: usize, record: *mut *mut u8) -> u32 {
        // SAFETY: as above.
        unsafe { *record = std::ptr::without_provenance_mut(8) };
        0
    }

    fn buffer(kernels: usize) -> Vec<u64> {
        let mut words = vec![0; 26 * kernels];
        for record in 0..kernels {
            words[26 * record] = if record == 1 { 1 } else { 10 };
            words[26 * record + 2] = 1_000;
            words[26 * record + 3] = 3_000;
            words[26 * record + 13] = c"kernel".as_ptr().expose_provenance() as u64;
        }
        words
    }

    #[test]
    fn records_of_kernels_are_read_and_others_are_passed_over() {
        let launches = read(next, &mut buffer(3), 3 * 208).unwrap();
        assert_eq!(launches.iter().map(|launch| launch.kernel.as_str()).collect::<Vec<_>>(), ["kernel", "kernel"]);
        assert!(launches.iter().all(|launch| launch.duration_ns() == Some(2_000)));
        assert_eq!(read(next, &mut buffer(3), 1 << 30).unwrap().len(), 2, "no further than the memory");
        assert_eq!(read(next, &mut buffer(1), 0).unwrap(), []);
    }

    #[test]
    fn a_library_that_gives_the_same_record_for_ever_or_one_from_elsewhere_is_an_error() {
        assert!(read(stuck, &mut buffer(1), 208).is_err());
        assert!(read(elsewhere, &mut buffer(1), 208).is_err());
    }
}
