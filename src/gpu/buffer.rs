//! A buffer of a workload at one shape.

use crate::config::{Dtype, Init, Role};
use serde::{Deserialize, Serialize};

/// A buffer at one shape.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct BufferSpec {
    /// Its name.
    pub name: String,
    /// Element type.
    pub dtype: Dtype,
    /// Extents in elements, all positive, the outermost axis first.
    pub extents: Vec<usize>,
    /// How it is filled; standard normal for an input that does not say.
    pub init: Option<Init>,
    /// What the kernel does with it.
    pub role: Role,
}

impl BufferSpec {
    /// Elements.
    pub fn elements(&self) -> usize {
        self.extents.iter().product()
    }

    /// Bytes.
    pub fn bytes(&self) -> usize {
        self.elements() * self.dtype.size()
    }
}
