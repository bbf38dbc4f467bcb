//! A phase's TOML file, as typed and as resolved.
//!
//! `keys` declares every key. `reader` reads TOML values by type and continues after an error. `resolve` converts
//! them to the types of this module, with defaults filled in and every name checked, so that all errors of a file are
//! reported at once. This module touches no GPU, compiler or kernel source.

mod argument;
mod builtin;
mod check;
mod coverage_gaps;
mod error;
mod gate;
mod init;
pub mod kernel;
pub(crate) mod keys;
mod locate;
mod own_bound;
pub mod phase;
mod problem_origin;
mod project;
mod reader;
mod resolve;
mod schema;
pub mod search;
#[cfg(test)]
mod tests;
mod waiver_request;
pub mod workload;

pub use argument::{ArgTemplate, SurfaceTemplate, TextureTemplate};
pub use check::{CheckSettings, Suppression};
pub use error::{ConfigError, ConfigErrors, Place};
pub use gate::{Fallback, Gate, GatePlan, OnStageFailure, Precondition, Stage, Tier, Waiver};
pub use init::{Amount, Init};
pub use kernel::{
    CodeForm, CommandTemplate, DynamicArray, FlagAxis, FunctionTemplate, KernelTemplate, L2WindowTemplate,
    LaunchPattern, LaunchTemplate, LoopTemplate, OutOfBoundsFill, StepAction, StepTemplate, Sweep, SymbolTemplate,
    TensorMapTemplate, VariantSpec, VariantSpecKind,
};
pub use locate::{KeyPlaces, within};
pub use own_bound::{BoundOf, OwnBound};
pub use phase::{
    BASE, Base, BaseKernels, BenchSettings, BuildSettings, CounterPolicy, DeepProfileTarget, L2State, Objective, Phase,
    ProfileSettings, SMS, Selection, TOOLCHAIN_PARAM, Toolchain, USUAL_SMS, Verification,
};
pub use problem_origin::{ImportFormat, ProblemOrigin, Ranking};
pub use project::{MAX_BYTES, PROJECT_FILE, Project};
pub use reader::is_name;
pub use resolve::{load, parse, parse_again, parse_in};
pub use schema::schema;
pub use search::{ConditionalAxis, SearchBudget, SearchSettings, SearchStrategy, usual_batch};
pub use waiver_request::{UnknownGate, WaiverRequest};
pub use workload::{
    Buffer, BufferType, Laws, OutputCheck, ProgramKind, Reduction, ReferenceProgram, RowOrder, Scalar, ScalarType,
    Shape, Slice, UntestedTolerance, Workload, WorkloadReference,
};
