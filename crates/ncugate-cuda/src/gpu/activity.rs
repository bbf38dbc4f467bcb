//! Kernels traced by CUPTI's activity records: when the GPU began and ended with each, and with what it was launched. That needs no
//! permission, unlike counters.
//!
//! Tracing makes launches slower for the host. It belongs to a process that times nothing.

use super::activity_library::{ActivityError, Cupti, NextRecord};
use super::activity_record::{CONCURRENT_KERNEL, is_kernel, kind, launch};
use ncugate_model::TracedLaunch;
use std::collections::HashMap;
use std::ffi::{CStr, c_void};
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Words of 8 bytes of a buffer for records: a MiB, which CUPTI's guide has as the least.
const BUFFER: usize = 1 << 17;
/// Most buffers that CUPTI has at a time.
const MOST_BUFFERS: usize = 64;
/// `CUPTI_ERROR_MAX_LIMIT_REACHED`: there is no further record.
const NO_MORE: u32 = 12;
/// Bytes of a kernel's name that are kept.
const MOST_NAME: usize = 4096;

/// What the callbacks keep. CUPTI calls them on threads of its own.
#[derive(Default)]
struct Collector {
    next: Option<NextRecord>,
    /// Buffers that CUPTI has, by their addresses.
    lent: HashMap<usize, Box<[u64]>>,
    launches: Vec<TracedLaunch>,
    damage: Option<String>,
}

static COLLECTOR: Mutex<Option<Collector>> = Mutex::new(None);

/// The collector; no call of CUPTI is made while it is held.
fn collector() -> MutexGuard<'static, Option<Collector>> {
    COLLECTOR.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Tracing of all kernels of this process, until it is dropped. There is one at a time.
#[derive(Debug)]
pub struct ActivityTracer {
    cupti: Cupti,
}

impl ActivityTracer {
    /// Loads the library and begins. What was launched before is not traced; a device is best opened afterwards.
    ///
    /// # Errors
    /// The library is of no use, or refuses.
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

    /// Forgets the launches until now. The device has ended all of them.
    ///
    /// # Errors
    /// As [`Self::take`].
    pub fn forget(&self) -> Result<(), ActivityError> {
        self.cupti.flush(true)?;
        self.take(0).map(drop)
    }

    /// The launches since the last call, in the order they ran. The device has ended all of them; `expected` are known of.
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
        // Those of several buffers do not come in their order.
        launches.sort_by_key(|launch| launch.start_ns);
        Ok(launches)
    }
}

impl Drop for ActivityTracer {
    fn drop(&mut self) {
        // Nothing is asked of it any more.
        let _ = self.cupti.disable(CONCURRENT_KERNEL);
        let _ = self.cupti.flush(true);
    }
}

/// CUPTI wants a buffer.
unsafe extern "C" fn requested(buffer: *mut *mut u8, size: *mut usize, records: *mut usize) {
    let mut held = collector();
    let lent = held.as_mut().filter(|all| all.lent.len() < MOST_BUFFERS).map(|all| {
        let mut memory = vec![0_u64; BUFFER].into_boxed_slice();
        let address = memory.as_mut_ptr();
        all.lent.insert(address as usize, memory);
        address
    });
    let (address, bytes) = lent.map_or((std::ptr::null_mut(), 0), |address| (address.cast(), BUFFER * 8));
    // SAFETY: CUPTI gives three places to write to. The memory is aligned to 8 bytes, of the size that is said, and neither moved
    // nor freed before CUPTI gives it back. Without memory a size of 0 makes CUPTI drop records; as many records as fit are allowed.
    unsafe {
        *buffer = address;
        *size = bytes;
        *records = 0;
    }
}

/// CUPTI gives a buffer back.
unsafe extern "C" fn completed(_context: *mut c_void, _stream: u32, buffer: *mut u8, _size: usize, valid: usize) {
    let taken = collector().as_mut().and_then(|all| Some((all.next?, all.lent.remove(&(buffer as usize))?)));
    // An address that was not lent, or was given back before, is nobody's.
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
        // SAFETY: the buffer has `valid` bytes that CUPTI has written; the record is null, or the one that it gave before.
        let status = unsafe { next(start, valid, &raw mut record) };
        match status {
            0 => {}
            NO_MORE => return Ok(launches),
            failed => return Err(format!("cuptiActivityGetNextRecord failed with {failed}")),
        }
        let at = (record as usize).wrapping_sub(start as usize);
        if at >= valid || before.is_some_and(|before| at <= before) {
            return Err("a record is not behind the one before it".to_owned());
        }
        before = Some(at);
        // SAFETY: `at` is below `valid`, which is at most the bytes of `memory`; nobody writes to them any more.
        let bytes = unsafe { std::slice::from_raw_parts(start.add(at), valid - at) };
        if kind(bytes).is_some_and(is_kernel) {
            let (launch, address) = launch(bytes).ok_or("the record of a kernel is cut off")?;
            launches.push(TracedLaunch { kernel: name(address), ..launch });
        }
    }
}

/// The name at an address; empty where there is none.
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

    /// As CUPTI does it, over records of 208 bytes whose kind is not 0.
    unsafe extern "C" fn next(buffer: *mut u8, valid: usize, record: *mut *mut u8) -> u32 {
        // SAFETY: the tests give a buffer of `valid` bytes and a place for a pointer.
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
