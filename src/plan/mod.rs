//! A phase unrolled: every variant with a stable id, and what each launches at each shape.
//!
//! Pure: expressions are evaluated here and nowhere after; no file but the phase is looked at.

mod fault;
mod launch;
mod reference;
mod space;
mod tensor_map;
#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests;
mod unroll;
mod variant;

pub use fault::PlanErrors;
pub use reference::{reference_entry_plan, reference_id, reference_plan};
pub use space::{ConditionError, Point, Space, Walk};
pub use unroll::{sweep_id, unroll};
pub use variant::{
    Arg, CommandPlan, KernelPlan, Launch, Method, Plan, ScalarValue, Standing, Swizzle, TensorMap, Variant,
};
