//! A buffer of a workload at one shape.

use ncugate_model::Dtype;
use ncugate_model::Role;
use ncugate_phase::config::{Init, Reduction, RowOrder};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::ops::Range;

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
    /// The elements of each axis that count; empty if all do.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub part: Vec<Range<usize>>,
    #[serde(default, skip_serializing_if = "RowOrder::is_default")]
    pub order: RowOrder,
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

/// How the outputs of one variant differ from those of others.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
pub struct VariantExtents {
    /// The extents of buffers by index, only of those that differ between variants.
    pub buffers: BTreeMap<usize, Vec<usize>>,
    /// Index of its answer among those of the reference, which can take parameters.
    pub answer: usize,
}

impl BufferSpec {
    /// Whether a launch reads and changes its values, so that they are restored before every launch.
    pub const fn is_state(&self) -> bool {
        matches!(self.role, Role::Inout) || matches!(self.role, Role::Output | Role::Scratch) && self.init.is_some()
    }

    /// Whether a launch overwrites all of it, so that it holds poison before a launch.
    pub const fn is_poisoned(&self) -> bool {
        matches!(self.role, Role::Output) && self.init.is_none()
    }

    /// The extents of the part that counts, which references give.
    pub fn compared_extents(&self) -> Vec<usize> {
        if self.part.is_empty() { self.extents.clone() } else { self.part.iter().map(Range::len).collect() }
    }

    /// Elements that a reference gives.
    pub fn compared_elements(&self) -> usize {
        self.compared_extents().iter().product()
    }

    /// Whether its elements are compared where they are.
    pub const fn is_compared_in_place(&self) -> bool {
        self.part.is_empty() && self.order.is_default()
    }

    /// Elements that a reference reads.
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
