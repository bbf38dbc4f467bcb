//! Shared parts of all tasks of the worker process: the device, its loaded kernels, the job, and the reporter.
//!
//! A CUDA context does not survive an illegal access. The worker then reports it and ends; the parent starts another.

use super::check_task::AnsweredInputs;
use super::event::{WorkerEvent, WorkerTask};
use super::hidden_draws::HiddenCases;
use super::job::{FunctionLanguage, WorkerJob};
use super::python::PythonFunctions;
use crate::gpu::{ActivityError, ArenaLayout, CudaDevice, DeviceError, LoadedProgram};
use crate::prove::{ExpectedOutputError, ShapeSpec};
use ncugate_model::{Law, ShapeName, VariantId};
use ncugate_phase::plan::ShapeProgram;
use std::collections::HashMap;
use std::error::Error;
use std::fs::File;
use std::io::{self, Write};
use std::ops::ControlFlow;
use std::path::PathBuf;

/// Why a worker could not do its job although no variant is to blame.
#[derive(Debug, thiserror::Error)]
pub enum WorkError {
    /// The job cannot be read.
    #[error("cannot read job {}: {reason}", path.display())]
    Job { path: PathBuf, reason: String },
    /// Python functions cannot be called.
    #[error("cannot run Python functions with `{}`: {reason}", python.display())]
    Python { python: PathBuf, reason: String },
    /// The device cannot be used.
    #[error(transparent)]
    Device(#[from] DeviceError),
    /// Launches cannot be traced.
    #[error("CUPTI: {0}")]
    Activity(#[from] ActivityError),
    /// Buffers of a shape cannot be allocated.
    #[error("cannot allocate buffers of {bytes} bytes for shape `{shape}`")]
    Buffers {
        shape: ShapeName,
        /// Bytes of one set.
        bytes: usize,
        /// The driver's error.
        source: DeviceError,
    },
    /// The expected output is unknown.
    #[error("no reference for shape `{shape}`, seed {seed}: {reason}")]
    Reference { shape: ShapeName, seed: u64, reason: String },
    /// The tolerance of the phase proves nothing at a shape.
    #[error("at shape `{shape}`, seed {seed}: {reason}")]
    Tolerance { shape: ShapeName, seed: u64, reason: String },
    /// A variant lost the device; the parent knows which one.
    #[error("the device was lost; the remaining work needs another process")]
    Lost,
    /// The parent is gone.
    #[error("cannot report to the parent process")]
    Report(#[from] io::Error),
}

impl WorkError {
    /// Buffers of a shape that cannot be allocated.
    pub(super) fn buffers(shape: &ShapeSpec, source: DeviceError) -> Self {
        let bytes = ArenaLayout::new(&shape.buffers).bytes();
        Self::Buffers { shape: shape.name.clone(), bytes, source }
    }

    /// A reference that failed, as an error of the worker.
    pub(super) fn reference(shape: &ShapeName, seed: u64, error: &ExpectedOutputError) -> Self {
        let (shape, reason) = (shape.clone(), chain(error));
        match error.is_of_tolerance() {
            true => Self::Tolerance { shape, seed, reason },
            false => Self::Reference { shape, seed, reason },
        }
    }
}

/// An error with its causes, on one line.
pub fn chain(error: &(dyn Error + 'static)) -> String {
    let causes = std::iter::successors(Some(error), |&e| e.source());
    causes.map(ToString::to_string).collect::<Vec<_>>().join(": ")
}

/// The device stopped working, and the parent knows after which variant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct DeviceLoss;

/// A running worker. Fields drop in declaration order: modules before the device that they are loaded on.
pub(super) struct Worker<'a> {
    pub(super) loaded: HashMap<VariantId, Result<LoadedProgram, DeviceError>>,
    pub(super) device: CudaDevice,
    pub(super) reporter: &'a mut Reporter,
    pub(super) job: WorkerJob,
    /// Python functions until their software is reported.
    pub(super) unreported: Option<PythonFunctions>,
    /// Cases of hidden seeds that were computed before or during the checks.
    pub(super) hidden: HashMap<ShapeName, HiddenCases>,
    /// Answers of checked draws that the device computed before the checks.
    pub(super) answers: HashMap<(ShapeName, u64, Law), AnsweredInputs>,
}

impl Worker<'_> {
    /// Loads a variant's kernels, unless an earlier attempt loaded them or failed.
    pub(super) fn load(&mut self, index: usize) -> Result<&LoadedProgram, DeviceError> {
        let kernel = &self.job.kernels[index];
        let device = &self.device;
        let function = kernel.function.as_ref().map(|_| LoadedProgram::Function(index as u32));
        let load = || function.map_or_else(|| device.load(&kernel.cubin, &kernel.entries(), &kernel.symbols), Ok);
        let loaded = self.loaded.entry(kernel.variant.clone()).or_insert_with(load);
        loaded.as_ref().map_err(Clone::clone)
    }

    /// Waits for the imports of Python functions, and reports their software, once. A function that cannot be imported is
    /// left out: its cases report the reason.
    pub(super) fn report_software(&mut self) -> Result<(), WorkError> {
        let Some(functions) = self.unreported.take() else { return Ok(()) };
        for (number, _) in self.job.functions(FunctionLanguage::Python) {
            if let Ok(software) = functions.software(number) {
                let variant = self.job.kernels[number].variant.clone();
                self.reporter.report(&WorkerEvent::Uses { variant, software })?;
            }
        }
        Ok(())
    }

    /// The variant's program at a shape.
    pub(super) fn program(&self, index: usize, shape: &ShapeSpec) -> Result<ShapeProgram, DeviceError> {
        let program = self.job.kernels[index].program(&shape.name).cloned();
        program.ok_or_else(|| DeviceError::Launch(format!("no launch for shape `{}`", shape.name)))
    }

    /// Indices of the kernels to time or profile at a shape.
    pub(super) fn wanted_at(&self, shape: &ShapeSpec) -> Vec<usize> {
        (0..self.job.kernels.len()).filter(|&i| self.job.kernels[i].shapes.contains(&shape.name)).collect()
    }

    /// Reports the start of a task for a variant to the parent.
    pub(super) fn started(&mut self, variant: &VariantId, shape: &ShapeSpec, task: WorkerTask) -> io::Result<()> {
        self.reporter.report(&WorkerEvent::Started { variant: variant.clone(), shape: shape.name.clone(), task })
    }

    /// After a failure of a variant: whether the device still works. If it does not, the parent is informed.
    pub(super) fn probe_device(
        &mut self,
        variant: &VariantId,
        reason: &str,
    ) -> Result<ControlFlow<DeviceLoss>, WorkError> {
        if self.device.is_alive() {
            return Ok(ControlFlow::Continue(()));
        }
        self.reporter.report(&WorkerEvent::DeviceLost { variant: variant.clone(), reason: reason.to_owned() })?;
        Ok(ControlFlow::Break(DeviceLoss))
    }
}

/// Writes events to the parent.
pub(super) struct Reporter {
    out: File,
}

impl Reporter {
    /// Takes over standard output, and redirects it to standard error for all other code.
    pub(super) fn stdout() -> io::Result<Self> {
        let out = nix::unistd::dup(io::stdout())?;
        nix::unistd::dup2_stdout(io::stderr())?;
        Ok(Self { out: File::from(out) })
    }

    /// Another reporter to the same parent.
    pub(super) fn another(&self) -> io::Result<Self> {
        Ok(Self { out: self.out.try_clone()? })
    }

    /// Writes one event as one line, unbuffered.
    pub(super) fn report(&mut self, event: &WorkerEvent) -> io::Result<()> {
        ncugate_model::number::finite::check(event).map_err(io::Error::other)?;
        let mut line = serde_json::to_vec(event)?;
        line.push(b'\n');
        self.out.write_all(&line)
    }
}
