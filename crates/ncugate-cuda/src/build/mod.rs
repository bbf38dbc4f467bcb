//! Variants to cubins: nvcc in parallel, cached by content, with the resources each entry really uses.
//!
//! A variant that nvcc refuses, or whose launch cannot work on the chip, is a result ([`BuildOutcome`](ncugate_model::BuildOutcome)); what stops a whole
//! build (no nvcc, a cache that cannot be written) is a [`BuildError`]. Nothing is launched here.

mod arch;
mod budget;
mod cache;
mod compile;
mod error;
mod message;
mod nvcc;
mod ptxas;
mod python;
mod refuse;
mod share;
mod sorted;
#[cfg(test)]
mod tests;

pub use arch::Arch;
pub use budget::{SharedArray, shared_arrays};
pub use cache::Cache;
pub use compile::{BuildProgress, Builder, Deduplication};
pub use error::BuildError;
pub use nvcc::{CompileUnit, Nvcc};
pub use ptxas::FunctionReport;
pub use share::code_hash;
