//! Workers that start before their job exists, so that an interpreter and the modules of Python functions load early. Each is a
//! fresh process and gets one job.

use super::event::WorkerEvent;
use super::job::{FunctionLanguage, JobMode, WorkerJob};
use super::worker_command::WorkerCommand;
use super::worker_lines::WorkerLines;
use crate::python_environment::PythonEnvironment;
use ncugate_model::process::{self, Drain, KeptOutput, PrestartedChild, RequestPipe, SupervisedChild};
use serde::{Deserialize, Serialize};
use std::io;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::mpsc::RecvTimeoutError;
use std::time::{Duration, Instant};

/// How long a worker may be silent while no variant runs, for example while it opens a device or computes a reference.
pub(super) const SILENCE_TIMEOUT: Duration = Duration::from_secs(600);
/// Interval at which the parent checks a silent worker. Events and the worker's exit wake the parent at once.
pub(super) const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// The device that [`Preload::Device`] opens.
pub(super) const FIRST_DEVICE: u32 = 0;

/// When a worker imports the modules of functions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ImportTime {
    /// It is idle only after the imports.
    BeforeJob,
    /// It takes its job at once, and checks kernels meanwhile. Imports end before its first call of a function and before
    /// it times anything.
    DuringJob,
}

/// A worker's preparation before it knows its job.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "preload", rename_all = "snake_case")]
pub enum Preload {
    /// It opens the first visible device.
    Device,
    /// It loads Python and the modules of functions.
    Functions {
        /// The Python that functions run in.
        python: PythonEnvironment,
        /// Modules, and the function of each.
        functions: Vec<(PathBuf, String)>,
        imports: ImportTime,
    },
}

impl Preload {
    /// Whether it prepares everything that a job needs.
    fn serves(&self, job: &WorkerJob) -> bool {
        // CUPTI traces only contexts that are created after it has started.
        if matches!(job.mode, JobMode::Activity { .. }) {
            return false;
        }
        match self {
            Self::Device => !job.has_functions() && job.device == FIRST_DEVICE,
            Self::Functions { python, functions, .. } => {
                let has = |file: &PathBuf, name: &String| functions.iter().any(|own| (&own.0, &own.1) == (file, name));
                job.has_functions()
                    && *python == job.python
                    && job.functions(FunctionLanguage::Python).all(|(_, function)| has(&function.file, &function.name))
            }
        }
    }
}

/// A worker that is started before its turn. Dropping it terminates the process.
#[derive(Debug)]
pub struct PrestartedWorker {
    stage: Stage,
    said: Drain,
    preload: Preload,
}

#[derive(Debug)]
enum Stage {
    /// It has no job yet.
    Waits(PrestartedChild<SupervisedChild>),
    /// It prepares a job, and times nothing before its turn.
    Prepares { child: SupervisedChild, lines: WorkerLines },
}

/// A worker whose turn it is.
pub(super) struct EmployedWorker {
    pub(super) child: SupervisedChild,
    pub(super) said: Drain,
    pub(super) lines: WorkerLines,
}

impl PrestartedWorker {
    /// Starts worker number `number`, whose files are in `folder`.
    ///
    /// # Errors
    /// The worker cannot be started; the start at its turn reports why.
    pub fn start(worker: &WorkerCommand, preload: &Preload, folder: &Path, number: usize) -> io::Result<Self> {
        let place = |ending: &str| folder.join(format!("prestarted-{number}.{ending}"));
        let about = place("preload.json");
        std::fs::write(&about, serde_json::to_vec(preload)?)?;
        let pipe = RequestPipe::make(&place("json"))?;
        let mut command = worker.command();
        command.arg("--preload").arg(&about).arg(pipe.path());
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = SupervisedChild::spawn(&mut command, None)?;
        let said = Drain::start(child.child().stderr.take(), KeptOutput::Ends);
        Ok(Self { stage: Stage::Waits(PrestartedChild::new(child, pipe)), said, preload: preload.clone() })
    }

    /// Whether it waits for a job, and has loaded what this one needs.
    pub fn serves(&self, job: &WorkerJob) -> bool {
        matches!(self.stage, Stage::Waits(_)) && self.preload.serves(job)
    }

    /// Whether libraries may still load while it does its job.
    pub(super) fn imports_during_job(&self) -> bool {
        matches!(self.preload, Preload::Functions { imports: ImportTime::DuringJob, .. })
    }

    /// Hands over the job of an idle worker before its turn: it draws inputs and computes expected outputs, and times nothing yet.
    ///
    /// # Errors
    /// The job cannot be handed over.
    pub fn prepare(self, job: &WorkerJob) -> io::Result<Self> {
        let preload = self.preload.clone();
        let EmployedWorker { child, said, lines } = self.hand(job)?;
        Ok(Self { stage: Stage::Prepares { child, lines }, said, preload })
    }

    fn hand(self, job: &WorkerJob) -> io::Result<EmployedWorker> {
        let (child, lines) = match self.stage {
            Stage::Waits(waiting) => {
                let mut child = waiting.hand(&serde_json::to_vec(job)?, SILENCE_TIMEOUT)?;
                let lines = WorkerLines::of(&mut child)?;
                (child, lines)
            }
            Stage::Prepares { child, lines } => (child, lines),
        };
        Ok(EmployedWorker { child, said: self.said, lines })
    }

    /// Waits until it is idle, at most until `deadline`; returns whether it is.
    pub fn settle(&mut self, deadline: Instant) -> bool {
        match &mut self.stage {
            Stage::Waits(waiting) => waiting.settle(deadline),
            Stage::Prepares { lines, .. } => {
                while !process::interrupted() && Instant::now() < deadline {
                    match lines.await_ahead(POLL_INTERVAL) {
                        Ok(line) if WorkerEvent::parse(line) == Some(WorkerEvent::Proven) => return true,
                        Ok(_) | Err(RecvTimeoutError::Timeout) => {}
                        Err(RecvTimeoutError::Disconnected) => return false,
                    }
                }
                false
            }
        }
    }

    /// Hands over its job, unless it has prepared it. The worker must report something within [`SILENCE_TIMEOUT`].
    ///
    /// # Errors
    /// The job cannot be handed over.
    pub(super) fn employ(self, job: &WorkerJob) -> io::Result<EmployedWorker> {
        let mut employed = self.hand(job)?;
        employed.child.extend(SILENCE_TIMEOUT);
        Ok(employed)
    }
}
