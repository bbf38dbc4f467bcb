//! The GPU that measured.

use super::ComputeCapability;
use serde::{Deserialize, Serialize};

/// The GPU that measured.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Gpu {
    /// `NVIDIA H200`.
    pub name: String,
    /// Compute capability.
    pub compute_capability: ComputeCapability,
    /// Streaming multiprocessors.
    pub sms: u32,
    /// Device memory in bytes.
    pub memory: u64,
    /// Largest dynamic shared memory a block can opt in to, in bytes.
    pub shared_memory_optin: u32,
}
