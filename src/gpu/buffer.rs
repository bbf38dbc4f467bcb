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
    /// How it is filled; standard normal for an input that does not say, nothing for an output that is only written.
    pub init: Option<Init>,
    /// What the kernel does with it.
    pub role: Role,
}

impl BufferSpec {
    /// Whether a launch finds values in it that it changes, so that they are restored before every launch.
    pub const fn is_state(&self) -> bool {
        matches!(self.role, Role::Inout) || matches!(self.role, Role::Output | Role::Scratch) && self.init.is_some()
    }

    /// Whether it is written whole, so that it holds poison before a launch.
    pub const fn is_poisoned(&self) -> bool {
        matches!(self.role, Role::Output) && self.init.is_none()
    }

    /// Elements.
    pub fn elements(&self) -> usize {
        self.extents.iter().product()
    }

    /// Bytes.
    pub fn bytes(&self) -> usize {
        self.elements() * self.dtype.size()
    }
}
