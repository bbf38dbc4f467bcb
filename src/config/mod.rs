//! A phase's TOML file: as typed, and as understood.
//!
//! [`keys`] declares every key; `reader` reads TOML values by type and goes on after an error; `resolve` turns them
//! into the types of this module, with defaults filled in and every name checked, so that all errors of a file come
//! out at once. Nothing here touches a GPU, a compiler or a kernel source.

mod error;
pub mod kernel;
pub mod keys;
mod locate;
mod names;
pub mod phase;
mod reader;
mod resolve;
pub mod workload;

pub use error::{ConfigErrors, Place, Problem};
pub use kernel::{CommandTemplate, KernelTemplate, Sweep, VariantSpec, VariantSpecKind};
pub use locate::locate;
pub use names::{Names, is_verbatim};
pub use phase::{BenchSettings, BuildSettings, Objective, Phase, ProfileSettings};
pub use resolve::{load, parse};
pub use workload::{Buffer, Dtype, Init, Reference, Role, Scalar, ScalarType, Shape, ShapeName, Tolerance, Workload};
