//! Shapes for tests.

use super::shape::ShapeSpec;
use crate::gpu::BufferSpec;
use ncugate_model::ShapeName;
use std::collections::BTreeMap;

/// A shape named `s` with these buffers and no scalars.
pub fn shape(buffers: Vec<BufferSpec>) -> ShapeSpec {
    let name = ShapeName("s".into());
    ShapeSpec {
        name,
        dims: Vec::new(),
        buffers,
        scalars: BTreeMap::new(),
        bounds: BTreeMap::new(),
        checks: Vec::new(),
        varying: Vec::new(),
    }
}
