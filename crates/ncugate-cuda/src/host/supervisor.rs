//! The parent of the workers: starts one and passes on its events. After a crash or a hang, it starts another for the remaining
//! work, without the variant that was running.

use super::event::{WorkerEvent, WorkerTask};
use super::job::WorkerJob;
use super::prestarted::{EmployedWorker, POLL_INTERVAL, PrestartedWorker, SILENCE_TIMEOUT};
use super::tail::tail;
use super::worker_command::WorkerCommand;
use super::worker_lines::WorkerLines;
use crate::gpu::DeviceAttributes;
use ncugate_model::process::{self, Drain, KeptOutput, ProcessExit, SupervisedChild};
use ncugate_model::{CheckOutcome, CheckRecord, LatencyOutcome, LatencyRecord, ShapeName, VariantId};
use nix::sys::signal::Signal;
use std::error::Error;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::mpsc::RecvTimeoutError;
use std::time::{Duration, Instant};

/// Text after the task in the record of a case that exceeded its time limit.
pub const HUNG: &str = "hung: no result within";
/// How long the parent keeps reading the pipe of an ended worker.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(2);

/// How the work on a job ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JobOutcome {
    /// Every case and latency of the job has a record.
    Complete,
    /// The user asked to stop; the measurements so far were passed on.
    Interrupted,
}

/// An error of the receiver of events.
pub type SinkError = Box<dyn Error + Send + Sync>;

/// Why measuring ended early although no variant is to blame.
#[derive(Debug, thiserror::Error)]
pub enum MeasureError {
    /// A file or process of the supervisor itself.
    #[error("cannot {what}")]
    Io {
        /// The failed operation.
        what: String,
        source: io::Error,
    },
    /// The worker reported that it cannot work.
    #[error("{reason}")]
    Worker { reason: String },
    /// The worker found that the phase's tolerance proves nothing.
    #[error("in `workload`: {reason}")]
    Refused {
        /// The shape and seed, and the accepted wrong answer.
        reason: String,
    },
    /// The worker ended while it ran no variant.
    #[error("the worker process {ending} before it was done{}", quoted(stderr))]
    Died {
        ending: ProcessExit,
        /// Last lines of its standard error.
        stderr: String,
    },
    /// The measurements could not be stored.
    #[error("cannot store a measurement")]
    Sink(#[source] SinkError),
}

fn quoted(stderr: &str) -> String {
    if stderr.is_empty() { String::new() } else { format!("; its output: {stderr}") }
}

/// The devices available for measuring.
#[derive(Debug, Clone, PartialEq)]
pub enum DeviceProbe {
    Present(DeviceAttributes),
    Absent { reason: String },
}

/// Asks a worker, started with `--probe`, for the first visible device.
pub fn find_device(worker: &WorkerCommand, limit: Duration) -> Result<DeviceProbe, MeasureError> {
    Ok(match find_devices(worker, limit)? {
        Ok(mut devices) if !devices.is_empty() => DeviceProbe::Present(devices.swap_remove(0)),
        Ok(_) => DeviceProbe::Absent { reason: "the driver reports no device".to_owned() },
        Err(reason) => DeviceProbe::Absent { reason },
    })
}

/// Asks a worker, started with `--probe`, for all visible devices in order, or for the reason that none is visible.
pub fn find_devices(
    worker: &WorkerCommand,
    limit: Duration,
) -> Result<Result<Vec<DeviceAttributes>, String>, MeasureError> {
    let output = process::run(worker.command().arg("--probe"), limit)
        .map_err(|source| MeasureError::Io { what: format!("start {}", worker.program.display()), source })?;
    let events: Vec<WorkerEvent> = output.stdout.lines().filter_map(WorkerEvent::parse).collect();
    let device = |event: &WorkerEvent| match event {
        WorkerEvent::Device(device) => Some(device.clone()),
        _ => None,
    };
    match events.first().cloned() {
        Some(WorkerEvent::Device(_)) => Ok(Ok(events.iter().filter_map(device).collect())),
        Some(WorkerEvent::NoDevice { reason }) => Ok(Err(reason)),
        Some(WorkerEvent::Failed { reason }) => Err(MeasureError::Worker { reason }),
        Some(_) | None => Err(MeasureError::Died { ending: output.ending, stderr: tail(&output.stderr) }),
    }
}

/// A CUPTI that can trace launches.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ActivityLibrary {
    pub path: PathBuf,
    /// The CUDA release that it came with.
    pub release: String,
}

