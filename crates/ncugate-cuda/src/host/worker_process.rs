//! The worker process: opens the device, does a job, and reports each event before it goes on.
//!
//! Between checking and timing it waits until its standard input is closed: the parent may have programs that still load.

use super::event::WorkerEvent;
use super::functions::Functions;
use super::hidden_draws::{HiddenCases, HiddenDraws};
use super::job::{JobMode, WorkerJob};
use super::prestarted::{FIRST_DEVICE, Preload};
use super::python::{PythonFunctions, run_in_python};
use super::worker::{DeviceLoss, Reporter, WorkError, Worker, chain};
use crate::gpu::{ActivityTracer, Copier, CudaDevice, query_attributes};
use crate::prove::{adopt, reference_time};
use ncugate_model::ShapeName;
use serde::de::DeserializeOwned;
use std::collections::HashMap;
use std::io;
use std::ops::ControlFlow;
use std::path::Path;
use std::time::Duration;

/// Bytes that the kernel of a trial copies.
const TRIAL_BYTES: usize = 4096;
/// Interval of reports while a worker waits for references, because the parent kills a silent worker.
const SIGN_OF_LIFE: Duration = Duration::from_millis(20);

/// Does the job in `job`, with events on standard output.
///
/// All other writes to standard output (`printf` in a kernel) then go to standard error. Every returned error has already been
/// reported as an event.
pub fn work(job: &Path) -> Result<(), WorkError> {
    let mut reporter = Reporter::stdout()?;
    let work = match read::<WorkerJob>(job) {
        Ok(work) if work.has_functions() => return work_in_python(work, job, reporter),
        read => read,
    };
    let outcome = work.and_then(|work| run(work, None, &mut reporter));
    conclude(outcome, &mut reporter)
}

/// Opens the device, or loads Python and the modules of functions. Then waits for the job at `job` and does it as in [`work`].
pub fn work_ahead(preload: &Path, job: &Path) -> Result<(), WorkError> {
    let mut reporter = Reporter::stdout()?;
    let python = match read(preload) {
        Ok(Preload::Device) => {
            let device = CudaDevice::open(FIRST_DEVICE);
            let outcome = read(job).and_then(|work| run_on(device?, (work, None), None, &mut reporter));
            return conclude(outcome, &mut reporter);
        }
        Ok(Preload::Functions { python, .. }) => python,
        Err(error) => return conclude(Err(error), &mut reporter),
    };
    let mut own = reporter.another()?;
    let place = job.to_owned();
    let work = move |functions| {
        let outcome = read(&place).and_then(|work| run(work, Some(functions), &mut own));
        // Events have already told the parent how the worker ended.
        let _ = conclude(outcome, &mut own);
    };
    let failed = run_in_python(&python, job, Some(preload), Box::new(work));
    conclude(failed.map(|()| ControlFlow::Continue(())), &mut reporter)
}

/// Does a job with Python functions. The process exits with the interpreter, after all reports.
fn work_in_python(work: WorkerJob, path: &Path, mut reporter: Reporter) -> Result<(), WorkError> {
    let python = work.python.clone();
    let mut own = reporter.another()?;
    let job = move |functions| {
        let outcome = run(work, Some(functions), &mut own);
        // Events have already told the parent how the worker ended.
        let _ = conclude(outcome, &mut own);
    };
    let failed = run_in_python(&python, path, None, Box::new(job));
    conclude(failed.map(|()| ControlFlow::Continue(())), &mut reporter)
}

fn conclude(outcome: Result<ControlFlow<DeviceLoss>, WorkError>, reporter: &mut Reporter) -> Result<(), WorkError> {
    match outcome {
        Ok(ControlFlow::Continue(())) => Ok(reporter.report(&WorkerEvent::Done)?),
        Ok(ControlFlow::Break(DeviceLoss)) => Err(WorkError::Lost),
        Err(error) => {
            let reason = chain(&error);
            reporter.report(&match error {
                WorkError::Tolerance { .. } => WorkerEvent::Refused { reason },
                _ => WorkerEvent::Failed { reason },
            })?;
            Err(error)
        }
    }
}

/// Prints the visible devices, or that none is visible.
pub fn report_devices() -> Result<(), WorkError> {
    let mut reporter = Reporter::stdout()?;
    report_device(0, &mut reporter)?;
    // A further device that cannot be queried cannot be used for measuring.
    let others = (1..).map_while(|ordinal| query_attributes(ordinal).ok().flatten());
    Ok(others.map(WorkerEvent::Device).try_for_each(|event| reporter.report(&event))?)
}

