//! Attributes of a device, queried from the driver without creating a context.

use super::error::{DeviceError, cuda};
use cudarc::driver::result::{self, DriverError};
use cudarc::driver::sys::{self, CUdevice_attribute as Attribute};
use ncugate_model::ComputeCapability;
use ncugate_model::ComputeMode;
use serde::{Deserialize, Serialize};

/// The CUDA version that brought the newest call used here (`cuLaunchKernelEx`).
const OLDEST_CUDA: (u32, u32) = (11, 8);

/// Attributes of a device.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DeviceAttributes {
    /// `NVIDIA H200`.
    pub name: String,
    pub compute_capability: ComputeCapability,
    pub sms: u32,
    /// Device memory in bytes.
    pub memory: u64,
    /// Largest shared memory a block can opt in to, in bytes.
    pub shared_memory_optin: u32,
    /// Shared memory per multiprocessor, in bytes.
    pub shared_memory_sm: u32,
    /// Registers per multiprocessor.
    pub registers_sm: u32,
    /// Maximum resident threads per multiprocessor.
    pub threads_sm: u32,
    /// L2 cache in bytes.
    pub l2_bytes: u64,
    /// Maximum resident blocks per multiprocessor.
    pub blocks_sm: u32,
    /// Shared memory that the driver reserves for every block, in bytes.
    pub shared_memory_reserved: u32,
    /// Maximum clock of the multiprocessors in kHz, if the driver reports it.
    pub clock_khz: Option<u32>,
    /// Maximum clock of the memory in kHz, if the driver reports it.
    pub memory_clock_khz: Option<u32>,
    /// Width of the memory bus in bits, if the driver reports it.
    pub memory_bus_bits: Option<u32>,
    /// Version of the driver (`580.159.04`), if the system reports it.
    pub driver: Option<String>,
    /// Newest CUDA version that the driver supports, major and minor.
    pub cuda: (u32, u32),
    /// UUID of the GPU as `nvidia-smi` prints it, if the driver reports it.
    pub uuid: Option<String>,
    /// How many processes can use it at the same time.
    pub compute_mode: ComputeMode,
}

/// The device's attributes; none without a driver library or device.
pub fn query_attributes(ordinal: u32) -> Result<Option<DeviceAttributes>, DeviceError> {
    match find(ordinal).and_then(attributes_of) {
        Ok(attributes) => Ok(Some(attributes)),
        Err(DeviceError::NoLibrary | DeviceError::NoDevice { .. }) => Ok(None),
        Err(error) => Err(error),
    }
}

/// The device with that ordinal, after the driver is loaded and initialised.
pub(super) fn find(ordinal: u32) -> Result<sys::CUdevice, DeviceError> {
    // SAFETY: it only tries to load a library with the driver's name.
    if !unsafe { sys::is_culib_present() } {
        return Err(DeviceError::NoLibrary);
    }
    match result::init() {
        Err(DriverError(sys::CUresult::CUDA_ERROR_NO_DEVICE)) => {
            return Err(DeviceError::NoDevice { ordinal, count: 0 });
        }
        other => other.map_err(cuda("cuInit"))?,
    }
    // The bindings look up a call when it is made, and panic if it is missing.
    let cuda_version = cuda_version()?;
    if cuda_version < OLDEST_CUDA {
        return Err(DeviceError::OldDriver { cuda: cuda_version });
    }
    let count = result::device::get_count().map_err(cuda("cuDeviceGetCount"))?;
    match i32::try_from(ordinal) {
        Ok(index) if index < count => result::device::get(index).map_err(cuda("cuDeviceGet")),
        _ => Err(DeviceError::NoDevice { ordinal, count }),
    }
}

pub(super) fn attributes_of(device: sys::CUdevice) -> Result<DeviceAttributes, DeviceError> {
    let attribute = |attribute: Attribute| {
        // SAFETY: `device` comes from cuDeviceGet.
        let value = unsafe { result::device::get_attribute(device, attribute) };
        value.map(|v| u32::try_from(v).unwrap_or(0)).map_err(cuda("cuDeviceGetAttribute"))
    };
    let known = |which: Attribute| attribute(which).ok().filter(|&value| value > 0);
    // SAFETY: as above.
    let memory = unsafe { result::device::total_mem(device) }.map_err(cuda("cuDeviceTotalMem"))?;
    Ok(DeviceAttributes {
        name: result::device::get_name(device).map_err(cuda("cuDeviceGetName"))?,
        compute_capability: ComputeCapability::new(
            attribute(Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)?,
            attribute(Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)?,
        ),
        sms: attribute(Attribute::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)?,
        memory: memory as u64,
        shared_memory_optin: attribute(Attribute::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN)?,
        shared_memory_sm: attribute(Attribute::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR)?,
        registers_sm: attribute(Attribute::CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR)?,
        threads_sm: attribute(Attribute::CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR)?,
        l2_bytes: u64::from(attribute(Attribute::CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE)?),
        blocks_sm: attribute(Attribute::CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR)?,
        shared_memory_reserved: attribute(Attribute::CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK)?,
        clock_khz: known(Attribute::CU_DEVICE_ATTRIBUTE_CLOCK_RATE),
        memory_clock_khz: known(Attribute::CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE),
        memory_bus_bits: known(Attribute::CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH),
        driver: driver_version(),
        cuda: cuda_version()?,
        uuid: result::device::get_uuid(device).ok().map(|uuid| written(&uuid.bytes.map(|byte| byte as u8))),
        compute_mode: ComputeMode::of(attribute(Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_MODE)?),
    })
}

/// `GPU-01234567-89ab-cdef-0123-456789abcdef`
fn written(uuid: &[u8; 16]) -> String {
    let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    let parts = [&uuid[..4], &uuid[4..6], &uuid[6..8], &uuid[8..10], &uuid[10..]].map(hex);
    format!("GPU-{}", parts.join("-"))
}

fn cuda_version() -> Result<(u32, u32), DeviceError> {
    let mut version = 0;
    // SAFETY: writes one int.
    unsafe { sys::cuDriverGetVersion(&raw mut version) }.result().map_err(cuda("cuDriverGetVersion"))?;
    let version = u32::try_from(version).unwrap_or(0);
    Ok((version / 1000, version % 1000 / 10))
}

/// The version of the loaded kernel module, from sysfs or procfs.
fn driver_version() -> Option<String> {
    let module = std::fs::read_to_string("/sys/module/nvidia/version").ok().map(|t| t.trim().to_owned());
    module.filter(|v| !v.is_empty()).or_else(|| {
        let text = std::fs::read_to_string("/proc/driver/nvidia/version").ok()?;
        version_in(&text)
    })
}

fn version_in(text: &str) -> Option<String> {
    let is_version = |word: &&str| word.contains('.') && word.chars().all(|c| c.is_ascii_digit() || c == '.');
    text.lines().find(|l| l.contains("Kernel Module"))?.split_whitespace().find(is_version).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn driver_versions_are_found_in_what_linux_shows() {
        let old = "NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.104.05  Sat Aug 19 01:15:15 UTC 2023\nGCC version: 12.3\n";
        let open = "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.159.04  Release Build\n";
        assert_eq!(version_in(old).as_deref(), Some("535.104.05"));
        assert_eq!(version_in(open).as_deref(), Some("580.159.04"));
        assert_eq!(version_in("nothing"), None);
    }

    #[test]
    fn a_uuid_is_written_as_nvidia_smi_does() {
        let bytes = std::array::from_fn(|at| at as u8 * 17);
        assert_eq!(written(&bytes), "GPU-00112233-4455-6677-8899-aabbccddeeff");
    }
}
