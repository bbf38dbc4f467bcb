//! Launches traced by CUPTI if ncu is not permitted to read counters. Tracing is a separate pass in separate workers,
//! after all timing.

use super::error::CampaignError;
use super::tools::worker;
use ncugate_cuda::host::{
    ActivityLibrary, JobMode, JobOutcome, SinkError, WorkerCommand, WorkerEvent, WorkerJob, error_chain, find_activity,
    measure,
};
use ncugate_model::{ActivityTrace, ProfiledOutputs};
use ncugate_ncu::ProfiledCase;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Finding a library and tracing one launch takes a second; this limit catches a library that hangs.
const PROBE_TIMEOUT: Duration = Duration::from_secs(20);
/// The default Python.
const PYTHON: &str = "python3";
/// Workers that may crash or hang before tracing stops: from then on the library is the likelier cause.
const MOST_WORKERS: usize = 2;

/// Describes the CUPTI that can trace launches, in words. With `launch`, traces one small kernel.
///
/// # Errors
/// Why CUPTI cannot trace, in words.
pub fn cupti(launch: bool) -> Result<String, String> {
    let worker = worker().map_err(|error| error.to_string())?;
    let found =
        find_activity(&worker, Path::new(PYTHON), launch, PROBE_TIMEOUT).map_err(|error| error.to_string())??;
    Ok(format!("{} at {}", found.release, found.path.display()))
}

/// Why a case has no trace if its variant crashed or hung a worker before.
const NOT_TRACED: &str = "not traced: it crashed or hung at another shape";

/// Launches of a case, and whether their outputs are right.
pub(super) type VerifiedTrace = (ActivityTrace, ProfiledOutputs);

/// Receives the result of each case.
pub(super) type TraceSink<'k> =
    &'k mut dyn FnMut(&ProfiledCase, Result<VerifiedTrace, String>) -> Result<(), CampaignError>;

/// Tracing of kernels.
pub(super) struct Tracing {
    /// A job with every kernel, for a profiler.
    job: WorkerJob,
    worker: WorkerCommand,
    /// Time limit of a launch; beyond it the launch counts as hung.
    timeout: Duration,
    logs: PathBuf,
    python: PathBuf,
    /// The library; `None` until the first lookup.
    library: Option<Result<ActivityLibrary, String>>,
    passes: u32,
}

impl Tracing {
    /// Starts without a library lookup. Worker files go to a folder in `logs`.
    pub fn new(job: WorkerJob, worker: WorkerCommand, timeout: Duration, logs: &Path) -> Self {
        let python = job.python.program.clone();
        let logs = logs.join("cupti");
        Self { job, worker, timeout, logs, python, library: None, passes: 0 }
    }

    /// The CUPTI release, once the library was found.
    pub fn release(&self) -> Option<&str> {
        self.library.as_ref()?.as_ref().ok().map(|library| library.release.as_str())
    }

    /// Traces these cases, which must all be kernels, and passes on each result: the launches, or a reason.
    ///
    /// # Errors
    /// The user asked to stop, a folder cannot be created, or a trace cannot be stored. A limit of CUPTI is a reason,
    /// not an error.
    pub fn trace(&mut self, cases: &[&ProfiledCase], keep: TraceSink<'_>) -> Result<(), CampaignError> {
        let mut job = self.job.clone();
        for kernel in &mut job.kernels {
            kernel.shapes.retain(|shape| cases.iter().any(|(id, name)| *id == kernel.variant && name == shape));
        }
        job.kernels.retain(|kernel| !kernel.shapes.is_empty());
        let mut settled = BTreeSet::new();
        let left = match (self.find()?, &job.mode) {
            (Ok(library), JobMode::Profile(inputs)) => {
                job.mode = JobMode::Activity { inputs: inputs.clone(), library: library.path };
                self.work(job, &mut settled, keep)?
            }
            (
                Ok(_),
                JobMode::Bench(_)
                | JobMode::Activity { .. }
                | JobMode::Sanitize { .. }
                | JobMode::Ablate(_)
                | JobMode::Bitwise { .. },
            ) => NOT_TRACED.to_owned(),
            (Err(reason), _) => reason,
        };
        for case in cases.iter().filter(|case| !settled.contains(**case)) {
            keep(case, Err(left.clone()))?;
        }
        Ok(())
    }

    /// Looks up the library once, and tries it with one launch.
    fn find(&mut self) -> Result<Result<ActivityLibrary, String>, CampaignError> {
        if let Some(known) = &self.library {
            return Ok(known.clone());
        }
        let found = find_activity(&self.worker, &self.python, true, PROBE_TIMEOUT)?;
        if ncugate_model::process::interrupted() {
            return Err(CampaignError::Interrupted);
        }
        self.library = Some(found.clone());
        Ok(found)
    }

    /// Runs the job in workers; returns the reason why the remaining cases were not traced.
    fn work(
        &mut self,
        job: WorkerJob,
        settled: &mut BTreeSet<ProfiledCase>,
        keep: TraceSink<'_>,
    ) -> Result<String, CampaignError> {
        let folder = self.logs.join(self.passes.to_string());
        self.passes += 1;
        std::fs::create_dir_all(&folder)
            .map_err(|source| CampaignError::Io { what: "create a folder for a worker", source })?;
        let (mut workers, mut failed) = (0, None);
        let mut sink = |event: WorkerEvent| -> Result<(), SinkError> {
            let (case, outcome) = match event {
                WorkerEvent::Traced { variant, shape, trace, outputs } => ((variant, shape), Ok((trace, outputs))),
                WorkerEvent::LaunchFailed { variant, shape, reason } => ((variant, shape), Err(reason)),
                WorkerEvent::Device(_) if workers == MOST_WORKERS => {
                    return Err(format!("{workers} workers crashed or hung during tracing").into());
                }
                WorkerEvent::Device(_) => {
                    workers += 1;
                    return Ok(());
                }
                // The remaining cases of a variant that crashed its worker arrive as failed latencies.
                _ => return Ok(()),
            };
            if settled.insert(case.clone())
                && let Err(error) = keep(&case, outcome)
            {
                failed = Some(error);
                return Err("cannot store a record".into());
            }
            Ok(())
        };
        let ended = measure(job, &self.worker, None, self.timeout, &folder, &mut sink);
        match (failed, ended) {
            (Some(error), _) => Err(error),
            (None, Ok(JobOutcome::Interrupted)) => Err(CampaignError::Interrupted),
            (None, Ok(JobOutcome::Complete)) => Ok(NOT_TRACED.to_owned()),
            (None, Err(error)) => Ok(error_chain(&error)),
        }
    }
}
