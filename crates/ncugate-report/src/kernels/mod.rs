//! A page over the kernels of Nsight Compute reports, without a phase: where time is spent, what limits each kernel,
//! where its warps wait.

mod group;
mod html;
mod memory;
mod page;
mod roofline;
mod source;

pub use group::{KernelFilter, KernelKey, KernelsError, LaunchGroup, ProfiledReport, named};
pub use html::html;
pub use page::KernelsPage;
