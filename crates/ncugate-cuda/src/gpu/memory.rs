//! Device memory and page-locked host memory. Dropping a value frees it.

use super::error::DeviceError;
use cudarc::driver::{result, sys};

#[derive(Debug)]
pub struct DeviceMemory {
    pub(super) address: sys::CUdeviceptr,
    pub(super) bytes: usize,
}

impl DeviceMemory {
    pub const fn address(&self) -> u64 {
        self.address
    }

    pub const fn bytes(&self) -> usize {
        self.bytes
    }
}

impl Drop for DeviceMemory {
    fn drop(&mut self) {
        // SAFETY: allocated by `Device::allocate` and freed once.
        let _ = unsafe { result::free_sync(self.address) };
    }
}

/// Page-locked host memory.
#[derive(Debug)]
pub struct PinnedMemory {
    pub(super) pointer: *mut u8,
    pub(super) bytes: usize,
}

impl PinnedMemory {
    /// Its address on host and device: with unified addressing, page-locked memory is mapped at the same address.
    pub(super) fn address(&self) -> u64 {
        self.pointer as u64
    }

    pub const fn as_slice(&self) -> &[u8] {
        // SAFETY: the allocation is of that many initialised bytes, and copies into it end before they return.
        unsafe { std::slice::from_raw_parts(self.pointer, self.bytes) }
    }

    pub const fn as_mut_slice(&mut self) -> &mut [u8] {
        // SAFETY: as above, and `self` is borrowed mutably.
        unsafe { std::slice::from_raw_parts_mut(self.pointer, self.bytes) }
    }
}

impl Drop for PinnedMemory {
    fn drop(&mut self) {
        // SAFETY: allocated by `Device::pinned` and freed once.
        let _ = unsafe { result::free_host(self.pointer.cast()) };
    }
}

/// Fails if the two allocations of a copy differ in size.
pub(super) fn check_sizes(memory: &DeviceMemory, pinned: &PinnedMemory) -> Result<(), DeviceError> {
    if memory.bytes == pinned.bytes {
        return Ok(());
    }
    Err(DeviceError::Launch(format!("device memory has {} bytes, but host memory {}", memory.bytes, pinned.bytes)))
}
