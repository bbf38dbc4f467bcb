//! Measures on the GPU: compiles variants, launches them, verifies their answers and times them.
//!
//! Deliberately absent: verdicts, tables, pages.

pub mod build;
pub mod gpu;
pub mod host;
pub mod prove;
mod python_environment;
pub mod time;

pub use python_environment::PythonEnvironment;
