//! The worker process: opens the device, does a job, and reports each thing that happens before it goes on.
//!
//! Between checking and timing it waits for its standard input to be closed: the parent may have programs that still load.

use super::event::WorkerEvent;
use super::job::{JobMode, WorkerJob};
use super::worker::{DeviceLost, Reporter, WorkError, Worker, chain};
use crate::gpu::{Device, query_attributes};
use std::collections::HashMap;
use std::io;
use std::ops::ControlFlow;
use std::path::Path;

/// Does the job in `job`, with events on standard output.
///
/// Whatever else writes to standard output from here on (`printf` in a kernel) goes to standard error. Every error has
/// been said as an event when this returns it.
pub fn work(job: &Path) -> Result<(), WorkError> {
    let mut reporter = Reporter::stdout()?;
    match read(job).and_then(|job| run(job, &mut reporter)) {
        Ok(ControlFlow::Continue(())) => Ok(reporter.report(&WorkerEvent::Done)?),
        Ok(ControlFlow::Break(DeviceLost)) => Err(WorkError::Lost),
        Err(error) => {
            reporter.report(&WorkerEvent::Failed { reason: chain(&error) })?;
            Err(error)
        }
    }
}

/// Says on standard output what the device is, or that there is none.
pub fn report_device(ordinal: u32) -> Result<(), WorkError> {
    let mut reporter = Reporter::stdout()?;
    match query_attributes(ordinal) {
        Ok(Some(attributes)) => reporter.report(&WorkerEvent::Device(attributes))?,
        Ok(None) => {
            let reason = Device::open(ordinal).err().map_or_else(String::new, |e| e.to_string());
            reporter.report(&WorkerEvent::NoDevice { reason })?;
        }
        Err(error) => reporter.report(&WorkerEvent::Failed { reason: error.to_string() })?,
    }
    Ok(())
}

fn read(path: &Path) -> Result<WorkerJob, WorkError> {
    let unreadable = |reason: String| WorkError::Job { path: path.to_owned(), reason };
    let text = std::fs::read(path).map_err(|e| unreadable(e.to_string()))?;
    serde_json::from_slice(&text).map_err(|e| unreadable(e.to_string()))
}

fn run(job: WorkerJob, reporter: &mut Reporter) -> Result<ControlFlow<DeviceLost>, WorkError> {
    let device = Device::open(job.device)?;
    reporter.report(&WorkerEvent::Device(device.attributes().clone()))?;
    let mut worker = Worker { device, loaded: HashMap::new(), reporter, job };
    match worker.job.mode.clone() {
        JobMode::Bench(timing) => {
            if let lost @ ControlFlow::Break(_) = worker.check()? {
                return Ok(lost);
            }
            // What a kernel keeps in variables of its module from one launch to the next is gone with the module.
            worker.loaded.clear();
            worker.reporter.report(&WorkerEvent::Proven)?;
            io::copy(&mut io::stdin(), &mut io::sink())?;
            worker.time(&timing)
        }
        JobMode::Profile { repeat } => worker.trace(repeat),
    }
}
