//! Latency: samples of CUDA graphs, in rounds that interleave the kernels.

mod round;
mod settings;
mod timed_kernel;

pub use round::order;
pub use settings::TimingSettings;
pub use timed_kernel::TimedKernel;
