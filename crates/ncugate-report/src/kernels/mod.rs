//! A page over the kernels of Nsight Compute reports, without a phase: where time is spent, what limits each kernel,
//! where its warps wait. Two reports are compared.

mod group;
mod html;
mod page;
mod pair;
mod source;

pub use group::{KernelFilter, KernelKey, KernelsError, LaunchGroup, ProfiledReport};
pub use html::html;
pub use page::KernelsPage;
