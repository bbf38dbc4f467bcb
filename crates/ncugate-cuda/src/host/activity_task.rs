//! Launches traced by CUPTI: the measurement of a variant if ncu has no counter permission. Each case reloads its module, and
//! the process times nothing else.

use super::event::{WorkerEvent, WorkerTask};
use super::job::ProfiledInputs;
use super::probed_buffers::ProbedBuffers;
use super::worker::{DeviceLoss, Reporter, WorkError, Worker};
use crate::gpu::{
    ActivityError, ActivityTracer, CacheFlush, Copier, CudaDevice, DeviceError, EmptyKernel, find_cupti,
    query_attributes,
};
use ncugate_model::LaunchMode;
use ncugate_model::{ActivityTrace, ProfiledOutputs, TracedChip, TracedLaunch};
use std::ops::ControlFlow;
use std::path::Path;
use std::time::{Duration, Instant};

/// Launches per evaluation; the one with the median time counts. The first launch of a module takes longer, and so does one
/// that the system disturbs.
const TRIES: u32 = 5;
/// How long the GPU is kept busy before the first launch, because an idle GPU runs at low clocks.
const WARM: Duration = Duration::from_millis(50);
/// Bytes that the kernel of a trial copies.
const TRIAL_BYTES: usize = 4096;
/// Why an evaluation could not be traced.
type TraceFault = String;
/// The launches of each evaluation of a case, and whether all outputs are right.
type TracedEvaluations = (Vec<Vec<TracedLaunch>>, ProfiledOutputs);

/// Keeps the GPU busy until it reaches its working clocks.
fn keep_busy(device: &CudaDevice, flush: &CacheFlush) -> Result<(), DeviceError> {
    let begun = Instant::now();
    while begun.elapsed() < WARM {
        flush.queue(device)?;
        device.synchronize()?;
    }
    Ok(())
}

impl Worker<'_> {
    /// Traces every variant at each of its traced shapes, with an evaluation for each seed of a repeat.
    pub(super) fn trace_activity(
        &mut self,
        tracer: &ActivityTracer,
        inputs: &ProfiledInputs,
    ) -> Result<ControlFlow<DeviceLoss>, WorkError> {
        let flush = CacheFlush::new(&self.device)?;
        keep_busy(&self.device, &flush)?;
        let empty_ns = self.trace_empty(tracer, &flush)?;
        for shape in self.job.shapes.clone() {
            let wanted = self.wanted_at(&shape);
            if wanted.is_empty() {
                continue;
            }
            let buffers = inputs.repeats.iter().map(|&seed| self.probed_buffers(&shape, (seed, inputs.warm_up)));
            let mut buffers = buffers.collect::<Result<Vec<_>, _>>()?;
            for &index in &wanted {
                let traced = self.trace_case(tracer, index, &mut buffers, &flush)?;
                let (variant, name) = (self.job.kernels[index].variant.clone(), shape.name.clone());
                match traced {
                    Ok((evaluations, outputs)) => {
                        let cupti = tracer.release().to_owned();
                        let trace = ActivityTrace { cupti, chip: self.traced_chip(), evaluations, empty_ns };
                        self.reporter.report(&WorkerEvent::Traced { variant, shape: name, trace, outputs })?;
                    }
                    Err(reason) => {
                        let event = WorkerEvent::LaunchFailed { variant: variant.clone(), shape: name, reason };
                        self.reporter.report(&event)?;
                        if let lost @ ControlFlow::Break(_) = self.probe_device(&variant, "a launch that was traced")? {
                            return Ok(lost);
                        }
                    }
                }
            }
        }
        Ok(ControlFlow::Continue(()))
    }

    /// The median duration of an empty kernel; `None` if CUPTI timed none.
    fn trace_empty(&self, tracer: &ActivityTracer, flush: &CacheFlush) -> Result<Option<u64>, WorkError> {
        let empty = EmptyKernel::new(&self.device)?;
        let mut times = Vec::new();
        for _ in 0..TRIES {
            flush.queue(&self.device)?;
            self.device.synchronize()?;
            tracer.forget()?;
            empty.launch(&self.device, LaunchMode::Ordinary)?;
            self.device.synchronize()?;
            let launches = tracer.take(1)?;
            let timed = launches.iter().filter(|launch| launch.kernel == EmptyKernel::NAME);
            times.extend(timed.filter_map(TracedLaunch::duration_ns));
        }
        times.sort_unstable();
        Ok(times.get(times.len() / 2).copied())
    }

    fn trace_case(
        &mut self,
        tracer: &ActivityTracer,
        index: usize,
        buffers: &mut [ProbedBuffers<'_>],
        flush: &CacheFlush,
    ) -> Result<Result<TracedEvaluations, TraceFault>, WorkError> {
        let variant = self.job.kernels[index].variant.clone();
        let (mut evaluations, mut verified) = (Vec::new(), None::<ProfiledOutputs>);
        for (repeat, buffers) in (0..).zip(buffers) {
            let mut tries = Vec::new();
            for _ in 0..TRIES {
                self.started(&variant, buffers.shape, WorkerTask::Profile { repeat })?;
                // Reloading the module resets its variables.
                self.loaded.remove(&variant);
                match self.trace_evaluation(tracer, index, buffers, flush) {
                    Ok((launches, outputs)) => {
                        tries.push(launches);
                        verified = Some(match verified {
                            Some(earlier) => earlier.and(outputs),
                            None => outputs,
                        });
                    }
                    Err(reason) => return Ok(Err(reason)),
                }
            }
            evaluations.push(median(tries));
        }
        Ok(verified
            .map(|outputs| (evaluations, outputs))
            .ok_or_else(|| "the phase has no repetition to trace".to_owned()))
    }

    /// The launches of one evaluation, on refilled buffers and flushed caches, and whether the outputs are right.
    fn trace_evaluation(
        &mut self,
        tracer: &ActivityTracer,
        index: usize,
        buffers: &mut ProbedBuffers<'_>,
        flush: &CacheFlush,
    ) -> Result<(Vec<TracedLaunch>, ProfiledOutputs), TraceFault> {
        let shape = buffers.shape;
        let failed = |error: DeviceError| error.to_string();
        self.load(index).map_err(failed)?;
        let program = self.program(index, shape).map_err(failed)?;
        let loaded = self.loaded[&self.job.kernels[index].variant].as_ref().map_err(|error| error.to_string())?;
        let bound = buffers.set.bind(&self.device, (loaded, &program), &shape.buffers).map_err(failed)?;
        let ready = || {
            self.device.set_l2_aside(bound.l2_set_aside())?;
            buffers.refill(&self.device)?;
            self.device.prepare(&bound)?;
            flush.queue(&self.device)?;
            self.device.synchronize()
        };
        ready().map_err(failed)?;
        let unread = |error: ActivityError| format!("CUPTI: {error}");
        // Launches of the preparation are not the variant's.
        tracer.forget().map_err(unread)?;
        self.device.run(&bound).and_then(|()| self.device.synchronize()).map_err(failed)?;
        let expected = program.launches().count();
        let mut launches = tracer.take(expected).map_err(unread)?;
        launches.retain(|launch| !CacheFlush::KERNELS.contains(&launch.kernel.as_str()));
        let timed = launches.iter().filter(|launch| launch.duration_ns().is_some()).count();
        match (launches.len(), timed) {
            (seen, timed) if seen == expected && timed == expected => {
                let extents = self.job.kernels[index].extents_at(&shape.name);
                let outputs = buffers.verified(&self.device, (&bound, &extents)).map_err(failed)?;
                Ok((launches, outputs))
            }
            (seen, timed) => Err(format!("of {expected} launches, CUPTI recorded {seen} and timed {timed}")),
        }
    }

    fn traced_chip(&self) -> TracedChip {
        let device = self.device.attributes();
        TracedChip {
            l2_bytes: device.l2_bytes,
            sms: device.sms,
            clock_khz: device.clock_khz,
            memory_clock_khz: device.memory_clock_khz,
            memory_bus_bits: device.memory_bus_bits,
        }
    }
}

