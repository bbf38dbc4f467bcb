//! Right answers in float64, from the inputs as rounded to their dtypes.

mod arithmetic;
mod builtin;
mod error;
mod fit;
mod gemm;
mod npy;
mod program;
mod rows;
mod sdpa;
mod server;

pub use arithmetic::{Exponential, KeySubset, Maximum, Rounding, SoftmaxArithmetic, plain_accumulator};
pub use builtin::{BoundBuiltin, Builtin};
pub use error::ReferenceError;
pub use fit::BufferValues;
pub use npy::{NpyError, npy_bytes, read as read_npy};
pub use program::{ProgramError, outputs as program_outputs, verdicts};
pub use sdpa::Sdpa;
pub use server::{ReferenceServer, adopt, dismiss, serve};
