//! Latency: samples of CUDA graphs, in rounds that interleave the kernels, and the verification of the timed
//! launches.

mod audit_graph;
mod isolated_samples;
mod output_comparison;
mod round;
mod schedule;
mod settings;
mod surfaces;
mod timed_buffers;
mod timed_kernel;
mod unrepeated_samples;

pub use round::order;
pub use schedule::{AuditSchedule, VERIFIED_LAUNCHES};
pub use settings::{AuditEffort, HiddenSeeds, LEAST_CONTENTS, TimingSettings};
pub use timed_buffers::{HiddenCase, TimedBuffers};
pub use timed_kernel::{TimedKernel, TimedProgram, WrongSample};
