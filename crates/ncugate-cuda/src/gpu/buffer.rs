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
    /// Extents in elements, all positive, outermost axis first. For partial results, the extents of the combined result.
    pub extents: Vec<usize>,
    /// How it is filled. An input without an init is standard normal; a write-only output is not filled.
    pub init: Option<Init>,
    /// How the kernel uses it.
    pub role: Role,
    /// How it differs between variants, if it does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub partial: Option<PartialBuffer>,
}

/// A buffer whose extents depend on the parameters of variants.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PartialBuffer {
    /// How the elements along the varying axes are combined; none for scratch, which is not compared.
    pub reduce: Option<Reduction>,
    /// The axes that vary.
    pub axes: Vec<bool>,
    /// Elements in the largest variant.
    pub elements: usize,
}

/// The extents of buffers in one variant, by index; only for buffers that differ between variants.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
pub struct VariantExtents(pub BTreeMap<usize, Vec<usize>>);

impl BufferSpec {
    /// Whether a launch reads and changes its values, so that they are restored before every launch.
    pub const fn is_state(&self) -> bool {
        matches!(self.role, Role::Inout) || matches!(self.role, Role::Output | Role::Scratch) && self.init.is_some()
    }

    /// Whether a launch overwrites all of it, so that it holds poison before a launch.
    pub const fn is_poisoned(&self) -> bool {
        matches!(self.role, Role::Output) && self.init.is_none()
    }

    /// Elements that are compared or that a reference reads.
    pub fn elements(&self) -> usize {
        self.extents.iter().product()
    }

    /// Its capacity in elements.
    pub fn room(&self) -> usize {
        self.partial.as_ref().map_or_else(|| self.elements(), |partial| partial.elements)
    }

    /// Its capacity in bytes.
    pub fn bytes(&self) -> usize {
        self.room() * self.dtype.size()
    }
}
