//! Buffers for tests.

use super::buffer::BufferSpec;
use ncugate_model::Dtype;
use ncugate_model::Role;
use ncugate_phase::config::{Init, RowOrder};

/// A buffer; inputs are standard normal.
pub fn buffer(name: &str, dtype: Dtype, extents: &[usize], role: Role) -> BufferSpec {
    let init = (role == Role::Input).then_some(Init::Normal { mean: 0.0, std: 1.0 });
    let (extents, order) = (extents.to_vec(), RowOrder::AsExpected);
    BufferSpec { name: name.to_owned(), dtype, extents, init, role, partial: None, part: Vec::new(), order }
}
