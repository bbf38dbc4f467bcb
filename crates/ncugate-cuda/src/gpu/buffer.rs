//! A buffer of a workload at one shape.

use ncugate_model::Dtype;
use ncugate_model::Role;
use ncugate_phase::config::{Init, Reduction};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A buffer at one shape.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct BufferSpec {
    pub name: String,
    pub dtype: Dtype,
    /// Extents in elements, all positive, the outermost axis first; of partial results those of what they are put together to.
    pub extents: Vec<usize>,
    /// How it is filled; standard normal for an input that does not say, nothing for an output that is only written.
    pub init: Option<Init>,
    /// What the kernel does with it.
    pub role: Role,
    /// How it differs between variants, where it does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub partial: Option<PartialBuffer>,
}

/// A buffer whose extents follow the parameters of variants.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PartialBuffer {
    /// How the elements along the axes that vary are put together; none for scratch, which is not compared.
    pub reduce: Option<Reduction>,
    /// The axes that vary.
    pub axes: Vec<bool>,
    /// Elements of the largest variant.
    pub elements: usize,
}

/// The extents that buffers have in one variant, by index; only of those that differ between variants.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
pub struct VariantExtents(pub BTreeMap<usize, Vec<usize>>);

impl BufferSpec {
    /// Whether a launch finds values in it that it changes, so that they are restored before every launch.
    pub const fn is_state(&self) -> bool {
        matches!(self.role, Role::Inout) || matches!(self.role, Role::Output | Role::Scratch) && self.init.is_some()
    }

    /// Whether it is written whole, so that it holds poison before a launch.
    pub const fn is_poisoned(&self) -> bool {
        matches!(self.role, Role::Output) && self.init.is_none()
    }

    /// Elements that are compared, or that a reference reads.
    pub fn elements(&self) -> usize {
        self.extents.iter().product()
    }

    /// Elements that it has room for.
    pub fn room(&self) -> usize {
        self.partial.as_ref().map_or_else(|| self.elements(), |partial| partial.elements)
    }

    /// Bytes that it has room for.
    pub fn bytes(&self) -> usize {
        self.room() * self.dtype.size()
    }
}
