//! Variants to cubins: nvcc in parallel, cached by content, with the resources that each entry really uses.
//!
//! If nvcc refuses a variant, or its launch cannot work on the chip, that is a result
//! ([`BuildOutcome`](ncugate_model::BuildOutcome)). Errors that end a whole build (no nvcc, an unwritable cache) are a
//! [`BuildError`]. Nothing is launched here.

mod absent_headers;
mod arch;
mod budget;
mod build_work;
mod cache;
mod compile;
pub mod compiler_environment;
mod error;
mod growth;
pub(crate) mod host_unit;
mod message;
mod needed_tools;
mod nvcc;
mod package_headers;
mod ptx_module;
mod ptxas;
mod python;
#[cfg(test)]
mod tests;

pub use arch::Arch;
pub use budget::shared_arrays;
pub use cache::Cache;
pub use compile::{BuildProgress, Builder, Deduplication, IncludeScope};
pub use error::BuildError;
pub use needed_tools::{first_nvcc, prove_tools};
pub use nvcc::{CompileUnit, Nvcc};
pub use ptxas::FunctionReport;