/// Asks a worker which CUPTI it finds, or why it finds none; the search includes the packages of `python`. With `launch`, the
/// worker traces a kernel.
///
/// # Errors
/// The worker cannot be started.
pub fn find_activity(
    worker: &WorkerCommand,
    python: &Path,
    launch: bool,
    limit: Duration,
) -> Result<Result<ActivityLibrary, String>, MeasureError> {
    let mut command = worker.command();
    command.arg("--activity").arg(python).args(launch.then_some("--launch"));
    let output = process::run(&mut command, limit)
        .map_err(|source| MeasureError::Io { what: format!("start {}", worker.program.display()), source })?;
    Ok(match output.stdout.lines().find_map(WorkerEvent::parse) {
        Some(WorkerEvent::Activity { library, release }) if output.ending.completed() => {
            Ok(ActivityLibrary { path: library, release })
        }
        Some(WorkerEvent::Failed { reason }) => Err(reason),
        Some(_) | None => {
            let said = quoted(&tail(&output.stderr));
            Err(format!("the process that tried libcupti {}{said}", output.ending))
        }
    })
}

/// Does `job` in worker processes, the first of which can be `prestarted`. Passes every event to `sink` before it reads the
/// worker's next one. A worker times nothing until `sink` has taken its [`WorkerEvent::Proven`].
///
/// Each worker's job file and standard error are written to `folder`. A case or sample that takes longer than `timeout` is a
/// hang. Every case and latency of the job gets a record, even if its variant crashes.
pub fn measure(
    job: WorkerJob,
    worker: &WorkerCommand,
    prestarted: Option<PrestartedWorker>,
    timeout: Duration,
    folder: &Path,
    sink: &mut dyn FnMut(WorkerEvent) -> Result<(), SinkError>,
) -> Result<JobOutcome, MeasureError> {
    let mut supervisor = Supervisor { job, worker, prestarted, timeout, folder, sink, killed: Vec::new() };
    let mut attempt = 0;
    while !supervisor.job.is_settled() {
        let left = supervisor.remaining();
        match supervisor.attempt(attempt)? {
            WorkerOutcome::Interrupted => return Ok(JobOutcome::Interrupted),
            WorkerOutcome::Killed => attempt += 1,
            WorkerOutcome::Done { stderr } | WorkerOutcome::Lost { stderr } if supervisor.remaining() == left => {
                return Err(MeasureError::Died { ending: ProcessExit::Completed, stderr });
            }
            WorkerOutcome::Done { .. } | WorkerOutcome::Lost { .. } => attempt += 1,
        }
    }
    Ok(JobOutcome::Complete)
}

/// Records for the remaining work of an excluded variant: `Skipped` for each case, `Failed` for each latency.
pub fn exclude(job: &mut WorkerJob, variant: &VariantId, reason: &str) -> Vec<WorkerEvent> {
    let Some(kernel) = job.kernel_mut(variant) else { return Vec::new() };
    let mut events = Vec::new();
    for case in std::mem::take(&mut kernel.cases) {
        let outcome = CheckOutcome::Skipped { reason: reason.to_owned() };
        let record = CheckRecord { variant: variant.clone(), shape: case.shape, seed: case.seed, outcome, nulls: 0 };
        events.push(WorkerEvent::Checked(record));
    }
    for shape in std::mem::take(&mut kernel.shapes) {
        let outcome = LatencyOutcome::Failed { reason: reason.to_owned() };
        events.push(WorkerEvent::Timed(LatencyRecord { variant: variant.clone(), shape, outcome }));
    }
    events
}

/// A worker's last reported task for one variant.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Activity {
    variant: VariantId,
    shape: ShapeName,
    task: WorkerTask,
}

impl std::fmt::Display for Activity {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.task {
            WorkerTask::Check { seed } => write!(f, "{}, seed {seed}", self.shape),
            WorkerTask::Warm => write!(f, "{}, warming up", self.shape),
            WorkerTask::Sample { round } => write!(f, "{}, round {round}", self.shape),
            WorkerTask::Profile { repeat } => write!(f, "{}, profiled launch {repeat}", self.shape),
        }
    }
}

/// How one worker ended.
enum WorkerOutcome {
    /// It reported the end of the job.
    Done { stderr: String },
    /// A variant crashed it and is excluded.
    Lost { stderr: String },
    /// It was killed from outside; its current task is retried once.
    Killed,
    /// The user asked to stop.
    Interrupted,
}

/// One job, done by one worker after the other.
struct Supervisor<'a> {
    job: WorkerJob,
    worker: &'a WorkerCommand,
    /// The first worker, if it was started before its turn.
    prestarted: Option<PrestartedWorker>,
    timeout: Duration,
    folder: &'a Path,
    sink: &'a mut dyn FnMut(WorkerEvent) -> Result<(), SinkError>,
    /// The tasks during which workers were killed from outside; none if no variant was running.
    killed: Vec<Option<Activity>>,
}

