//! Workers that start before their job exists, so that an interpreter and the modules of Python functions load early. Each is a
//! fresh process and gets one job.

use super::job::{FunctionLanguage, JobMode, WorkerJob};
use super::worker_command::WorkerCommand;
use crate::python_environment::PythonEnvironment;
use ncugate_model::process::{Drain, KeptOutput, PrestartedChild, RequestPipe, SupervisedChild};
use serde::{Deserialize, Serialize};
use std::io;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

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
    waiting: PrestartedChild<SupervisedChild>,
    said: Drain,
    preload: Preload,
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
        Ok(Self { waiting: PrestartedChild::new(child, pipe), said, preload: preload.clone() })
    }

    /// Whether it has loaded what this job needs.
    pub fn serves(&self, job: &WorkerJob) -> bool {
        self.preload.serves(job)
    }

    /// Whether libraries may still load while it does its job.
    pub(super) fn imports_during_job(&self) -> bool {
        matches!(self.preload, Preload::Functions { imports: ImportTime::DuringJob, .. })
    }

    /// Waits until it is idle, at most until `deadline`; returns whether it is.
    pub fn settle(&mut self, deadline: Instant) -> bool {
        self.waiting.settle(deadline)
    }

    /// Hands over its job. The worker must report something within `limit`.
    ///
    /// # Errors
    /// The job cannot be handed over.
    pub(super) fn employ(self, job: &[u8], limit: Duration) -> io::Result<(SupervisedChild, Drain)> {
        Ok((self.waiting.hand(job, limit)?, self.said))
    }
}
