//! Evaluations timed under the conditions of ncu: one kernel at a time, on refilled buffers, behind a flush of the
//! caches.
//!
//! ncu measures the duration of each launch under these conditions in another process, so that both durations differ by
//! what an empty kernel takes, and by nothing else (`tests/gpu/isolated.sh`). A kernel that does other work under a
//! profiler than here is found without a model of caches and overlaps.

use super::schedule::AuditSchedule;
use super::timed_buffers::TimedBuffers;
use crate::gpu::{ClockReader, CudaDevice, DeviceError, GraphStep, PendingDigests, StepWork};
use ncugate_model::LaunchMode;
use ncugate_model::{IsolatedSamples, stats};

/// Evaluations in a process.
const SAMPLES: u32 = 8;
/// The same of evaluations that take longer than [`SLOW_US`].
const SLOW_SAMPLES: u32 = 5;
const SLOW_US: f64 = 10_000.0;
/// Kernels of an evaluation up to which it is timed on several sets of buffers, whose addresses differ.
const FEW: usize = 16;

/// The kernels of an evaluation, each in a separate graph, on some sets of buffers.
#[derive(Debug)]
pub struct IsolatedLaunches {
    /// The steps on each set.
    sets: Vec<Vec<GraphStep>>,
    clock: ClockReader,
    /// Evaluations before the ordinary sample of each round.
    due: Vec<u32>,
    taken: IsolatedSamples,
}

/// Outputs of an evaluation to verify.
#[derive(Debug)]
pub struct IsolatedOutputs {
    /// Its set of buffers.
    pub set: usize,
    /// The content of each set.
    pub contents: Vec<usize>,
    pub pending: Vec<PendingDigests>,
}

impl IsolatedLaunches {
    /// The kernels of a program that `launch` queues on a set of buffers, with everything that it needs before and after;
    /// an evaluation takes about `launch_us` microseconds. All of them are launched once.
    ///
    /// # Errors
    /// The driver refuses.
    pub fn new(
        device: &CudaDevice,
        buffers: &TimedBuffers,
        launch_us: f64,
        (schedule, rounds): (&mut AuditSchedule, u32),
        launch: impl Fn(usize) -> Result<(), DeviceError>,
    ) -> Result<Self, DeviceError> {
        let mut sets = vec![device.capture_steps(|| launch(0))?];
        let (kernels, cooperative) = (kernels(&sets[0]), cooperative(&sets[0]));
        for set in 1..if kernels <= FEW { buffers.sets.len() } else { 1 } {
            sets.push(device.capture_steps(|| launch(set))?);
        }
        // The first replay of a graph pays for loading it.
        buffers.renew(device)?;
        sets.iter().flatten().try_for_each(|step| device.replay(&step.graph))?;
        device.synchronize()?;
        let samples = if launch_us > SLOW_US { SLOW_SAMPLES } else { SAMPLES };
        let of_cooperative = match cooperative {
            0 => buffers.empty_us(),
            _ => buffers.measure_empty(device, LaunchMode::Cooperative)?,
        };
        let share = cooperative as f64 / kernels.max(1) as f64;
        Ok(Self {
            sets,
            clock: ClockReader::new(device)?,
            due: schedule.audits_by_round(samples, rounds),
            taken: IsolatedSamples {
                kernels: kernels as u32,
                empty_us: share * of_cooperative + (1.0 - share) * buffers.empty_us(),
                ..IsolatedSamples::default()
            },
        })
    }

    /// Evaluations that are due before the ordinary sample of a round.
    pub fn due(&self, round: u32) -> u32 {
        self.due.get(round as usize).copied().unwrap_or(0)
    }

    pub const fn samples(&self) -> &IsolatedSamples {
        &self.taken
    }

    /// Times an evaluation on the next set; it counts only if its outputs are right. `contents` are those of all sets.
    ///
    /// # Errors
    /// A launch fails; the device may be unusable afterwards.
    pub fn take(
        &mut self,
        device: &CudaDevice,
        buffers: &mut TimedBuffers,
        contents: Vec<usize>,
    ) -> Result<IsolatedOutputs, DeviceError> {
        let set = self.taken.samples.len() % self.sets.len().max(1);
        buffers.refresh(device, &contents)?;
        buffers.clear_digests();
        let (mut kernels, mut all, mut clocks) = (0.0, 0.0, Vec::new());
        for step in self.sets.get(set).into_iter().flatten() {
            let us = buffers.time_isolated(device, &self.clock, &step.graph)?;
            all += us;
            if step.work != StepWork::Other {
                kernels += us;
                clocks.push(self.clock.mhz());
            }
        }
        let pending = buffers.ask_outputs(device, Some(set))?;
        device.synchronize()?;
        self.taken.samples.push(kernels);
        self.taken.evaluations.push(all);
        self.taken.clock_mhz.extend(stats::median(&clocks).ok().filter(|mhz| mhz.is_finite()));
        Ok(IsolatedOutputs { set, contents, pending })
    }
}

fn kernels(steps: &[GraphStep]) -> usize {
    steps.iter().filter(|step| step.work != StepWork::Other).count()
}

fn cooperative(steps: &[GraphStep]) -> usize {
    steps.iter().filter(|step| step.work == StepWork::CooperativeKernel).count()
}
