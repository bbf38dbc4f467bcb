//! The CUDA driver: memory, launches, graphs, events, tensor maps, device attributes, NVTX ranges, and CUPTI's activity
//! records.
//!
//! Other modules decide on the launches and evaluate their results.

mod activity;
mod activity_library;
mod activity_record;
mod arena;
mod arguments;
mod attention;
mod attributes;
mod block_delay;
mod blocking_kernel;
mod buffer;
mod buffer_set;
mod cache_flush;
mod cache_warmer;
mod captured_graph;
mod copier;
mod device;
mod digest;
mod error;
#[cfg(test)]
pub(crate) mod fixtures;
mod function;
mod kernel;
mod memory;
mod monitor;
mod nvtx;
mod probes;
mod program;
mod surface;
mod texture;
mod transfer;

pub use activity::ActivityTracer;
pub use activity_library::{ActivityError, find_cupti};
pub use arena::{ArenaLayout, copy};
pub use attention::{AttentionExtents, AttentionKernels};
pub use attributes::{DeviceAttributes, query_attributes};
pub use block_delay::BlockDelay;
pub use blocking_kernel::{BlockedDevice, BlockingKernel};
pub use buffer::{BufferSpec, PartialBuffer, VariantExtents};
pub use buffer_set::BufferSet;
pub use cache_flush::CacheFlush;
pub use cache_warmer::CacheWarmer;
pub use captured_graph::{GraphStep, StepWork};
pub use copier::Copier;
pub use device::CudaDevice;
pub use digest::{Digester, MemoryDigest, MemoryRow, PendingDigests};
pub use error::DeviceError;
pub use function::{FunctionCall, FunctionCaller, ResultCopy};
pub use kernel::{ExecutableGraph, LoadedProgram};
pub use memory::{DeviceMemory, PinnedMemory};
pub use monitor::GpuMonitor;
pub use nvtx::RangeGuard;
pub use probes::{ClockReader, EmptyKernel};
pub use program::BoundProgram;
pub use surface::{Surface, SurfaceCopy};
