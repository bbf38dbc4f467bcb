//! What the driver may answer.

use cudarc::driver::result::DriverError;
use std::path::PathBuf;

/// Why the device did not do what was asked.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DeviceError {
    /// There is no CUDA driver library.
    #[error("the CUDA driver library (libcuda.so.1) is not on this machine; install the NVIDIA driver")]
    NoLibrary,
    /// The driver sees no device of this ordinal.
    #[error("there is no CUDA device {ordinal} ({count} visible); look at nvidia-smi and CUDA_VISIBLE_DEVICES")]
    NoDevice {
        /// The ordinal asked for.
        ordinal: u32,
        /// How many there are.
        count: i32,
    },
    /// The driver lacks calls that are used here.
    #[error("the driver supports CUDA {}.{}, and 11.8 is the oldest that works here; update the driver", cuda.0, cuda.1)]
    OldDriver {
        /// Newest CUDA version it knows, major and minor.
        cuda: (u32, u32),
    },
    /// A call of the driver failed.
    #[error("{call}: {reason}")]
    Cuda {
        /// What was being done.
        call: &'static str,
        /// The driver's name and text of the error.
        reason: String,
    },
    /// A cubin cannot be read.
    #[error("cannot read cubin {}: {reason}", path.display())]
    Cubin {
        /// The file.
        path: PathBuf,
        /// Why.
        reason: String,
    },
    /// A tensor map cannot be encoded.
    #[error("cannot make tensor map '{name}' of buffer '{buffer}': {reason}")]
    TensorMap {
        /// The tensor map.
        name: String,
        /// The buffer.
        buffer: String,
        /// What the driver said.
        reason: String,
    },
    /// A function of another language failed.
    #[error("the function failed: {0}")]
    Function(String),
    /// What a function needs is not on this machine.
    #[error("absent: {0}")]
    Absent(String),
    /// A launch cannot be made as planned.
    #[error("cannot launch: {0}")]
    Launch(String),
}

/// The error of a call of the driver.
pub(super) fn cuda(call: &'static str) -> impl Fn(DriverError) -> DeviceError {
    move |error| {
        let text = |t: Result<&std::ffi::CStr, DriverError>| {
            t.map_or_else(|_| "unknown error".to_owned(), |t| t.to_string_lossy().into_owned())
        };
        let reason = format!("{} ({})", text(error.error_name()), text(error.error_string()));
        DeviceError::Cuda { call, reason }
    }
}
