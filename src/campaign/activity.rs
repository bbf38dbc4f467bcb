//! Launches traced by CUPTI, where ncu may not count: a pass of its own after everything was timed, in workers of its own.

use super::error::CampaignError;
use super::tools::worker;
use crate::host::{
    ActivityLibrary, ActivityOutcome, Finish, JobMode, SinkError, WorkerCommand, WorkerEvent, WorkerJob, find_activity,
    measure,
};
use crate::model::{ActivityTrace, LatencyOutcome};
use crate::ncu::ProfiledCase;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Finding a library and tracing one launch takes a second; a library that hangs takes forever.
const PROBE_TIMEOUT: Duration = Duration::from_secs(20);
/// The Python where the phase names none.
const PYTHON: &str = "python3";
/// Workers that may crash or hang before the rest is not tried: the library is the likelier cause then.
const MOST_CRASHES: usize = 2;

/// The CUPTI that launches can be traced with, in words, or why there is none. With `launch` one small kernel is traced.
///
/// # Errors
/// Why there is none, in words.
pub fn cupti(launch: bool) -> Result<String, String> {
    let worker = worker().map_err(|error| error.to_string())?;
    let found =
        find_activity(&worker, Path::new(PYTHON), launch, PROBE_TIMEOUT).map_err(|error| error.to_string())??;
    Ok(format!("{} at {}", found.release, found.path.display()))
}

/// What tracing came to, by case: launches, or why there are none.
pub(super) type Traced = BTreeMap<ProfiledCase, Result<ActivityTrace, String>>;

/// Tracing on one GPU.
pub(super) struct Tracing {
    /// A job with every kernel, for a profiler.
    job: WorkerJob,
    worker: WorkerCommand,
    /// A launch that takes longer hangs.
    timeout: Duration,
    logs: PathBuf,
    python: PathBuf,
    /// The library, once it was looked for.
    library: Option<Result<ActivityLibrary, String>>,
    passes: u32,
}

impl Tracing {
    /// Looks for nothing yet. Files of workers go to folders below `logs` whose names begin with `prefix`.
    pub fn new(job: WorkerJob, worker: WorkerCommand, timeout: Duration, logs: &Path, prefix: &str) -> Self {
        let python = job.python.clone().unwrap_or_else(|| PYTHON.into());
        let logs = logs.join(format!("{prefix}cupti"));
        Self { job, worker, timeout, logs, python, library: None, passes: 0 }
    }

    /// The CUPTI release, once it was found.
    pub fn release(&self) -> Option<&str> {
        self.library.as_ref()?.as_ref().ok().map(|library| library.release.as_str())
    }

    /// Traces these cases; one without an entry is not a kernel of this program's.
    ///
    /// # Errors
    /// The user asked to stop, or a folder cannot be made. What CUPTI cannot do is a reason, not an error.
    pub fn trace(&mut self, cases: &[&ProfiledCase]) -> Result<Traced, CampaignError> {
        let mut job = self.job.clone();
        job.kernels.retain(|kernel| kernel.function.is_none());
        for kernel in &mut job.kernels {
            kernel.shapes.retain(|shape| cases.iter().any(|(id, name)| *id == kernel.variant && name == shape));
        }
        job.kernels.retain(|kernel| !kernel.shapes.is_empty());
        let asked: Vec<ProfiledCase> = job
            .kernels
            .iter()
            .flat_map(|kernel| kernel.shapes.iter().map(|shape| (kernel.variant.clone(), shape.clone())))
            .collect();
        if asked.is_empty() {
            return Ok(Traced::new());
        }
        let library = match self.find()? {
            Ok(library) => library,
            Err(reason) => return Ok(asked.into_iter().map(|case| (case, Err(reason.clone()))).collect()),
        };
        let JobMode::Profile { repeat } = job.mode else { return Ok(Traced::new()) };
        job.mode = JobMode::Activity { repeat, library: library.path };
        self.work(job, asked)
    }

    /// The library, looked for once, and tried with one launch.
    fn find(&mut self) -> Result<Result<ActivityLibrary, String>, CampaignError> {
        if let Some(known) = &self.library {
            return Ok(known.clone());
        }
        let found = find_activity(&self.worker, &self.python, true, PROBE_TIMEOUT)?;
        if crate::process::interrupted() {
            return Err(CampaignError::Interrupted);
        }
        self.library = Some(found.clone());
        Ok(found)
    }

    /// Does the job in workers.
    fn work(&mut self, job: WorkerJob, asked: Vec<ProfiledCase>) -> Result<Traced, CampaignError> {
        let folder = self.logs.join(self.passes.to_string());
        self.passes += 1;
        std::fs::create_dir_all(&folder)
            .map_err(|source| CampaignError::Io { what: "make a folder for a worker", source })?;
        let (mut traced, mut crashes) = (Traced::new(), 0);
        let mut sink = |event: WorkerEvent| -> Result<(), SinkError> {
            match event {
                WorkerEvent::Traced { variant, shape, outcome } => {
                    let outcome = match outcome {
                        ActivityOutcome::Traced { trace } => Ok(trace),
                        ActivityOutcome::Failed { reason } => Err(reason),
                    };
                    traced.entry((variant, shape)).or_insert(outcome);
                }
                WorkerEvent::LaunchFailed { variant, shape, reason } => {
                    traced.entry((variant, shape)).or_insert(Err(reason));
                    crashes += 1;
                    if crashes >= MOST_CRASHES {
                        return Err(format!("{crashes} workers crashed or hung while they traced").into());
                    }
                }
                // what is left of a variant that took its worker down
                WorkerEvent::Timed(record) => {
                    if let LatencyOutcome::Failed { reason } = record.outcome {
                        traced.entry((record.variant, record.shape)).or_insert(Err(reason));
                    }
                }
                _ => {}
            }
            Ok(())
        };
        let left = match measure(job, &self.worker, self.timeout, &folder, &mut sink) {
            Ok(Finish::Interrupted) => return Err(CampaignError::Interrupted),
            Ok(Finish::Complete) => "it was not traced".to_owned(),
            Err(error) => crate::host::error_chain(&error),
        };
        for case in asked {
            traced.entry(case).or_insert_with(|| Err(left.clone()));
        }
        Ok(traced)
    }
}
