//! The number of processes that a GPU admits.

use serde::{Deserialize, Serialize};

/// The number of processes that can have a context on a device at once; `nvidia-smi -q -d COMPUTE` shows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ComputeMode {
    /// Any number.
    Default,
    /// One.
    ExclusiveProcess,
    /// None.
    Prohibited,
}

impl ComputeMode {
    /// Converts the driver's number (`CUcomputemode`). An unknown one becomes `ExclusiveProcess`, in which
    /// no second process can wait.
    pub const fn of(number: u32) -> Self {
        match number {
            0 => Self::Default,
            2 => Self::Prohibited,
            _ => Self::ExclusiveProcess,
        }
    }
}
