//! A phase unrolled: every variant with a stable id, and its launches at each shape.
//!
//! Pure: all expressions are evaluated here, and no file except the phase is read.

mod arg;
mod arguments;
mod base;
mod fault;
mod flag_files;
mod launch;
mod launch_check;
mod named_files;
mod program;
mod python;
mod reference;
mod shard;
mod space;
mod step_traffic;
mod subset;
mod surface;
mod symbol;
mod tensor_map;
#[cfg(test)]
mod tests;
mod texel;
mod texture;
mod toolchains;
mod twins;
mod unroll;
mod variants;

pub use arg::{
    Arg, BufferElement, L2Promotion, MapAlignment, MapLayout, ScalarValue, SurfaceView, Swizzle, TensorMap,
    TexelMemory, TextureView,
};
pub use base::{is_of_base, unroll};
pub use fault::{Faults, PlanErrors};
pub use flag_files::flag_files;
pub use launch_check::{Launchable, SharedArray, SourceFacts, launchable, shared_budget, unsupported_launch};
pub use named_files::{NamedFile, array_files, named_files};
pub use program::{
    BufferCopy, BufferFill, CompilationsByValue, EntryByValue, KernelCode, KernelLaunch, KernelPlan, L2Window,
    LaunchKey, PythonKernel, ShapeProgram, Step, SymbolFill,
};
pub use python::extents;
pub use reference::{
    reference_answers, reference_args, reference_entry_plan, reference_id, reference_launch, reference_plan,
    reference_values, reference_variant,
};
pub use shard::Shard;
pub use space::{ConditionError, Point, Space, Walk};
pub use step_traffic::StepTraffic;
pub use subset::{PhaseSubset, SubsetError};
pub use twins::{code_hash, twin};
pub use unroll::sweep_id;
pub use variants::{CommandPlan, FunctionPlan, HostCode, Method, Plan, Variant, VariantRole};
