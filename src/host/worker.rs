//! The worker process: opens the device, does a job, and says each thing that happens before it goes on.
//!
//! Between checking and timing it waits for its standard input to be closed: the parent may have programs that still load.
//!
//! A CUDA context does not survive an illegal access. The worker then says so and ends; the parent starts another.

use super::device::{Device, DeviceError, Kernel};
use super::event::Event;
use super::facts::probe;
use super::job::{Job, Mode};
use super::question::AnswerError;
use crate::model::ShapeName;
use crate::model::VariantId;
use std::collections::HashMap;
use std::error::Error;
use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Why a worker could not do its job, with no variant to blame.
#[derive(Debug, thiserror::Error)]
pub enum WorkError {
    /// The job cannot be read.
    #[error("cannot read job {}: {reason}", path.display())]
    Job {
        /// The file.
        path: PathBuf,
        /// Why.
        reason: String,
    },
    /// The device cannot be used.
    #[error(transparent)]
    Device(#[from] DeviceError),
    /// Buffers of a shape cannot be had.
    #[error("cannot have buffers of {bytes} bytes for shape '{shape}'")]
    Buffers {
        /// The shape.
        shape: ShapeName,
        /// Bytes of one set.
        bytes: usize,
        /// What the driver said.
        source: DeviceError,
    },
    /// There is no right answer to compare with.
    #[error("no reference for shape '{shape}', seed {seed}: {reason}")]
    Reference {
        /// The shape.
        shape: ShapeName,
        /// The seed.
        seed: u64,
        /// Why.
        reason: String,
    },
    /// A variant took the device down; the parent was told which.
    #[error("the device was lost; what is left needs another process")]
    Lost,
    /// The parent is gone.
    #[error("cannot report to the parent process")]
    Report(#[from] io::Error),
}

impl WorkError {
    /// An answer that failed, as an error of the worker.
    pub(super) fn reference(shape: &ShapeName, seed: u64, error: &AnswerError) -> Self {
        Self::Reference { shape: shape.clone(), seed, reason: chain(error) }
    }
}

/// An error with its causes, on one line.
fn chain(error: &(dyn Error + 'static)) -> String {
    let causes = std::iter::successors(Some(error), |&e| e.source());
    causes.map(ToString::to_string).collect::<Vec<_>>().join(": ")
}

/// Whether the worker can go on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub(super) enum Flow {
    /// It can.
    Onward,
    /// The device is lost, and the parent has been told.
    Lost,
}

/// Does the job in `job`, with events on standard output.
///
/// Whatever else writes to standard output from here on (`printf` in a kernel) goes to standard error. Every error has
/// been said as an event when this returns it.
pub fn work(job: &Path) -> Result<(), WorkError> {
    let mut reporter = Reporter::stdout()?;
    match read(job).and_then(|job| run(job, &mut reporter)) {
        Ok(Flow::Onward) => Ok(reporter.say(&Event::Done)?),
        Ok(Flow::Lost) => Err(WorkError::Lost),
        Err(error) => {
            reporter.say(&Event::Failed { reason: chain(&error) })?;
            Err(error)
        }
    }
}

/// Says on standard output what the device is, or that there is none.
pub fn report_device(ordinal: u32) -> Result<(), WorkError> {
    let mut reporter = Reporter::stdout()?;
    match probe(ordinal) {
        Ok(Some(facts)) => reporter.say(&Event::Device(facts))?,
        Ok(None) => {
            let reason = Device::open(ordinal).err().map_or_else(String::new, |e| e.to_string());
            reporter.say(&Event::NoDevice { reason })?;
        }
        Err(error) => reporter.say(&Event::Failed { reason: error.to_string() })?,
    }
    Ok(())
}

fn read(path: &Path) -> Result<Job, WorkError> {
    let unreadable = |reason: String| WorkError::Job { path: path.to_owned(), reason };
    let text = std::fs::read(path).map_err(|e| unreadable(e.to_string()))?;
    serde_json::from_slice(&text).map_err(|e| unreadable(e.to_string()))
}

fn run(job: Job, reporter: &mut Reporter) -> Result<Flow, WorkError> {
    let device = Device::open(job.device)?;
    reporter.say(&Event::Device(device.facts().clone()))?;
    let mut worker = Worker { device, kernels: HashMap::new(), reporter, job };
    match worker.job.mode.clone() {
        Mode::Bench(timing) => {
            if worker.check()? == Flow::Lost {
                return Ok(Flow::Lost);
            }
            worker.reporter.say(&Event::Proven)?;
            io::copy(&mut io::stdin(), &mut io::sink())?;
            worker.time(&timing)
        }
        Mode::Profile { repeat } => worker.trace(repeat),
    }
}

/// A worker at work. Fields are dropped in their order: kernels before the device that they are loaded on.
pub(super) struct Worker<'a> {
    pub(super) kernels: HashMap<VariantId, Result<Kernel, DeviceError>>,
    pub(super) device: Device,
    pub(super) reporter: &'a mut Reporter,
    pub(super) job: Job,
}

impl Worker<'_> {
    /// Loads a variant's kernel unless that was done, or failed, before.
    pub(super) fn kernel(&mut self, index: usize) -> Result<&Kernel, DeviceError> {
        let kernel = &self.job.kernels[index];
        let (cubin, entry) = (&kernel.cubin, &kernel.entry);
        let device = &self.device;
        let loaded = self.kernels.entry(kernel.variant.clone()).or_insert_with(|| device.load(cubin, entry));
        loaded.as_ref().map_err(Clone::clone)
    }

    /// After a failure of a variant: whether the device still works, telling the parent if it does not.
    pub(super) fn survey(&mut self, variant: &VariantId, reason: &str) -> Result<Flow, WorkError> {
        if self.device.is_alive() {
            return Ok(Flow::Onward);
        }
        self.reporter.say(&Event::DeviceLost { variant: variant.clone(), reason: reason.to_owned() })?;
        Ok(Flow::Lost)
    }
}

/// The line to the parent.
pub(super) struct Reporter {
    out: File,
}

impl Reporter {
    /// Takes standard output for itself and points it at standard error for everybody else.
    fn stdout() -> io::Result<Self> {
        let out = nix::unistd::dup(io::stdout())?;
        nix::unistd::dup2_stdout(io::stderr())?;
        Ok(Self { out: File::from(out) })
    }

    /// Writes one event as one line, at once.
    pub(super) fn say(&mut self, event: &Event) -> io::Result<()> {
        let mut line = serde_json::to_vec(event)?;
        line.push(b'\n');
        self.out.write_all(&line)
    }
}
