//! A problem size with everything about it evaluated.

use crate::gpu::BufferSpec;
use crate::model::ShapeName;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A problem size with its buffers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ShapeSpec {
    /// Its name.
    pub name: ShapeName,
    /// Dimensions.
    pub dims: Vec<(String, i64)>,
    /// Buffers, in the order of the file.
    pub buffers: Vec<BufferSpec>,
    /// Scalars that the shape alone decides, as the kernel sees them (rounded to their C type).
    pub scalars: BTreeMap<String, f64>,
    /// Scalars that differ between variants, which a reference cannot use.
    pub varying: Vec<String>,
}
