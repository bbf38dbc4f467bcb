//! Right answers in float64, from the inputs as rounded to their dtypes.

mod builtin;
mod dense;
mod error;
mod fit;
mod gemm;
mod npy;
mod rows;
mod sdpa;

pub use builtin::Builtin;
pub use error::ReferenceError;
pub use fit::BufferValues;
pub use npy::{NpyError, read as read_npy};
