//! Latency of correct variants: a CUDA graph of launches over rotating buffers, timed by events, in rounds that
//! interleave the variants so that a drift of the clock falls on all of them alike.

use super::arena::Layout;
use super::arguments::Arguments;
use super::device::{Device, DeviceError, Graph, Kernel, Memory};
use super::event::{Event, Task};
use super::job::{JobShape, Timing};
use super::question::Inputs;
use super::worker::{Flow, WorkError, Worker};
use crate::model::VariantId;
use crate::model::{LatencyOutcome, LatencyRecord};
use crate::plan::Launch;

/// Launches whose mean is the first guess of how long one takes.
const PILOT: u32 = 4;

/// Microseconds that the device is kept busy with while a sample is being queued, so that none of the queueing is
/// in it; it also brings code and data of the variant back into the caches.
const LEAD_IN_US: f64 = 60.0;

/// A variant being timed at a shape.
struct Entrant {
    variant: VariantId,
    lead_in: Graph,
    graph: Graph,
    launches: u32,
    samples: Vec<f64>,
}

impl Worker<'_> {
    /// Times every variant without a reason against it at every shape it is to be timed at.
    pub(super) fn time(&mut self, timing: &Timing) -> Result<Flow, WorkError> {
        for shape in self.job.shapes.clone() {
            let asked: Vec<usize> =
                (0..self.job.kernels.len()).filter(|&i| self.job.kernels[i].shapes.contains(&shape.name)).collect();
            let (sound, unsound): (Vec<usize>, Vec<usize>) =
                asked.into_iter().partition(|&i| self.job.kernels[i].unsound.is_none());
            for index in unsound {
                let kernel = &self.job.kernels[index];
                let reason = kernel.unsound.clone().unwrap_or_default();
                let variant = kernel.variant.clone();
                self.timed(&variant, &shape, LatencyOutcome::Failed { reason })?;
            }
            if !sound.is_empty() && self.time_shape(&shape, &sound, timing)? == Flow::Lost {
                return Ok(Flow::Lost);
            }
        }
        Ok(Flow::Onward)
    }

    fn time_shape(&mut self, shape: &JobShape, kernels: &[usize], timing: &Timing) -> Result<Flow, WorkError> {
        let sets = self.buffer_sets(shape, timing.buffer_sets)?;
        let mut entrants = Vec::new();
        for &index in kernels {
            let variant = self.job.kernels[index].variant.clone();
            self.started(&variant, shape, Task::Warm)?;
            match self.entrant(index, shape, &sets, timing) {
                Ok(entrant) => entrants.push(Some(entrant)),
                Err(error) => {
                    if self.drop_out(&variant, shape, &error)? == Flow::Lost {
                        return Ok(Flow::Lost);
                    }
                }
            }
        }
        for round in 0..timing.rounds {
            for index in order(round, entrants.len()) {
                if self.sample(&mut entrants[index], shape, round)? == Flow::Lost {
                    return Ok(Flow::Lost);
                }
            }
        }
        for entrant in entrants.into_iter().flatten() {
            let outcome = match entrant.samples.is_empty() {
                false => LatencyOutcome::Timed { samples: entrant.samples, launches: entrant.launches },
                true => LatencyOutcome::Failed { reason: "the phase asks for no rounds".to_owned() },
            };
            self.timed(&entrant.variant, shape, outcome)?;
        }
        Ok(Flow::Onward)
    }

    /// Takes one sample of an entrant; one that fails leaves the rounds.
    fn sample(&mut self, entrant: &mut Option<Entrant>, shape: &JobShape, round: u32) -> Result<Flow, WorkError> {
        let Some(racing) = entrant else { return Ok(Flow::Onward) };
        let variant = racing.variant.clone();
        self.started(&variant, shape, Task::Sample { round })?;
        let lead_in = self.device.replay(&racing.lead_in);
        match lead_in.and_then(|()| self.device.time(|| self.device.replay(&racing.graph))) {
            Ok(elapsed) => {
                racing.samples.push(elapsed / f64::from(racing.launches));
                Ok(Flow::Onward)
            }
            Err(error) => {
                *entrant = None;
                self.drop_out(&variant, shape, &error)
            }
        }
    }

    /// `count` sets of buffers on the device with the inputs of the first seed.
    fn buffer_sets(&mut self, shape: &JobShape, count: u32) -> Result<Vec<BufferSet>, WorkError> {
        let seed = self.job.seeds.first().copied().unwrap_or(0);
        self.reporter.say(&Event::Preparing { shape: shape.name.clone(), seed })?;
        BufferSet::several(&self.device, shape, seed, count)
    }

    /// A variant with its graph, as many launches in it as a sample needs, warmed up.
    fn entrant(
        &mut self,
        index: usize,
        shape: &JobShape,
        sets: &[BufferSet],
        timing: &Timing,
    ) -> Result<Entrant, DeviceError> {
        let variant = self.job.kernels[index].variant.clone();
        let launch = self.job.kernels[index].launch(&shape.name).cloned();
        let launch = launch.ok_or_else(|| DeviceError::Launch(format!("no launch for shape '{}'", shape.name)))?;
        self.kernel(index)?;
        let kernel = self.kernels[&variant].as_ref().map_err(Clone::clone)?;
        kernel.allow(&launch)?;
        let arguments: Vec<Arguments> =
            sets.iter().map(|s| s.arguments(&self.device, &launch, shape)).collect::<Result<_, _>>()?;
        let graph = |launches| graph(&self.device, kernel, &launch, &arguments, launches);
        let replay = |graph: &Graph| self.device.time(|| self.device.replay(graph));
        // The first replay pays for loading; the second is the guess, and what it says is checked once.
        let pilot = graph(PILOT)?;
        replay(&pilot)?;
        let mut launches = launches_for(timing, timing.min_sample_us, replay(&pilot)?, PILOT);
        let mut chosen = graph(launches)?;
        let elapsed = replay(&chosen)?;
        let lead_in = graph(launches_for(timing, LEAD_IN_US, elapsed, launches))?;
        if elapsed < timing.min_sample_us && launches < timing.max_launches {
            launches = launches_for(timing, timing.min_sample_us, elapsed, launches);
            chosen = graph(launches)?;
        }
        for _ in 0..timing.warmup {
            self.device.replay(&chosen)?;
        }
        self.device.synchronize()?;
        Ok(Entrant { variant, lead_in, graph: chosen, launches, samples: Vec::with_capacity(timing.rounds as usize) })
    }

    fn started(&mut self, variant: &VariantId, shape: &JobShape, task: Task) -> Result<(), WorkError> {
        let event = Event::Started { variant: variant.clone(), shape: shape.name.clone(), task };
        Ok(self.reporter.say(&event)?)
    }

    fn timed(&mut self, variant: &VariantId, shape: &JobShape, outcome: LatencyOutcome) -> Result<(), WorkError> {
        let record = LatencyRecord { variant: variant.clone(), shape: shape.name.clone(), outcome };
        self.job.settle_latency(&record);
        Ok(self.reporter.say(&Event::Timed(record))?)
    }

    fn drop_out(&mut self, variant: &VariantId, shape: &JobShape, error: &DeviceError) -> Result<Flow, WorkError> {
        let reason = format!("crashed while it was timed: {error}");
        self.timed(variant, shape, LatencyOutcome::Failed { reason: reason.clone() })?;
        self.survey(variant, &reason)
    }
}

