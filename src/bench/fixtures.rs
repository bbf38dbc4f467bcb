//! Small shapes for tests.

use super::job::{JobBuffer, JobShape};
use crate::config::{Dtype, Init, Role, ShapeName};
use std::collections::BTreeMap;

/// A buffer; inputs are standard normal.
pub fn buffer(name: &str, dtype: Dtype, extents: &[usize], role: Role) -> JobBuffer {
    let init = (role == Role::Input).then_some(Init::Normal { mean: 0.0, std: 1.0 });
    JobBuffer { name: name.to_owned(), dtype, extents: extents.to_vec(), init, role }
}

/// A shape named `s` of these buffers, without scalars.
pub fn shape(buffers: Vec<JobBuffer>) -> JobShape {
    let name = ShapeName("s".to_owned());
    JobShape { name, dims: Vec::new(), buffers, scalars: BTreeMap::new(), varying: Vec::new() }
}