/// The repetition with the median total time.
fn median(mut tries: Vec<Vec<TracedLaunch>>) -> Vec<TracedLaunch> {
    tries.sort_by_key(|launches| launches.iter().filter_map(TracedLaunch::duration_ns).sum::<u64>());
    let middle = tries.len() / 2;
    tries.into_iter().nth(middle).unwrap_or_default()
}

/// Prints the CUPTI that can trace launches, or why none can; the search includes the packages of `python`. With `launch`, it
/// also traces one small kernel, which proves that tracing works here.
pub fn report_activity(python: &Path, launch: bool) -> Result<(), WorkError> {
    let mut reporter = Reporter::stdout()?;
    let event = match find(python, launch) {
        Ok((library, release)) => WorkerEvent::Activity { library, release },
        Err(reason) => WorkerEvent::Failed { reason },
    };
    Ok(reporter.report(&event)?)
}

fn find(python: &Path, launch: bool) -> Result<(std::path::PathBuf, String), String> {
    let device = query_attributes(0).map_err(|error| error.to_string())?.ok_or("no GPU was found")?;
    let (library, release) = find_cupti(device.cuda, python).map_err(|error| error.to_string())?;
    if launch {
        trace_once(&library)?;
    }
    Ok((library, release.to_owned()))
}

/// Traces one launch of this program's own copy kernel.
fn trace_once(library: &Path) -> Result<(), String> {
    let tracer = ActivityTracer::start(library).map_err(|error| error.to_string())?;
    let copied = || -> Result<(), DeviceError> {
        let device = CudaDevice::open(0)?;
        let (from, to) = (device.allocate(TRIAL_BYTES)?, device.allocate(TRIAL_BYTES)?);
        Copier::new(&device)?.copy(&device, &to, 0, &from, &(0..TRIAL_BYTES))?;
        device.synchronize()
    };
    copied().map_err(|error| error.to_string())?;
    let launches = tracer.take(1).map_err(|error| error.to_string())?;
    let timed = launches.iter().any(|launch| launch.duration_ns().is_some());
    timed.then_some(()).ok_or_else(|| format!("it has no time of the launched kernel in {} records", launches.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn launch(duration_ns: u64) -> TracedLaunch {
        TracedLaunch { start_ns: 100, end_ns: 100 + duration_ns, ..TracedLaunch::default() }
    }

    #[test]
    fn the_launches_that_took_the_median_time_together_count() {
        let tries = [[9, 1], [2, 2], [50, 1], [3, 3], [8, 1]].map(|both| both.map(launch).to_vec());
        assert_eq!(median(tries.to_vec()), [8, 1].map(launch));
        assert_eq!(median(Vec::new()), []);
    }
}
