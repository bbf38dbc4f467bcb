//! How many processes a GPU lets in.

use serde::{Deserialize, Serialize};

/// How many processes may have a context on a device at once; `nvidia-smi -q -d COMPUTE` shows it.
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
    /// By the driver's number (`CUcomputemode`); one that is not known is taken for the one that nothing may wait in.
    pub const fn of(number: u32) -> Self {
        match number {
            0 => Self::Default,
            2 => Self::Prohibited,
            _ => Self::ExclusiveProcess,
        }
    }
}
