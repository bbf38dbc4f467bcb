//! Right answers in float64, from the inputs as rounded to their dtypes.

mod builtin;
mod error;
mod fit;
mod gemm;
mod program;
mod rows;
mod sdpa;
mod server;

pub use builtin::{BoundBuiltin, Builtin};
pub use error::ReferenceError;
pub use fit::BufferValues;
pub use program::{ProgramError, outputs as program_outputs, verdicts};
pub use sdpa::Sdpa;
pub use server::{ReferenceServer, adopt, dismiss, serve};
