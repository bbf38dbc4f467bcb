//! A page over the kernels of Nsight Compute reports that no phase is needed for: what took the time, what limits each
//! kernel, where its warps wait. Of two reports a comparison.

mod group;
mod html;
mod page;
mod pair;
mod source;

pub use group::{KernelFilter, KernelKey, KernelsError, LaunchGroup, ProfiledReport};
pub use html::html;
pub use page::KernelsPage;
