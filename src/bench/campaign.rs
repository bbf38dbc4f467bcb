//! The parent of the workers: starts one, hands on what it says, and after a crash or a hang starts another for what
//! is left, without the variant that is to blame.

use super::DeviceFacts;
use super::event::{Event, Task};
use super::job::Job;
use crate::model::ShapeName;
use crate::model::VariantId;
use crate::model::{CheckOutcome, CheckRecord, LatencyOutcome, LatencyRecord};
use crate::process::{self, Ending, Supervised};
use crate::store::open;
use std::error::Error;
use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

/// How long a worker may be silent while no variant is to blame: opening a device, computing a reference.
const PATIENCE: Duration = Duration::from_secs(600);
/// How often the parent looks at a worker that says nothing; what it says, and its end, wake the parent at once.
const TICK: Duration = Duration::from_millis(50);
/// How long the pipe of an ended worker is read on.
const DRAIN: Duration = Duration::from_secs(2);
/// Lines of standard error that go into the reason of a crash.
const LAST_LINES: usize = 5;
/// Bytes of it that are read.
const LAST_BYTES: u64 = 64 << 10;
/// Characters of them at most.
const LAST_CHARACTERS: usize = 600;

/// The program that works, and its arguments before the job file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkerCommand {
    /// The program, usually this one.
    pub program: PathBuf,
    /// Its arguments, usually the hidden subcommand.
    pub args: Vec<String>,
}

impl WorkerCommand {
    fn command(&self) -> Command {
        let mut command = Command::new(&self.program);
        command.args(&self.args);
        command
    }
}

/// How a campaign ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Finish {
    /// Every case and latency of the job has a record.
    Complete,
    /// The user asked to stop; what was measured was handed on.
    Interrupted,
}

/// What the receiver of events may fail with.
pub type SinkError = Box<dyn Error + Send + Sync>;

/// Why measuring ended early, with no variant to blame.
#[derive(Debug, thiserror::Error)]
pub enum MeasureError {
    /// A file or process of the campaign itself.
    #[error("cannot {what}")]
    Io {
        /// What was being done.
        what: String,
        /// Why not.
        source: io::Error,
    },
    /// The worker said that it cannot work.
    #[error("{reason}")]
    Worker {
        /// Why.
        reason: String,
    },
    /// The worker ended without blaming a variant.
    #[error("the worker process {ending} before it was done{}", said(stderr))]
    Died {
        /// How.
        ending: Ending,
        /// Last lines of its standard error.
        stderr: String,
    },
    /// What was measured could not be kept.
    #[error("cannot keep what was measured")]
    Sink(#[source] SinkError),
}

fn said(stderr: &str) -> String {
    if stderr.is_empty() { String::new() } else { format!("; it said: {stderr}") }
}

/// What there is to measure on.
#[derive(Debug, Clone, PartialEq)]
pub enum Probe {
    /// A device.
    Present(DeviceFacts),
    /// None.
    Absent {
        /// What is missing.
        reason: String,
    },
}

/// Asks a worker, started with `--probe`, for its device.
pub fn probe_device(worker: &WorkerCommand, limit: Duration) -> Result<Probe, MeasureError> {
    let output = process::run(worker.command().arg("--probe"), limit)
        .map_err(|source| MeasureError::Io { what: format!("start {}", worker.program.display()), source })?;
    match output.stdout.lines().find_map(Event::parse) {
        Some(Event::Device(facts)) => Ok(Probe::Present(facts)),
        Some(Event::NoDevice { reason }) => Ok(Probe::Absent { reason }),
        Some(Event::Failed { reason }) => Err(MeasureError::Worker { reason }),
        Some(_) | None => Err(MeasureError::Died { ending: output.ending, stderr: tail(&output.stderr) }),
    }
}

/// Does `job` in worker processes and hands every event to `sink` before the worker's next is looked at; a worker times
/// nothing until `sink` has taken its [`Event::Proven`].
///
/// `folder` takes each worker's job file and standard error. A case or sample that takes longer than `timeout` is a
/// hang. Every case and latency of the job comes out as a record, whatever its variant does.
pub fn measure(
    job: Job,
    worker: &WorkerCommand,
    timeout: Duration,
    folder: &Path,
    sink: &mut dyn FnMut(Event) -> Result<(), SinkError>,
) -> Result<Finish, MeasureError> {
    let mut campaign = Campaign { job, worker, timeout, folder, sink };
    let mut attempt = 0;
    while !campaign.job.is_settled() {
        let left = campaign.remaining();
        match campaign.attempt(attempt)? {
            Attempt::Interrupted => return Ok(Finish::Interrupted),
            Attempt::Done { stderr } | Attempt::Lost { stderr } if campaign.remaining() == left => {
                return Err(MeasureError::Died { ending: Ending::Completed, stderr });
            }
            Attempt::Done { .. } | Attempt::Lost { .. } => attempt += 1,
        }
    }
    Ok(Finish::Complete)
}

/// Records for what will not be run of a variant: `Skipped` for each case, `Failed` for each latency.
pub fn exclude(job: &mut Job, variant: &VariantId, reason: &str) -> Vec<Event> {
    let Some(kernel) = job.kernel_mut(variant) else { return Vec::new() };
    let mut events = Vec::new();
    for case in std::mem::take(&mut kernel.cases) {
        let outcome = CheckOutcome::Skipped { reason: reason.to_owned() };
        let record = CheckRecord { variant: variant.clone(), shape: case.shape, seed: case.seed, outcome };
        events.push(Event::Checked(record));
    }
    for shape in std::mem::take(&mut kernel.shapes) {
        let outcome = LatencyOutcome::Failed { reason: reason.to_owned() };
        events.push(Event::Timed(LatencyRecord { variant: variant.clone(), shape, outcome }));
    }
    events
}

/// What a worker was last seen doing for one variant.
#[derive(Debug, Clone)]
struct Doing {
    variant: VariantId,
    shape: ShapeName,
    task: Task,
}

impl std::fmt::Display for Doing {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.task {
            Task::Check { seed } => write!(f, "{}, seed {seed}", self.shape),
            Task::Warm => write!(f, "{}, warming up", self.shape),
            Task::Sample { round } => write!(f, "{}, round {round}", self.shape),
            Task::Profile { repeat } => write!(f, "{}, profiled launch {repeat}", self.shape),
        }
    }
}

