//! How far an output may be from the reference, and how far it was.

use serde::{Deserialize, Serialize};

/// How far an output may be from the reference; every bound that is given must hold.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Tolerance {
    /// Largest absolute difference.
    pub max_abs: Option<f64>,
    /// Relative L2 norm of the difference.
    pub rel_l2: Option<f64>,
}

/// How far an output is from the reference, over all output buffers of a case.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Differences {
    /// Largest absolute difference; where NaN or infinite values are, over the finite ones.
    pub max_abs: f64,
    /// L2 norm of the difference over L2 norm of the reference, over the finite ones.
    pub rel_l2: f64,
    /// Elements that are NaN or infinite where the reference is not.
    pub nonfinite: u64,
    /// Elements compared.
    pub compared: u64,
}
