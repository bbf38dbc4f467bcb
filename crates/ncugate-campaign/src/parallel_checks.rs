//! Correctness cases on all GPUs at once, before any timing on the first.

use super::error::CampaignError;
use super::tools::{RunGpu, Tools};
use ncugate_cuda::host::{JobOutcome, SinkError, WorkerCommand, WorkerEvent, WorkerJob, measure};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

/// The cases that one GPU checks, and its tools.
struct Part {
    job: WorkerJob,
    worker: WorkerCommand,
    logs: PathBuf,
}

/// Runs every correctness case of a job, each variant on one GPU, and removes it from the job. Nothing is timed.
///
/// # Errors
/// A worker failed, a record cannot be stored, or the user asked to stop.
pub(super) fn prove(
    job: &mut WorkerJob,
    tools: &Tools,
    timeout: Duration,
    logs: &Path,
    keep: &mut dyn FnMut(WorkerEvent) -> Result<(), SinkError>,
) -> Result<(), CampaignError> {
    let parts = parts(job, tools, logs)?;
    std::thread::scope(|scope| {
        let (sender, events) = channel();
        let start = |part| {
            let sender = sender.clone();
            scope.spawn(move || work(part, timeout, &sender))
        };
        let working: Vec<_> = parts.into_iter().map(start).collect();
        drop(sender);
        let kept = take(events, job, keep);
        let ended = working.into_iter().map(|lane| lane.join().unwrap_or(Err(CampaignError::LaneLost)));
        // If a record could not be stored, that ended every lane, and it is the cause.
        let ended = ended.fold(Ok(()), Result::and);
        kept.and(ended)
    })
}

/// Passes on records, and removes settled cases from the job.
fn take(
    events: Receiver<WorkerEvent>,
    job: &mut WorkerJob,
    keep: &mut dyn FnMut(WorkerEvent) -> Result<(), SinkError>,
) -> Result<(), CampaignError> {
    for event in events {
        if let WorkerEvent::Checked(record) = &event {
            job.settle_check(record);
        }
        keep(event).map_err(ncugate_cuda::host::MeasureError::Sink)?;
    }
    Ok(())
}

fn work(part: Part, timeout: Duration, events: &Sender<WorkerEvent>) -> Result<(), CampaignError> {
    let Part { job, worker, logs } = part;
    let mut sink = |event| events.send(event).map_err(SinkError::from);
    match measure(job, &worker, None, timeout, &logs, &mut sink)? {
        JobOutcome::Complete => Ok(()),
        JobOutcome::Interrupted => Err(CampaignError::Interrupted),
    }
}

/// Splits the cases of a job into one part per GPU. Variants are not split.
fn parts(job: &WorkerJob, tools: &Tools, logs: &Path) -> Result<Vec<Part>, CampaignError> {
    let gpus: Vec<RunGpu<'_>> = tools.gpus().collect();
    let open: Vec<_> =
        job.kernels.iter().filter(|kernel| !kernel.cases.is_empty()).map(|k| k.variant.clone()).collect();
    let mut parts = Vec::new();
    for (number, gpu) in gpus.iter().enumerate() {
        let own: Vec<_> = open.iter().skip(number).step_by(gpus.len()).collect();
        if own.is_empty() {
            continue;
        }
        let mut part = job.clone();
        part.kernels.retain(|kernel| own.contains(&&kernel.variant));
        part.kernels.iter_mut().for_each(|kernel| kernel.shapes.clear());
        let logs = match gpu.prefix().trim_end_matches('-') {
            // Files of this worker have the same names as those of the timing worker.
            "" => logs.join("check"),
            name => logs.join(name),
        };
        std::fs::create_dir_all(&logs)
            .map_err(|source| CampaignError::Io { what: "create a folder for a worker", source })?;
        parts.push(Part { job: part, worker: gpu.worker(), logs });
    }
    Ok(parts)
}