/// Launches one small kernel on the first device and waits for it: the subject of a profiler's trial.
///
/// # Errors
/// No device is visible, or it does not work.
pub fn launch_once() -> Result<(), WorkError> {
    let device = CudaDevice::open(0)?;
    let (from, to) = (device.allocate(TRIAL_BYTES)?, device.allocate(TRIAL_BYTES)?);
    Copier::new(&device)?.copy(&device, &to, 0, &from, &(0..TRIAL_BYTES))?;
    Ok(device.synchronize()?)
}

fn report_device(ordinal: u32, reporter: &mut Reporter) -> Result<(), WorkError> {
    match query_attributes(ordinal) {
        Ok(Some(attributes)) => reporter.report(&WorkerEvent::Device(attributes))?,
        Ok(None) => {
            let reason = CudaDevice::open(ordinal).err().map_or_else(String::new, |e| e.to_string());
            reporter.report(&WorkerEvent::NoDevice { reason })?;
        }
        Err(error) => reporter.report(&WorkerEvent::Failed { reason: error.to_string() })?,
    }
    Ok(())
}

impl Worker<'_> {
    /// Waits for the cases that are computed during the checks; no variant is blamed for the time.
    fn wait_for(&mut self, draws: HiddenDraws) -> Result<HashMap<ShapeName, HiddenCases>, WorkError> {
        while !draws.are_made() {
            if let (Some(shape), Some(&seed)) = (self.job.shapes.first(), self.job.seeds.first()) {
                self.reporter.report(&WorkerEvent::Preparing { shape: shape.name.clone(), seed })?;
            }
            std::thread::sleep(SIGN_OF_LIFE);
        }
        Ok(draws.wait())
    }
}

fn read<T: DeserializeOwned>(path: &Path) -> Result<T, WorkError> {
    let unreadable = |reason: String| WorkError::Job { path: path.to_owned(), reason };
    let text = std::fs::read(path).map_err(|e| unreadable(e.to_string()))?;
    serde_json::from_slice(&text).map_err(|e| unreadable(e.to_string()))
}

fn run(
    job: WorkerJob,
    functions: Option<PythonFunctions>,
    reporter: &mut Reporter,
) -> Result<ControlFlow<DeviceLoss>, WorkError> {
    // CUPTI traces only contexts that are created after it has started.
    let tracer = match &job.mode {
        JobMode::Activity { library, .. } => Some(ActivityTracer::start(library)?),
        JobMode::Bench(_)
        | JobMode::Profile(_)
        | JobMode::Ablate(_)
        | JobMode::Sanitize { .. }
        | JobMode::Bitwise { .. } => None,
    };
    run_on(CudaDevice::open(job.device)?, (job, functions), tracer.as_ref(), reporter)
}

fn run_on(
    device: CudaDevice,
    (job, functions): (WorkerJob, Option<PythonFunctions>),
    tracer: Option<&ActivityTracer>,
    reporter: &mut Reporter,
) -> Result<ControlFlow<DeviceLoss>, WorkError> {
    adopt(&job.references);
    let device = if job.has_host_code() { device.on_default_stream() } else { device };
    let device = device.with_functions(Functions::of(&job, functions));
    reporter.report(&WorkerEvent::Device(device.attributes().clone()))?;
    let (loaded, hidden, answers) = (HashMap::new(), HashMap::new(), HashMap::new());
    let mut worker = Worker { device, loaded, reporter, job, unreported: functions, hidden, answers };
    match worker.job.mode.clone() {
        JobMode::Bench(timing) => {
            worker.answer_on_device(&timing)?;
            let l2_bytes = worker.device.attributes().l2_bytes;
            let draws = HiddenDraws::begin(worker.job.hidden(&timing, l2_bytes, &worker.hidden));
            if let lost @ ControlFlow::Break(_) = worker.check()? {
                return Ok(lost);
            }
            worker.report_software()?;
            let draws = worker.wait_for(draws)?;
            worker.hidden.extend(draws);
            worker.reporter.report(&WorkerEvent::Proven)?;
            io::copy(&mut io::stdin(), &mut io::sink())?;
            let outcome = worker.time(&timing)?;
            worker.reporter.report(&WorkerEvent::References { seconds: reference_time().as_secs_f64() })?;
            Ok(outcome)
        }
        JobMode::Profile(inputs) => {
            worker.report_software()?;
            worker.trace(&inputs)
        }
        JobMode::Ablate(settings) => worker.ablate(&settings),
        JobMode::Sanitize { seed } => {
            worker.report_software()?;
            worker.sanitize(seed)
        }
        JobMode::Bitwise { seed, comparisons } => {
            worker.report_software()?;
            worker.compare_bitwise(seed, &comparisons)
        }
        JobMode::Activity { inputs, .. } => {
            worker.report_software()?;
            tracer.map_or(Ok(ControlFlow::Continue(())), |tracer| worker.trace_activity(tracer, &inputs))
        }
    }
}
