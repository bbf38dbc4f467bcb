//! The GPU that measured.

use super::ComputeCapability;
use serde::{Deserialize, Serialize};

/// The GPU that measured.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Gpu {
    /// `NVIDIA H200`.
    pub name: String,
    pub compute_capability: ComputeCapability,
    pub sms: u32,
    /// Device memory in bytes; none if only an ncu report is available.
    pub memory: Option<u64>,
    /// Largest dynamic shared memory that a block can opt in to, in bytes; none if a report does not contain it.
    pub shared_memory_optin: Option<u32>,
}
