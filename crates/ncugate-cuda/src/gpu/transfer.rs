//! Fills of device memory, copies of parts of it to the host, and the state of the L2 cache.

use super::device::CudaDevice;
use super::error::{DeviceError, cuda};
use super::memory::{DeviceMemory, PinnedMemory};
use cudarc::driver::sys::CUdevice_attribute as DeviceAttribute;
use cudarc::driver::{result, sys};
use ncugate_model::{ComputeCapability, L2Property};
use ncugate_phase::plan::L2Window;
use std::ffi::c_void;
use std::ops::Range;

/// The first compute capability whose L2 cache has a persisting part.
const PERSISTING_L2: ComputeCapability = ComputeCapability::new(8, 0);

impl CudaDevice {
    /// Queues a fill of the whole allocation with a byte.
    ///
    /// # Errors
    /// The driver refuses.
    pub fn fill(&self, memory: &DeviceMemory, byte: u8) -> Result<(), DeviceError> {
        self.fill_start(memory, memory.bytes, byte)
    }

    /// Queues a fill of the first bytes of an allocation with a byte.
    ///
    /// # Errors
    /// The allocation is smaller, or the driver refuses.
    pub fn fill_start(&self, memory: &DeviceMemory, bytes: usize, byte: u8) -> Result<(), DeviceError> {
        inside(memory.bytes, &(0..bytes))?;
        if bytes == 0 {
            return Ok(());
        }
        // SAFETY: the allocation has that many bytes.
        unsafe { result::memset_d8_async(memory.address, byte, bytes, self.stream()) }.map_err(cuda("cuMemsetD8"))
    }

    /// Copies a range of device memory to the start of host memory, in parts of `part` bytes. Passes on each part with its
    /// offset in the range, while the next one is being copied.
    ///
    /// # Errors
    /// The range is outside of the memory or larger than `to`, or a copy fails.
    pub fn download_in_parts(
        &self,
        to: &mut PinnedMemory,
        (from, range): (&DeviceMemory, &Range<usize>),
        part: usize,
        mut take: impl FnMut(usize, &[u8]),
    ) -> Result<(), DeviceError> {
        inside(from.bytes, range)?;
        inside(to.bytes, &(0..range.len()))?;
        let parts = to.as_mut_slice()[..range.len()].chunks_mut(part.max(1));
        let mut before: Option<(usize, &[u8])> = None;
        for (number, target) in parts.enumerate() {
            let at = number * part.max(1);
            // SAFETY: the part of the allocation is that large, is borrowed by nothing else, and lives until the
            // synchronisation.
            unsafe { result::memcpy_dtoh_async(target, from.address + (range.start + at) as u64, self.stream()) }
                .map_err(cuda("cuMemcpyDtoH"))?;
            if let Some((at, bytes)) = before.take() {
                take(at, bytes);
            }
            self.synchronize()?;
            before = Some((at, target));
        }
        if let Some((at, bytes)) = before {
            take(at, bytes);
        }
        Ok(())
    }

    /// Queues a copy of an allocation into another of its size.
    ///
    /// # Errors
    /// The sizes differ, or the driver refuses.
    pub(super) fn duplicate(&self, from: &DeviceMemory, to: &DeviceMemory) -> Result<(), DeviceError> {
        inside(to.bytes(), &(0..from.bytes()))?;
        // SAFETY: both are allocations of at least that many bytes, which outlive the queued work.
        unsafe { result::memcpy_dtod_async(to.address(), from.address(), from.bytes(), self.stream()) }
            .map_err(cuda("cuMemcpyDtoD"))
    }

    /// Turns L2 lines that a kernel has set aside (persisting accesses) back into ordinary ones, if the chip has such lines.
    ///
    /// # Errors
    /// The driver refuses.
    pub fn reset_persisting_l2(&self) -> Result<(), DeviceError> {
        if self.attributes().compute_capability < PERSISTING_L2 {
            return Ok(());
        }
        // SAFETY: takes nothing; the context of this thread is the device's.
        unsafe { sys::cuCtxResetPersistingL2Cache() }.result().map_err(cuda("cuCtxResetPersistingL2Cache"))
    }

    /// Sets that many bytes of the L2 cache aside for persisting lines, at most the device's maximum. A change turns all
    /// persisting lines back into ordinary ones, so that no variant finds those of another.
    ///
    /// # Errors
    /// The driver refuses.
    pub fn set_l2_aside(&self, bytes: u64) -> Result<(), DeviceError> {
        if self.l2_set_aside.get() == bytes {
            return Ok(());
        }
        self.synchronize()?;
        self.reset_persisting_l2()?;
        let most = device_limit(DeviceAttribute::CU_DEVICE_ATTRIBUTE_MAX_PERSISTING_L2_CACHE_SIZE)?;
        // SAFETY: takes values; the context of this thread is the device's.
        unsafe { sys::cuCtxSetLimit(sys::CUlimit::CU_LIMIT_PERSISTING_L2_CACHE_SIZE, bytes.min(most) as usize) }
            .result()
            .map_err(cuda("cuCtxSetLimit"))?;
        self.l2_set_aside.set(bytes);
        Ok(())
    }
}

/// A window of the plan over the buffer at an address; at most the device's maximum.
pub(super) fn access_policy(window: &L2Window, address: u64) -> Result<sys::CUaccessPolicyWindow, DeviceError> {
    use sys::CUaccessProperty as Property;
    let property = |property| match property {
        L2Property::Normal => Property::CU_ACCESS_PROPERTY_NORMAL,
        L2Property::Streaming => Property::CU_ACCESS_PROPERTY_STREAMING,
        L2Property::Persisting => Property::CU_ACCESS_PROPERTY_PERSISTING,
    };
    let most = device_limit(DeviceAttribute::CU_DEVICE_ATTRIBUTE_MAX_ACCESS_POLICY_WINDOW_SIZE)?;
    Ok(sys::CUaccessPolicyWindow {
        base_ptr: address as *mut c_void,
        num_bytes: window.bytes.min(most) as usize,
        hitRatio: window.hit_ratio as f32,
        hitProp: property(window.hit),
        missProp: property(window.miss),
    })
}

/// An attribute of the device of this thread's context.
fn device_limit(attribute: DeviceAttribute) -> Result<u64, DeviceError> {
    let mut device = 0;
    // SAFETY: the call writes one int.
    unsafe { sys::cuCtxGetDevice(&raw mut device) }.result().map_err(cuda("cuCtxGetDevice"))?;
    // SAFETY: the device is that of a context.
    let value = unsafe { result::device::get_attribute(device, attribute) }.map_err(cuda("cuDeviceGetAttribute"))?;
    Ok(u64::try_from(value).unwrap_or(0))
}

fn inside(bytes: usize, range: &Range<usize>) -> Result<(), DeviceError> {
    if range.start <= range.end && range.end <= bytes {
        return Ok(());
    }
    Err(DeviceError::Launch(format!("bytes {} to {} of an allocation of {bytes}", range.start, range.end)))
}