/// One set of a shape's buffers on the device.
pub(super) struct BufferSet {
    layout: Layout,
    memory: Memory,
}

impl BufferSet {
    /// `count` sets with the inputs of `seed`, uploaded from one image.
    pub(super) fn several(device: &Device, shape: &JobShape, seed: u64, count: u32) -> Result<Vec<Self>, WorkError> {
        let layout = Layout::new(&shape.buffers);
        let bytes = layout.bytes();
        let failed = |source| WorkError::Buffers { shape: shape.name.clone(), bytes, source };
        let mut image = device.pinned(bytes).map_err(failed)?;
        layout.write_fresh(shape, &Inputs::draw(shape, seed).bytes, image.as_mut_slice());
        let set = || {
            let memory = device.allocate(bytes)?;
            device.upload(&memory, &image)?;
            Ok(Self { layout: layout.clone(), memory })
        };
        (0..count).map(|_| set()).collect::<Result<_, _>>().map_err(failed)
    }

    /// The arguments of a launch on this set.
    pub(super) fn arguments(
        &self,
        device: &Device,
        launch: &Launch,
        shape: &JobShape,
    ) -> Result<Arguments, DeviceError> {
        device.arguments(&launch.args, |name| self.layout.find(shape, name, self.memory.address()))
    }
}

fn graph(
    device: &Device,
    kernel: &Kernel,
    launch: &Launch,
    arguments: &[Arguments],
    launches: u32,
) -> Result<Graph, DeviceError> {
    device.capture(|| {
        let rotation = arguments.iter().cycle().take(launches as usize);
        rotation.into_iter().try_for_each(|arguments| device.launch(kernel, launch, arguments))
    })
}

/// How many launches last `wanted` microseconds, when so many took `elapsed`.
fn launches_for(timing: &Timing, wanted: f64, elapsed: f64, launches: u32) -> u32 {
    let one = (elapsed / f64::from(launches)).max(1e-3);
    ((wanted / one).ceil() as u32).clamp(1, timing.max_launches)
}

/// The order of the entrants in a round: another one each round, the same on every machine.
fn order(round: u32, count: usize) -> Vec<usize> {
    let mut order: Vec<usize> = (0..count).collect();
    order.sort_by_key(|&i| mixed((u64::from(round) << 32) + i as u64));
    order
}

/// The finaliser of splitmix64.
fn mixed(seed: u64) -> u64 {
    let mut z = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TIMING: Timing = Timing { warmup: 1, rounds: 1, min_sample_us: 1000.0, max_launches: 200, buffer_sets: 2 };

    #[test]
    fn a_sample_is_long_enough_and_no_graph_too_large() {
        assert_eq!(launches_for(&TIMING, 1000.0, 400.0, 4), 10);
        assert_eq!(launches_for(&TIMING, 1000.0, 401.0, 4), 10);
        assert_eq!(launches_for(&TIMING, 1000.0, 5000.0, 1), 1);
        assert_eq!(launches_for(&TIMING, 1000.0, 4.0, 4), 200);
        assert_eq!(launches_for(&TIMING, 1000.0, 0.0, 4), 200);
    }

    #[test]
    fn every_round_has_every_entrant_in_another_order() {
        let (first, second) = (order(0, 90), order(1, 90));
        assert_ne!(first, second);
        assert_eq!(order(0, 90), first);
        let mut sorted = first.clone();
        sorted.sort_unstable();
        assert_eq!(sorted, (0..90).collect::<Vec<_>>());
    }
}
