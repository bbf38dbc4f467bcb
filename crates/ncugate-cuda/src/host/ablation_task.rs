//! Copies of a variant's machine code, each without one cost, timed against it in rounds.
//!
//! The outputs of a copy are wrong, and nothing is compared. A copy may fault, which ends the worker, or never end, which the
//! parent's clock notices; either costs that copy alone.

use super::event::{WorkerEvent, WorkerTask};
use super::job::AblationSettings;
use super::worker::{DeviceLoss, WorkError, Worker};
use crate::gpu::{ArenaLayout, BufferSet, CudaDevice, DeviceError, EmptyKernel, ExecutableGraph};
use crate::prove::{CaseInputs, ShapeSpec};
use ncugate_model::{LaunchMode, Role, VariantId};
use std::ops::ControlFlow;

/// Evaluations side by side, each on another set of buffers.
const SIDE_BY_SIDE: usize = 4;
/// Duration of a sample; shorter ones are noise of the clock.
const SAMPLE_US: f64 = 200.0;
const MOST_EVALUATIONS: f64 = 50.0;
/// Groups of evaluations that do nothing.
const EMPTY_GROUPS: usize = 12;
/// From nine rounds on, the 95 % limits of a median are not its extremes.
const ROUNDS: std::ops::RangeInclusive<f64> = 9.0..=25.0;
/// A copy that takes so much longer is not sampled: it shows nothing, and would take all of the time.
const TOO_SLOW: f64 = 20.0;

/// How the evaluations of a sample are launched, and what of their time counts.
#[derive(Clone, Copy, PartialEq, Eq)]
enum SampleKind {
    InTurn,
    SideBySide,
    /// In turn; the time that launches take without doing anything does not count.
    BlockStarts,
}

/// A sample of a copy, or of the variant itself.
struct Sample {
    graph: ExecutableGraph,
    evaluations: f64,
    /// Microseconds of an evaluation that launches save or cost, and not the change.
    saved_us: f64,
}

/// Microseconds of an evaluation that does nothing.
struct EmptyEvaluations {
    in_turn_us: f64,
    side_by_side_us: f64,
}

/// A timed copy.
struct CopySamples {
    variant: VariantId,
    sample: Sample,
    /// Microseconds of an evaluation in each round.
    times: Vec<f64>,
}

/// The sets of buffers of a shape, and one with the contents from before every launch.
struct AblationBuffers {
    sets: Vec<BufferSet>,
    pristine: BufferSet,
    /// Sets that evaluations one after the other take in turn.
    turns: usize,
    /// Whether a launch changes what the next one reads.
    has_state: bool,
}

impl AblationBuffers {
    fn new(device: &CudaDevice, shape: &ShapeSpec, inputs: &CaseInputs) -> Result<Self, DeviceError> {
        let mut image = device.pinned(ArenaLayout::new(&shape.buffers).bytes())?;
        let several = (SIDE_BY_SIDE as u32 + 1, &mut image);
        let mut sets = BufferSet::several(device, &shape.buffers, &inputs.bytes, several)?;
        let Some(pristine) = sets.pop() else { return Err(DeviceError::Launch("no buffers".to_owned())) };
        let l2 = device.attributes().l2_bytes as usize;
        let has_state = shape.buffers.iter().any(|buffer| buffer.role == Role::Inout);
        let turns = match pristine.memory().bytes() {
            _ if has_state => 1,
            bytes if bytes > 2 * l2 => 2,
            _ => SIDE_BY_SIDE,
        };
        Ok(Self { sets, pristine, turns, has_state })
    }

    fn restore(&self, device: &CudaDevice) -> Result<(), DeviceError> {
        self.sets.iter().try_for_each(|set| set.restore(device, &self.pristine))
    }
}

