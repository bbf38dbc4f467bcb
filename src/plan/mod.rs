//! A phase unrolled: every variant with a stable id, and what each launches at each shape.
//!
//! Pure: expressions are evaluated here and nowhere after; no file but the phase is looked at.

mod arg;
mod fault;
mod launch;
mod program;
mod reference;
mod tensor_map;
#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests;
mod triton;
mod unroll;
mod variants;

pub use arg::{Arg, ScalarValue, Swizzle, TensorMap};
pub use fault::PlanErrors;
pub use program::{BufferCopy, BufferFill, KernelCode, KernelPlan, Launch, ShapeProgram, Step, TritonKernel};
pub use reference::{reference_args, reference_entry_plan, reference_id, reference_launch, reference_plan};
pub use unroll::unroll;
pub use variants::{CommandPlan, FunctionPlan, Method, Plan, Standing, Variant};