/// The state that a worker's events led to.
#[derive(Default)]
struct WorkerEvents {
    activity: Option<Activity>,
    lost: Option<(VariantId, String)>,
    failed: Option<String>,
    refused: Option<String>,
    /// Whether libraries may still load.
    importing: bool,
    done: bool,
}

impl Supervisor<'_> {
    fn remaining(&self) -> usize {
        self.job.kernels.iter().map(|k| k.cases.len() + k.shapes.len()).sum()
    }

    /// Runs one worker to its end.
    fn attempt(&mut self, number: u32) -> Result<WorkerOutcome, MeasureError> {
        let errors = self.folder.join(format!("worker-{number}.stderr"));
        let importing = self.prestarted.as_ref().is_some_and(PrestartedWorker::imports_during_job);
        let EmployedWorker { mut child, said, mut lines } =
            self.spawn(&self.folder.join(format!("worker-{number}.json")))?;
        let mut events = WorkerEvents { importing, ..WorkerEvents::default() };
        let ending = self.listen(&mut child, &mut lines, &mut events)?;
        let stderr = self.keep(&errors, said)?;
        self.conclude(ending, events, stderr)
    }

    /// Stores a worker's standard error; returns its last lines.
    fn keep(&self, path: &Path, said: Drain) -> Result<String, MeasureError> {
        let io = |what: &str| {
            let what = format!("{what} {}", path.display());
            move |source| MeasureError::Io { what, source }
        };
        let said = said.take(Instant::now() + DRAIN_TIMEOUT).map_err(io("read"))?;
        std::fs::write(path, &said).map_err(io("write"))?;
        Ok(tail(&said))
    }

    /// Starts a worker, or uses the prestarted one.
    fn spawn(&mut self, job: &Path) -> Result<EmployedWorker, MeasureError> {
        let io = |what: String| move |source| MeasureError::Io { what, source };
        let text = serde_json::to_vec(&self.job).map_err(|e| io(format!("write {}", job.display()))(e.into()))?;
        std::fs::write(job, &text).map_err(io(format!("write {}", job.display())))?;
        if let Some(prestarted) = self.prestarted.take() {
            return prestarted.employ(&self.job).map_err(io("start a worker".to_owned()));
        }
        let mut command = self.worker.command();
        command.arg(job).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = SupervisedChild::spawn(&mut command, Some(SILENCE_TIMEOUT))
            .map_err(io(format!("start {}", self.worker.program.display())))?;
        let said = Drain::start(child.child().stderr.take(), KeptOutput::Ends);
        let lines = WorkerLines::of(&mut child).map_err(io("read the worker".to_owned()))?;
        Ok(EmployedWorker { child, said, lines })
    }

    /// Passes on events until the worker has ended and its pipe is empty.
    fn listen(
        &mut self,
        child: &mut SupervisedChild,
        lines: &mut WorkerLines,
        events: &mut WorkerEvents,
    ) -> Result<ProcessExit, MeasureError> {
        let io = |source| MeasureError::Io { what: "wait for the worker".to_owned(), source };
        let mut ended: Option<(ProcessExit, Instant)> = None;
        loop {
            match lines.recv_timeout(POLL_INTERVAL) {
                Ok(line) => {
                    if let Some(event) = WorkerEvent::parse(&line) {
                        let limit =
                            if matches!(event, WorkerEvent::Started { .. }) { self.timeout } else { SILENCE_TIMEOUT };
                        child.extend(limit);
                        let proven = event == WorkerEvent::Proven;
                        self.take(event, events)?;
                        if proven {
                            drop(child.child().stdin.take());
                        }
                    }
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return child.wait().map_err(io),
            }
            ended = match ended {
                None => child.poll().map_err(io)?.map(|ending| (ending, Instant::now())),
                Some((ending, when)) if when.elapsed() > DRAIN_TIMEOUT => return Ok(ending),
                still => still,
            };
        }
    }

    /// Notes an event and passes it on.
    fn take(&mut self, event: WorkerEvent, events: &mut WorkerEvents) -> Result<(), MeasureError> {
        events.activity = None;
        match &event {
            WorkerEvent::Started { variant, shape, task } => {
                events.activity = Some(Activity { variant: variant.clone(), shape: shape.clone(), task: *task });
            }
            WorkerEvent::Checked(record) => self.job.settle_check(record),
            WorkerEvent::Timed(record) => self.job.settle_latency(record),
            WorkerEvent::Traced { variant, shape, .. }
            | WorkerEvent::Ablated { variant, shape, .. }
            | WorkerEvent::Compared { variant, shape, .. }
            | WorkerEvent::LaunchFailed { variant, shape, .. } => {
                self.job.settle_trace(variant, shape);
            }
            WorkerEvent::DeviceLost { variant, reason } => events.lost = Some((variant.clone(), reason.clone())),
            WorkerEvent::Failed { reason } => events.failed = Some(reason.clone()),
            WorkerEvent::Refused { reason } => events.refused = Some(reason.clone()),
            WorkerEvent::Done => events.done = true,
            WorkerEvent::Device(_)
            | WorkerEvent::NoDevice { .. }
            | WorkerEvent::Activity { .. }
            | WorkerEvent::Preparing { .. }
            | WorkerEvent::References { .. }
            | WorkerEvent::Weakened { .. }
            | WorkerEvent::Sanitized { .. }
            | WorkerEvent::Launched { .. } => {}
            WorkerEvent::Uses { .. } | WorkerEvent::Proven => events.importing = false,
        }
        (self.sink)(event).map_err(MeasureError::Sink)
    }

    fn conclude(
        &mut self,
        ending: ProcessExit,
        events: WorkerEvents,
        stderr: String,
    ) -> Result<WorkerOutcome, MeasureError> {
        if ending == ProcessExit::Interrupted || process::interrupted() {
            return Ok(WorkerOutcome::Interrupted);
        }
        if let Some(reason) = events.refused {
            return Err(MeasureError::Refused { reason });
        }
        if let Some(reason) = events.failed {
            return Err(MeasureError::Worker { reason });
        }
        if let Some((variant, reason)) = events.lost {
            self.quarantine(&variant, &format!("not run: the variant made the device unusable ({reason})"))?;
            return Ok(WorkerOutcome::Lost { stderr });
        }
        if events.done {
            return Ok(WorkerOutcome::Done { stderr });
        }
        // No kernel sends this signal: it comes from a person or from the out-of-memory killer. If it happens twice during the
        // same task, the task is the likelier cause. A crash may also come from a library that loads; the next worker loads
        // none during its checks.
        let was_killed = ending == ProcessExit::Signaled(Signal::SIGKILL as i32);
        let crashed = matches!(ending, ProcessExit::NonZero(_) | ProcessExit::Signaled(_));
        if (was_killed || (crashed && events.importing)) && !self.killed.contains(&events.activity) {
            self.killed.push(events.activity);
            return Ok(WorkerOutcome::Killed);
        }
        let Some(activity) = events.activity else { return Err(MeasureError::Died { ending, stderr }) };
        let reason = match ending {
            ProcessExit::TimedOut => format!("{HUNG} {:?}", self.timeout),
            ProcessExit::Completed | ProcessExit::NonZero(_) | ProcessExit::Signaled(_) | ProcessExit::Interrupted => {
                format!("the worker process {ending}{}", quoted(&stderr))
            }
        };
        self.attribute_crash(&activity, reason)?;
        Ok(WorkerOutcome::Lost { stderr })
    }

    /// Records a crash as the result of the worker's current variant, and excludes the rest of the variant.
    fn attribute_crash(&mut self, activity: &Activity, reason: String) -> Result<(), MeasureError> {
        let (variant, shape) = (activity.variant.clone(), activity.shape.clone());
        let event = match activity.task {
            WorkerTask::Check { seed } => {
                let outcome = CheckOutcome::Crashed { reason };
                WorkerEvent::Checked(CheckRecord { variant, shape, seed, outcome, nulls: 0 })
            }
            WorkerTask::Warm | WorkerTask::Sample { .. } => {
                let outcome = LatencyOutcome::Failed { reason: format!("crashed during timing: {reason}") };
                WorkerEvent::Timed(LatencyRecord { variant, shape, outcome })
            }
            WorkerTask::Profile { .. } => WorkerEvent::LaunchFailed { variant, shape, reason },
        };
        self.take(event, &mut WorkerEvents::default())?;
        self.quarantine(&activity.variant, &format!("not run: the variant crashed at {activity}"))
    }

    /// Excludes the remaining work of a variant.
    fn quarantine(&mut self, variant: &VariantId, reason: &str) -> Result<(), MeasureError> {
        exclude(&mut self.job, variant, reason)
            .into_iter()
            .try_for_each(|event| (self.sink)(event).map_err(MeasureError::Sink))
    }
}

#[cfg(test)]
mod tests;