/// How one worker ended.
enum Attempt {
    /// It said it did everything.
    Done { stderr: String },
    /// A variant took it down and is out.
    Lost { stderr: String },
    /// The user asked to stop.
    Interrupted,
}

struct Campaign<'a> {
    job: Job,
    worker: &'a WorkerCommand,
    timeout: Duration,
    folder: &'a Path,
    sink: &'a mut dyn FnMut(Event) -> Result<(), SinkError>,
}

/// What was heard of a worker until it ended.
#[derive(Default)]
struct Heard {
    doing: Option<Doing>,
    lost: Option<(VariantId, String)>,
    failed: Option<String>,
    done: bool,
}

impl Campaign<'_> {
    fn remaining(&self) -> usize {
        self.job.kernels.iter().map(|k| k.cases.len() + k.shapes.len()).sum()
    }

    /// Runs one worker to its end.
    fn attempt(&mut self, number: u32) -> Result<Attempt, MeasureError> {
        let errors = self.folder.join(format!("worker-{number}.stderr"));
        let mut child = self.spawn(&self.folder.join(format!("worker-{number}.json")), &errors)?;
        let Some(stdout) = child.child().stdout.take() else {
            let source = io::Error::other("no pipe");
            return Err(MeasureError::Io { what: "read the worker".to_owned(), source });
        };
        let lines = read_lines(stdout);
        let mut heard = Heard::default();
        let ending = self.listen(&mut child, &lines, &mut heard)?;
        let stderr = tail(&String::from_utf8_lossy(&open::end(&errors, LAST_BYTES).unwrap_or_default()));
        self.conclude(ending, heard, stderr)
    }

    fn spawn(&self, job: &Path, errors: &Path) -> Result<Supervised, MeasureError> {
        let io = |what: String| move |source| MeasureError::Io { what, source };
        let text = serde_json::to_vec(&self.job).map_err(|e| io(format!("write {}", job.display()))(e.into()))?;
        std::fs::write(job, text).map_err(io(format!("write {}", job.display())))?;
        let stderr = File::create(errors).map_err(io(format!("write {}", errors.display())))?;
        let mut command = self.worker.command();
        command.arg(job).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(stderr);
        Supervised::spawn(&mut command, Some(PATIENCE)).map_err(io(format!("start {}", self.worker.program.display())))
    }

    /// Hands on events until the worker has ended and its pipe is empty.
    fn listen(
        &mut self,
        child: &mut Supervised,
        lines: &Receiver<String>,
        heard: &mut Heard,
    ) -> Result<Ending, MeasureError> {
        let io = |source| MeasureError::Io { what: "wait for the worker".to_owned(), source };
        let mut ended: Option<(Ending, Instant)> = None;
        loop {
            match lines.recv_timeout(TICK) {
                Ok(line) => {
                    if let Some(event) = Event::parse(&line) {
                        let limit = if matches!(event, Event::Started { .. }) { self.timeout } else { PATIENCE };
                        child.extend(limit);
                        let proven = event == Event::Proven;
                        self.hear(event, heard)?;
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
                Some((ending, when)) if when.elapsed() > DRAIN => return Ok(ending),
                still => still,
            };
        }
    }

    fn hear(&mut self, event: Event, heard: &mut Heard) -> Result<(), MeasureError> {
        heard.doing = None;
        match &event {
            Event::Started { variant, shape, task } => {
                heard.doing = Some(Doing { variant: variant.clone(), shape: shape.clone(), task: *task });
            }
            Event::Checked(record) => self.job.settle_check(record),
            Event::Timed(record) => self.job.settle_latency(record),
            Event::DeviceLost { variant, reason } => heard.lost = Some((variant.clone(), reason.clone())),
            Event::Failed { reason } => heard.failed = Some(reason.clone()),
            Event::Done => heard.done = true,
            Event::Device(_)
            | Event::NoDevice { .. }
            | Event::Preparing { .. }
            | Event::Proven
            | Event::Launched { .. }
            | Event::LaunchFailed { .. } => {}
        }
        (self.sink)(event).map_err(MeasureError::Sink)
    }

    fn conclude(&mut self, ending: Ending, heard: Heard, stderr: String) -> Result<Attempt, MeasureError> {
        if ending == Ending::Interrupted || process::interrupted() {
            return Ok(Attempt::Interrupted);
        }
        if let Some(reason) = heard.failed {
            return Err(MeasureError::Worker { reason });
        }
        if let Some((variant, reason)) = heard.lost {
            self.give_up(&variant, &format!("not run after it took the device down ({reason})"))?;
            return Ok(Attempt::Lost { stderr });
        }
        if heard.done {
            return Ok(Attempt::Done { stderr });
        }
        let Some(doing) = heard.doing else { return Err(MeasureError::Died { ending, stderr }) };
        let reason = match ending {
            Ending::TimedOut => format!("hung: no result within {:?}", self.timeout),
            Ending::Completed | Ending::NonZero(_) | Ending::Signaled(_) | Ending::Interrupted => {
                format!("the worker process {ending}{}", said(&stderr))
            }
        };
        self.blame(&doing, reason)?;
        Ok(Attempt::Lost { stderr })
    }

    /// Records what a variant did to the worker, and that the rest of it is not run.
    fn blame(&mut self, doing: &Doing, reason: String) -> Result<(), MeasureError> {
        let (variant, shape) = (doing.variant.clone(), doing.shape.clone());
        let event = match doing.task {
            Task::Check { seed } => {
                let outcome = CheckOutcome::Crashed { reason };
                Event::Checked(CheckRecord { variant, shape, seed, outcome })
            }
            Task::Warm | Task::Sample { .. } => {
                let outcome = LatencyOutcome::Failed { reason: format!("crashed while it was timed: {reason}") };
                Event::Timed(LatencyRecord { variant, shape, outcome })
            }
            Task::Profile { .. } => Event::LaunchFailed { variant, shape, reason },
        };
        self.hear(event, &mut Heard::default())?;
        self.give_up(&doing.variant, &format!("not run after it crashed at {doing}"))
    }

    fn give_up(&mut self, variant: &VariantId, reason: &str) -> Result<(), MeasureError> {
        exclude(&mut self.job, variant, reason)
            .into_iter()
            .try_for_each(|event| (self.sink)(event).map_err(MeasureError::Sink))
    }
}

fn read_lines(pipe: impl io::Read + Send + 'static) -> Receiver<String> {
    let (sender, lines) = channel();
    std::thread::spawn(move || {
        let mut pipe = BufReader::new(pipe);
        let mut line = Vec::new();
        while matches!(pipe.read_until(b'\n', &mut line), Ok(n) if n > 0) {
            if sender.send(String::from_utf8_lossy(&line).into_owned()).is_err() {
                break;
            }
            line.clear();
        }
    });
    lines
}

/// The last lines of what a process said, on one line.
pub(super) fn tail(text: &str) -> String {
    let lines: Vec<&str> = text.lines().map(str::trim).filter(|l| !l.is_empty()).collect();
    let joined = lines[lines.len().saturating_sub(LAST_LINES)..].join(" | ");
    let skip = joined.chars().count().saturating_sub(LAST_CHARACTERS);
    joined.chars().skip(skip).collect()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
