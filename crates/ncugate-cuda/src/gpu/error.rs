//! Errors of the driver.

use cudarc::driver::result::DriverError;
use cudarc::driver::sys::CUresult;
use std::path::PathBuf;

/// Why the device did not complete a request.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DeviceError {
    /// No CUDA driver library was found.
    #[error("the CUDA driver library (libcuda.so.1) was not found; install the NVIDIA driver")]
    NoLibrary,
    /// The driver sees no device of this ordinal.
    #[error("no CUDA device {ordinal} ({count} visible); check nvidia-smi and CUDA_VISIBLE_DEVICES")]
    NoDevice {
        /// The requested ordinal.
        ordinal: u32,
        count: i32,
    },
    /// The driver lacks calls that this program uses.
    #[error("the driver supports CUDA {}.{}, but ncugate needs 11.8 or later; update the driver", cuda.0, cuda.1)]
    OldDriver {
        /// Newest CUDA version that it supports, major and minor.
        cuda: (u32, u32),
    },
    /// A call of the driver failed.
    #[error("{call}: {reason}")]
    Cuda {
        /// The failed call.
        call: &'static str,
        /// The driver's name and text of the error.
        reason: String,
    },
    /// A cubin cannot be read.
    #[error("cannot read cubin {}: {reason}", path.display())]
    Cubin { path: PathBuf, reason: String },
    /// A tensor map cannot be encoded.
    #[error("cannot encode tensor map `{name}` of buffer `{buffer}`: {reason}")]
    TensorMap {
        name: String,
        buffer: String,
        /// The driver's error.
        reason: String,
    },
    /// A function of another language failed.
    #[error("the function failed: {0}")]
    Function(String),
    /// A requirement of a function is missing on this machine.
    #[error("absent: {0}")]
    Absent(String),
    /// A launch cannot be made as planned.
    #[error("cannot launch: {0}")]
    Launch(String),
}

pub(super) fn cuda(call: &'static str) -> impl Fn(DriverError) -> DeviceError {
    move |error| {
        let text = |t: Result<&std::ffi::CStr, DriverError>| {
            t.map_or_else(|_| "unknown error".to_owned(), |t| t.to_string_lossy().into_owned())
        };
        let advice = advice(error.0).map(|advice| format!("; {advice}")).unwrap_or_default();
        let reason = format!("{} ({}){advice}", text(error.error_name()), text(error.error_string()));
        DeviceError::Cuda { call, reason }
    }
}

/// Advice for errors that no kernel is to blame for, or for which the driver's log has more details.
fn advice(error: CUresult) -> Option<&'static str> {
    match error {
        CUresult::CUDA_ERROR_ECC_UNCORRECTABLE => Some(
            "the GPU's memory is damaged; see `nvidia-smi -q -d ECC,ROW_REMAPPER`, reset the GPU or use another one, and run again",
        ),
        CUresult::CUDA_ERROR_NVLINK_UNCORRECTABLE => {
            Some("an NVLink failed; see `nvidia-smi nvlink -e`, and the Xid in `dmesg`")
        }
        CUresult::CUDA_ERROR_DEVICE_UNAVAILABLE => Some(
            "another process has the GPU, or its compute mode allows only one process; see `nvidia-smi -q -d COMPUTE`",
        ),
        CUresult::CUDA_ERROR_SYSTEM_NOT_READY => Some(
            "the driver is not ready; NVSwitch systems need nvidia-fabricmanager (`systemctl status nvidia-fabricmanager`)",
        ),
        CUresult::CUDA_ERROR_SYSTEM_DRIVER_MISMATCH => {
            Some("libcuda and the kernel module have different versions; restart the machine or the container")
        }
        CUresult::CUDA_ERROR_HARDWARE_STACK_ERROR
        | CUresult::CUDA_ERROR_LAUNCH_FAILED
        | CUresult::CUDA_ERROR_UNKNOWN => Some("see also `dmesg | grep Xid`"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_of_the_machine_say_what_to_do() {
        assert!(advice(CUresult::CUDA_ERROR_ECC_UNCORRECTABLE).is_some_and(|text| text.contains("ECC")));
        assert!(advice(CUresult::CUDA_ERROR_LAUNCH_FAILED).is_some_and(|text| text.contains("Xid")));
        assert_eq!(advice(CUresult::CUDA_ERROR_ILLEGAL_ADDRESS), None);
    }
}
