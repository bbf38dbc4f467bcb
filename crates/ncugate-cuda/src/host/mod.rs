//! Programs run in a worker process, so that a crash does not end the parent: first correctness, then latency.
//!
//! The parent ([`measure`]) plans jobs and collects results; the worker ([`work`], this program under a hidden subcommand) owns
//! the CUDA context. Both measure only, and judge no gates. [`external`] runs external programs that compute, check and time on
//! their own, and enforces their protocol.

mod ablation_task;
mod activity_task;
mod bitwise_task;
mod case_draw;
mod check_task;
mod device_answers;
mod evaluate;
mod event;
pub mod external;
mod fresh_launch;
mod functions;
mod hidden_draws;
mod input_arrays;
mod job;
mod job_error;
mod null_test;
mod phase_job;
mod prestarted;
mod probed_buffers;
mod python;
mod reference_check;
mod sanitize_task;
mod shared_outputs;
mod supervisor;
mod tail;
mod time_task;
mod trace_task;
mod unread_inputs;
mod worker;
mod worker_command;
mod worker_lines;
mod worker_process;

pub use crate::prove::dismiss as dismiss_references;
pub use activity_task::report_activity;
pub use event::{WorkerEvent, WorkerTask};
pub use input_arrays::{InputArray, InputArraysError, input_arrays};
pub use job::{AblationSettings, CheckCase, JobFunction, JobKernel, JobMode, ProfiledInputs, WorkerJob};
pub use job_error::JobError;
pub use null_test::{NullTestError, mutant_table, null_test};
pub use phase_job::{JobPurpose, cases, reference_servers};
pub use prestarted::{ImportTime, Preload, PrestartedWorker};
pub use reference_check::{ToleranceTrials, check_reference, ill_conditioned};
pub use shared_outputs::SharedOutputs;
pub use supervisor::{
    ActivityLibrary, DeviceProbe, HUNG, JobOutcome, MeasureError, SinkError, exclude, find_activity, find_device,
    find_devices, measure,
};
pub use trace_task::range_name;
pub use worker::{WorkError, chain as error_chain};
pub use worker_command::WorkerCommand;
pub use worker_process::{launch_once, report_devices, work, work_ahead};
