//! A phase's TOML file: as typed, and as understood.
//!
//! `raw` mirrors the file with serde and spans; `resolve` turns it into the types of this module and collects every
//! error with its place in the file. Nothing here touches a GPU, a compiler or a kernel source.

pub mod kernel;
pub mod phase;
pub mod workload;

pub use kernel::{CommandTemplate, KernelTemplate, Sweep, VariantSpec, VariantSpecKind};
pub use phase::{BenchSettings, BuildSettings, Objective, Phase, ProfileSettings};
pub use workload::{Buffer, Dtype, Init, Reference, Role, Scalar, ScalarType, Shape, ShapeName, Tolerance, Workload};
