//! Correctness, then latency, in a worker process that a crash takes down alone.
//!
//! The parent ([`measure`]) plans jobs and keeps what comes back; the worker ([`work`], this program under a hidden
//! subcommand) owns the CUDA context. Neither judges gates: they measure. External programs that compute, check and
//! time by themselves are run and held to their protocol by [`external`].

mod arena;
mod arguments;
mod campaign;
mod check;
mod compare;
mod device;
mod element;
mod event;
pub mod external;
mod facts;
mod fill;
#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod fixtures;
mod job;
mod latency;
mod minifloat;
mod nvtx;
mod question;
mod reference;
mod trace;
mod worker;

pub use campaign::{Finish, MeasureError, Probe, SinkError, WorkerCommand, exclude, measure, probe_device};
pub use device::DeviceError;
pub use event::{Event, Task};
pub use external::unmeasured;
pub use facts::{DeviceFacts, probe};
pub use job::{Case, Job, JobBuffer, JobError, JobKernel, JobReference, JobShape, Mode, Purpose, Timing, cases};
pub use reference::{Builtin, ReduceOp, ReferenceError};
pub use trace::range_name;
pub use worker::{WorkError, report_device, work};
