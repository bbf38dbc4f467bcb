//! A problem size with everything evaluated.

use crate::gpu::BufferSpec;
use crate::python_environment::PythonEnvironment;
use ncugate_model::expr::{Names, Value};
use ncugate_model::{AllClose, ShapeName, Tolerance};
use ncugate_phase::config::ReferenceProgram;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// A problem size with its buffers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ShapeSpec {
    pub name: ShapeName,
    pub dims: Vec<(String, i64)>,
    /// Buffers, in the order of the file.
    pub buffers: Vec<BufferSpec>,
    /// Scalars that depend on the shape alone, as the kernel sees them (rounded to their C type).
    pub scalars: BTreeMap<String, f64>,
    /// Elementwise bounds of outputs that replace the tolerance's, by buffer index.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub bounds: BTreeMap<usize, AllClose>,
    /// Functions that judge outputs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub checks: Vec<ShapeCheck>,
    /// Scalars that differ between variants, which a reference cannot use.
    pub varying: Vec<String>,
}

/// A function that judges the outputs of a launch.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShapeCheck {
    pub program: ReferenceProgram,
    pub python: PythonEnvironment,
    /// Indices of the outputs that no bound of the tolerance applies to.
    pub alone: BTreeSet<usize>,
}

impl ShapeSpec {
    /// Whether a function judges an output, by its index, in place of the tolerance.
    pub fn is_unbounded(&self, buffer: usize) -> bool {
        self.checks.iter().any(|check| check.alone.contains(&buffer))
    }

    /// The elementwise bound for a buffer, if any.
    pub fn allclose(&self, buffer: usize, tolerance: &Tolerance) -> Option<AllClose> {
        self.bounds.get(&buffer).copied().or(tolerance.allclose)
    }

    /// Its dimensions as the names of an expression.
    pub fn scope(&self) -> Names {
        self.dims.iter().map(|(name, extent)| (name.clone(), Value::Int(*extent))).collect()
    }

    /// Number of elements in its buffers.
    pub fn elements(&self) -> usize {
        self.buffers.iter().map(crate::gpu::BufferSpec::elements).sum()
    }

    /// The name under which the values of a buffer are drawn.
    pub(super) fn drawn_name(&self, buffer: &str) -> String {
        format!("{buffer}@{}", self.name)
    }

    /// Names available in the path of a buffer's file: dimensions, `shape`, `seed` and `buffer`.
    pub fn file_names(&self, seed: u64, buffer: &str) -> Names {
        let own = [
            ("shape".to_owned(), Value::Text(self.name.0.to_string())),
            ("seed".to_owned(), Value::Int(seed.cast_signed())),
            ("buffer".to_owned(), Value::Text(buffer.to_owned())),
        ];
        self.scope().into_iter().chain(own).collect()
    }
}
