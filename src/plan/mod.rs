//! A phase unrolled: every variant with a stable id, and what each launches at each shape.
//!
//! Pure: expressions are evaluated here and nowhere after; no file but the phase is looked at.

mod fault;
mod launch;
mod reference;
mod tensor_map;
#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests;
mod triton;
mod unroll;
mod variant;

pub use fault::PlanErrors;
pub use reference::{reference_entry_plan, reference_id, reference_plan};
pub use unroll::unroll;
pub use variant::{
    Arg, CommandPlan, FunctionPlan, KernelCode, KernelPlan, Launch, Method, Plan, ScalarValue, Standing, Swizzle,
    TensorMap, TritonKernel, Variant,
};
