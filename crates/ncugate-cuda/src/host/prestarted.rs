//! Workers that are started before there is a job for them, so that the device is opened, or an interpreter and the modules of Python
//! functions load, while something else goes on. Each gets one job, and is a fresh process for it.

use super::hidden_job::HiddenJob;
use crate::time::HiddenSeeds;
use ncugate_model::process::{Drain, KeptOutput, RequestPipe, SupervisedChild};
use serde::{Deserialize, Serialize};
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// How long everything waits for workers that still load.
const LOAD_TIMEOUT: Duration = Duration::from_secs(120);

/// What a worker does before it knows its job.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "preload", rename_all = "snake_case")]
pub enum Preload {
    /// It opens the run's first device.
    Device {
        /// What it goes on making beside, of the job that it will get.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        hidden: Option<Box<HiddenJob>>,
    },
    /// It loads Python and modules.
    Functions {
        /// The Python that functions run in.
        python: Option<PathBuf>,
        /// Modules, and the function of each.
        functions: Vec<(PathBuf, String)>,
    },
}

/// Workers that wait for a job; clones share them.
#[derive(Debug, Clone, Default)]
pub struct PrestartedWorkers(Arc<Mutex<Vec<PrestartedWorker>>>);

/// A worker that was started early. Dropped, it is ended.
#[derive(Debug)]
pub(super) struct PrestartedWorker {
    child: SupervisedChild,
    said: Drain,
    pipe: RequestPipe,
    preload: Preload,
}

impl PrestartedWorkers {
    /// Starts a worker by a command for each of those; their files go to `folder`. One that cannot be started is left for its turn.
    pub fn start(&self, worker: impl Fn() -> Command, preloads: &[Preload], folder: &Path) {
        let all = preloads.iter().enumerate();
        self.lock().extend(all.filter_map(|(at, preload)| PrestartedWorker::start(worker(), preload, folder, at).ok()));
    }

    /// The hidden seeds of which the worker that will be taken next makes cases.
    pub(super) fn hidden_seeds(&self) -> Option<HiddenSeeds> {
        match &self.lock().first()?.preload {
            Preload::Device { hidden } => hidden.as_ref().map(|job| job.seeds()),
            Preload::Functions { .. } => None,
        }
    }

    /// Waits until every worker is ready, that is idle; ends those that are not within two minutes.
    pub fn settle(&self) {
        let deadline = Instant::now() + LOAD_TIMEOUT;
        self.lock().retain_mut(|waiting| waiting.settle(deadline));
    }

    /// A worker that has loaded this, once it is ready.
    pub(super) fn take(&self, preload: &Preload) -> Option<PrestartedWorker> {
        let deadline = Instant::now() + LOAD_TIMEOUT;
        loop {
            let at = self.lock().iter().position(|waiting| waiting.preload.serves(preload))?;
            let mut waiting = self.lock().remove(at);
            if waiting.settle(deadline) {
                return Some(waiting);
            }
        }
    }

    /// Ends those that nobody needed.
    pub fn dismiss(&self) {
        self.lock().clear();
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<PrestartedWorker>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Preload {
    /// Whether what was loaded is all that the other needs.
    fn serves(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Device { .. }, Self::Device { .. }) => true,
            (Self::Functions { python, functions }, Self::Functions { python: wanted_python, functions: wanted }) => {
                python == wanted_python && wanted.iter().all(|function| functions.contains(function))
            }
            (Self::Device { .. }, Self::Functions { .. }) | (Self::Functions { .. }, Self::Device { .. }) => false,
        }
    }
}

impl PrestartedWorker {
    fn start(mut command: Command, preload: &Preload, folder: &Path, number: usize) -> io::Result<Self> {
        let place = |ending: &str| folder.join(format!("prestarted-{number}.{ending}"));
        let about = place("preload.json");
        std::fs::write(&about, serde_json::to_vec(preload)?)?;
        let pipe = RequestPipe::make(&place("json"))?;
        command.arg("--preload").arg(&about).arg(pipe.path());
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = SupervisedChild::spawn(&mut command, None)?;
        let said = Drain::start(child.child().stderr.take(), KeptOutput::Ends);
        Ok(Self { child, said, pipe, preload: preload.clone() })
    }

    /// Whether it is idle before `deadline`.
    fn settle(&mut self, deadline: Instant) -> bool {
        let Self { child, pipe, .. } = self;
        pipe.settle(deadline, || Ok(child.poll()?.is_none()))
    }

    /// Gives it its job, for which it has `limit` until it says something.
    ///
    /// # Errors
    /// The job cannot be handed over.
    pub(super) fn employ(self, job: &[u8], limit: Duration) -> io::Result<(SupervisedChild, Drain)> {
        let Self { mut child, said, pipe, .. } = self;
        child.extend(limit);
        pipe.hand(job, || Ok(child.poll()?.is_none()))?;
        Ok((child, said))
    }
}
