//! A page over the kernels of Nsight Compute reports, without a phase: where time is spent, what limits each kernel,
//! where its warps wait.

mod document;
mod memory;
mod source;

pub use document::document;