impl Worker<'_> {
    /// Times the first variant and its copies at the shape of the job. Every copy gets a result.
    pub(super) fn ablate(&mut self, settings: &AblationSettings) -> Result<ControlFlow<DeviceLoss>, WorkError> {
        let shapes = self.job.shapes.clone();
        let Some(shape) = shapes.iter().find(|shape| self.wanted_at(shape).first() == Some(&0)) else {
            return Ok(ControlFlow::Continue(()));
        };
        self.reporter.report(&WorkerEvent::Preparing { shape: shape.name.clone(), seed: settings.seed })?;
        let inputs = self.inputs(shape, settings.seed)?;
        let buffers = AblationBuffers::new(&self.device, shape, &inputs);
        let buffers = buffers.map_err(|source| WorkError::buffers(shape, source))?;
        let mut timed: Vec<CopySamples> = Vec::new();
        let mut evaluation_us = 0.0;
        for index in self.wanted_at(shape) {
            let variant = self.job.kernels[index].variant.clone();
            self.started(&variant, shape, WorkerTask::Warm)?;
            let kind = match Some(&variant) {
                name if name == settings.side_by_side.as_ref() => SampleKind::SideBySide,
                name if name == settings.block_starts.as_ref() => SampleKind::BlockStarts,
                _ => SampleKind::InTurn,
            };
            match self.warm(index, shape, &buffers, (evaluation_us, kind)) {
                Ok((sample, us)) => {
                    if timed.is_empty() {
                        evaluation_us = us;
                    }
                    timed.push(CopySamples { variant, sample, times: Vec::new() });
                }
                Err(error) => {
                    if let lost @ ControlFlow::Break(_) = self.ablation_failed(variant, shape, &error)? {
                        return Ok(lost);
                    }
                    if index == 0 {
                        return Ok(ControlFlow::Continue(()));
                    }
                }
            }
        }
        self.rounds(shape, &buffers, timed, (settings.budget_us, evaluation_us))
    }

    /// Loads a copy, runs it once, and captures a sample; also the microseconds of an evaluation.
    fn warm(
        &mut self,
        index: usize,
        shape: &ShapeSpec,
        buffers: &AblationBuffers,
        (evaluation_us, kind): (f64, SampleKind),
    ) -> Result<(Sample, f64), DeviceError> {
        let program = self.program(index, shape)?;
        self.load(index)?;
        let device = &self.device;
        let loaded = self.loaded[&self.job.kernels[index].variant].as_ref().map_err(Clone::clone)?;
        let bind = |set: &BufferSet| set.bind(device, (loaded, &program), &shape.buffers);
        let bound = buffers.sets.iter().map(bind).collect::<Result<Vec<_>, _>>()?;
        let Some(first) = bound.first() else { return Err(DeviceError::Launch("no buffers".to_owned())) };
        if !first.surfaces().is_empty() {
            return Err(DeviceError::Launch("its surfaces are written back after each evaluation".to_owned()));
        }
        device.set_l2_aside(first.l2_set_aside())?;
        buffers.restore(device)?;
        device.prepare(first)?;
        device.run(first)?;
        device.synchronize()?;
        buffers.restore(device)?;
        device.prepare(first)?;
        let us = device.time(|| device.run(first))?;
        let basis = if evaluation_us > 0.0 { evaluation_us } else { us };
        if us > TOO_SLOW * basis.max(SAMPLE_US / TOO_SLOW) {
            return Err(DeviceError::Launch(format!("one evaluation takes {us:.0} us instead of {basis:.0} us")));
        }
        let evaluations = if buffers.has_state { 1.0 } else { (SAMPLE_US / basis).ceil().clamp(1.0, MOST_EVALUATIONS) };
        // A variable of the module has the values of one set.
        let turns = if first.has_symbols() { 1 } else { buffers.turns };
        let launches = program.launches().count();
        let sample = if kind == SampleKind::SideBySide {
            let empty = self.empty_evaluations(launches)?;
            let saved_us = (empty.in_turn_us - empty.side_by_side_us).max(0.0);
            let groups = (evaluations / SIDE_BY_SIDE as f64).ceil();
            let bodies = bound.iter().map(|program| || device.run(program));
            let graph = device.capture_side_by_side(bodies, groups as usize)?;
            Sample { graph, evaluations: groups * SIDE_BY_SIDE as f64, saved_us }
        } else {
            let count = (evaluations as usize).next_multiple_of(turns);
            let mut in_turn = bound.iter().take(turns).cycle().take(count);
            let graph = device.capture(|| in_turn.try_for_each(|program| device.run(program)))?;
            let is_start = kind == SampleKind::BlockStarts;
            let saved_us = if is_start { -self.empty_evaluations(launches)?.in_turn_us } else { 0.0 };
            Sample { graph, evaluations: count as f64, saved_us }
        };
        device.replay(&sample.graph)?;
        device.synchronize()?;
        Ok((sample, us))
    }

    /// Times evaluations of that many launches of a block that does nothing.
    fn empty_evaluations(&self, launches: usize) -> Result<EmptyEvaluations, DeviceError> {
        let (device, groups) = (&self.device, EMPTY_GROUPS);
        let empty = EmptyKernel::new(device)?;
        let evaluation = || (0..launches).try_for_each(|_| empty.launch(device, LaunchMode::Ordinary));
        let in_turn = device.capture(|| (0..groups * SIDE_BY_SIDE).try_for_each(|_| evaluation()))?;
        let side_by_side = device.capture_side_by_side([evaluation; SIDE_BY_SIDE], groups)?;
        let time = |graph: &ExecutableGraph| {
            device.replay(graph)?;
            Ok::<_, DeviceError>(device.time(|| device.replay(graph))? / (groups * SIDE_BY_SIDE) as f64)
        };
        Ok(EmptyEvaluations { in_turn_us: time(&in_turn)?, side_by_side_us: time(&side_by_side)? })
    }

    /// Reports why a copy has no samples; whether the device still works.
    fn ablation_failed(
        &mut self,
        variant: VariantId,
        shape: &ShapeSpec,
        error: &DeviceError,
    ) -> Result<ControlFlow<DeviceLoss>, WorkError> {
        self.job.settle_trace(&variant, &shape.name);
        self.launch_failed(variant, shape.name.clone(), error.to_string())
    }

    /// Takes samples in rounds, each between two of the variant itself, and reports the ratios of each copy.
    fn rounds(
        &mut self,
        shape: &ShapeSpec,
        buffers: &AblationBuffers,
        mut timed: Vec<CopySamples>,
        (budget_us, evaluation_us): (f64, f64),
    ) -> Result<ControlFlow<DeviceLoss>, WorkError> {
        let sample_us = evaluation_us.max(SAMPLE_US + 80.0);
        let rounds = (budget_us / (sample_us * (timed.len() + 1) as f64)).clamp(*ROUNDS.start(), *ROUNDS.end());
        let mut ends = Vec::new();
        for round in 0..rounds as u32 {
            for at in (0..timed.len()).chain([0]) {
                let Some(one) = timed.get(at) else { continue };
                let variant = one.variant.clone();
                self.started(&variant, shape, WorkerTask::Sample { round })?;
                let device = &self.device;
                let ready = if buffers.has_state { buffers.restore(device) } else { Ok(()) };
                let sample = &timed[at].sample;
                let us = ready.and_then(|()| device.time(|| device.replay(&sample.graph)));
                match us.map(|us| (us / sample.evaluations + sample.saved_us).max(0.0)) {
                    Ok(us) if timed[at].times.len() > round as usize => ends.push(us),
                    Ok(us) => timed[at].times.push(us),
                    Err(error) => return self.ablation_failed(variant, shape, &error),
                }
            }
        }
        let Some(control) = timed.first().map(|control| control.times.clone()) else {
            return Ok(ControlFlow::Continue(()));
        };
        for (at, CopySamples { variant, times, .. }) in timed.into_iter().enumerate() {
            // Against itself: the end of a round by its beginning.
            let (times, until) = if at == 0 { (&ends, &control) } else { (&times, &ends) };
            let around = control.iter().zip(until).map(|(begin, end)| (begin + end) / 2.0);
            let ratios = times.iter().zip(around).map(|(us, around)| us / around).collect();
            self.reporter.report(&WorkerEvent::Ablated { variant, shape: shape.name.clone(), ratios })?;
        }
        Ok(ControlFlow::Continue(()))
    }
}
