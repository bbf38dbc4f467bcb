//! A kernel being timed: a CUDA graph of its launches over rotating buffers, between two events, and the verification
//! of those launches.

use super::audit_graph::{AuditGraph, WrongLaunch};
use super::isolated_samples::{IsolatedLaunches, IsolatedOutputs};
use super::output_comparison::{OutputComparison, OutputPlace};
use super::schedule::{AuditSchedule, GraphExtent, audits, missing_launches};
use super::settings::{AuditEffort, TimingSettings};
use super::surfaces::Surfaces;
use super::timed_buffers::{RestoredState, TimedBuffers};
use super::unrepeated_samples::{UnrepeatedGraph, UnrepeatedOutputs};
use crate::gpu::{BoundProgram, CudaDevice, DeviceError, ExecutableGraph, PendingDigests, SurfaceCopy, VariantExtents};
use ncugate_model::{Audit, GpuState, GpuStates, LatencyOutcome, VariantId};

/// Launches whose mean is the first estimate of a launch's time.
const PILOT: u32 = 4;

/// Microseconds of launches right before a sample: they bring the code of the variant back into the caches.
const LEAD_IN_US: f64 = 60.0;
/// The same after the device was idle: the first launches after a rest are slower.
const RESTED_LEAD_IN_US: f64 = 180.0;

/// The program of a variant, bound to each set of buffers and to the lead-in buffers. Here, a launch means all of its
/// steps, once.
#[derive(Debug)]
pub struct TimedProgram<'a> {
    pub sets: Vec<BoundProgram<'a>>,
    /// Bound to the lead-in buffers.
    pub lead_in: BoundProgram<'a>,
    /// Extents of the buffers that differ between variants.
    pub extents: VariantExtents,
}

/// A variant being timed at a shape.
#[derive(Debug)]
pub struct TimedKernel {
    pub variant: VariantId,
    lead_in: ExecutableGraph,
    /// Bytes of the L2 cache that are set aside for its launches.
    l2_set_aside: u64,
    graph: ExecutableGraph,
    extent: GraphExtent,
    extents: VariantExtents,
    surfaces: Surfaces,
    /// Whether all sets must hold the same content: variables of the module are filled from it.
    uniform: bool,
    samples: Vec<f64>,
    /// `None` if nothing is verified.
    unrepeated: Option<UnrepeatedGraph>,
    /// `None` if nothing is verified.
    isolated: Option<IsolatedLaunches>,
    /// `None` if nothing is verified.
    audit_graph: Option<AuditGraph>,
    schedule: AuditSchedule,
    /// Number of audits before the sample of each round.
    audits: Vec<u32>,
    /// Wanted number of verified launches.
    wanted: u32,
    effort: AuditEffort,
    /// Right outputs whose bytes were new.
    inexact: u32,
    audit: Audit,
    /// Of the rounds so far in which the GPU's clocks were read.
    states: GpuStates,
}

/// A sample with a wrong output.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WrongSample {
    /// The launch and its fault.
    pub reason: String,
    /// Index of the content with its inputs.
    pub content: usize,
}

/// One sample.
#[derive(Debug)]
struct TimedSample {
    /// Microseconds of a launch.
    sample: f64,
    /// Content of each set.
    contents: Vec<usize>,
    /// Whether the inputs remained from an earlier sample, possibly of another variant.
    held_over: bool,
    /// A wrong output: its launch, and the kind of that launch.
    wrong: Option<(WrongLaunch, &'static str)>,
}

/// Number of distinct right outputs of one content up to which a kernel counts as deterministic; beyond it, its bytes
/// differ from launch to launch (atomics).
const EXACT: usize = 4;

impl TimedKernel {
    /// A warmed-up variant, with the launches of a sample in its graph; `wanted` launches are to be verified.
    ///
    /// # Errors
    /// A launch fails; the device may be unusable afterwards.
    pub fn prepare(
        variant: VariantId,
        device: &CudaDevice,
        timed: &TimedProgram<'_>,
        buffers: &TimedBuffers,
        settings: &TimingSettings,
        mut schedule: AuditSchedule,
        wanted: u32,
    ) -> Result<Self, DeviceError> {
        let l2_set_aside = timed.lead_in.l2_set_aside();
        device.set_l2_aside(l2_set_aside)?;
        let after_reset = buffers.graph_after_reset(device)?;
        device.reset_persisting_l2()?;
        let graph = |launches| graph(device, &timed.sets, launches);
        let surfaces = Surfaces::of(&timed.sets, &timed.lead_in);
        buffers.renew(device)?;
        device.prepare(&timed.lead_in)?;
        let renew = || {
            buffers.renew(device)?;
            surfaces.fill(device, timed.sets.len())
        };
        // The first replay pays for loading; the second is the estimate, which is checked once.
        let second_replay = |graph: &ExecutableGraph| {
            renew()?;
            device.replay(graph)?;
            renew()?;
            device.time(|| device.replay(graph))
        };
        let few = buffers.most_launches(PILOT);
        let pilot = second_replay(&graph(few)?)?;
        let mut launches = buffers.most_launches(sample_launches(settings, pilot, few));
        let mut chosen = graph(launches)?;
        let mut elapsed = second_replay(&chosen)?;
        let lead_in = lead_in_launches(settings, elapsed, launches);
        let lead_in = lead_in_graph(device, &timed.lead_in, buffers, lead_in)?;
        let (most, least_us) = settings.extent();
        if elapsed < least_us && launches < buffers.most_launches(most) {
            launches = buffers.most_launches(sample_launches(settings, elapsed, launches));
            chosen = graph(launches)?;
            elapsed = second_replay(&chosen)?;
        }
        for _ in 1..settings.warmup {
            renew()?;
            device.replay(&chosen)?;
        }
        device.replay(&after_reset)?;
        device.replay(&lead_in)?;
        device.synchronize()?;
        let sets = launches.min(timed.sets.len() as u32);
        let extent = GraphExtent { launches, sets, launch_us: elapsed / f64::from(launches) };
        let launch = |set: usize| {
            device.prepare(&timed.sets[set])?;
            device.run(&timed.sets[set])?;
            device.finish(&timed.sets[set])
        };
        let most = settings.effort.most_launches(settings.rounds, launches);
        let missing = missing_launches(wanted, settings.rounds, &extent).min(most);
        let (audit_graph, unrepeated, isolated) = match settings.effort {
            AuditEffort::None => (None, None, None),
            AuditEffort::Sweep | AuditEffort::Verdict => {
                let unrepeated =
                    UnrepeatedGraph::new(device, buffers, &timed.sets, &extent, (&mut schedule, settings.rounds))?;
                let drawn = (&mut schedule, settings.rounds);
                let isolated = IsolatedLaunches::new(device, buffers, extent.launch_us, drawn, launch)?;
                let audit_graph = AuditGraph::new(device, buffers, &extent, missing, &mut schedule, launch)?;
                (Some(audit_graph), Some(unrepeated), Some(isolated))
            }
        };
        let audits = audit_graph.as_ref().map_or(0, |graph| audits(missing, &extent, graph.launches() as u32));
        let audit = Audit {
            launches: 0,
            samples: 0,
            graphs: 0,
            seeds: buffers.seeds(),
            chance: 0.0,
            l2_share: buffers.l2_share(device, sets),
            unrepeated: Vec::new(),
            isolated: Vec::new(),
        };
        Ok(Self {
            variant,
            lead_in,
            l2_set_aside,
            graph: chosen,
            extent,
            extents: timed.extents.clone(),
            surfaces,
            uniform: timed.lead_in.has_symbols(),
            samples: Vec::with_capacity(settings.rounds as usize),
            audits: schedule.audits_by_round(audits, settings.rounds),
            unrepeated,
            isolated,
            audit_graph,
            schedule,
            wanted,
            effort: settings.effort,
            inexact: 0,
            audit,
            states: GpuStates::default(),
        })
    }

    /// Takes the sample of a round, after the due samples without repeats and audits; returns the fault in the output
    /// of a launch, if any.
    ///
    /// # Errors
    /// A launch fails; the device may be unusable afterwards.
    pub fn sample(
        &mut self,
        device: &CudaDevice,
        buffers: &mut TimedBuffers,
        round: u32,
    ) -> Result<Option<WrongSample>, DeviceError> {
        device.set_l2_aside(self.l2_set_aside)?;
        if self.effort == AuditEffort::None {
            buffers.renew(device)?;
            let blocked = buffers.block(device)?;
            device.replay(&self.lead_in)?;
            let unblocked = || {
                drop(blocked);
                Ok(())
            };
            let elapsed = device.time_before(|| device.replay(&self.graph), unblocked)?;
            self.samples.push(elapsed / f64::from(self.extent.launches));
            return Ok(None);
        }
        for _ in 0..self.unrepeated.as_ref().map_or(0, |graph| graph.due(round)) {
            if let Some((wrong, launch)) = self.take_unrepeated(device, buffers)? {
                return Ok(Some(wrong_sample(&wrong, round, launch)));
            }
        }
        for _ in 0..self.isolated.as_ref().map_or(0, |launches| launches.due(round)) {
            if let Some(wrong) = self.take_isolated(device, buffers)? {
                return Ok(Some(wrong_sample(&wrong, round, "a launch alone")));
            }
        }
        for _ in 0..self.audits.get(round as usize).copied().unwrap_or(0) {
            if let Some(wrong) = self.audit_launches(device, buffers)? {
                return Ok(Some(wrong_sample(&wrong, round, "an audited launch")));
            }
        }
        // Before the last sample everything is rewritten, so that any later out-of-bounds write is from that sample.
        let last = round as usize + 1 == self.audits.len();
        let refilled = last || self.schedule.is_refill_turn();
        let mut taken = self.take(device, buffers, refilled)?;
        if taken.wrong.is_some() && taken.held_over && buffers.is_damaged(device, &taken.contents)? {
            // A write changed inputs or guard bands since they were filled, perhaps by another variant; audits and
            // last samples identify the writer. This variant is sampled again on intact inputs.
            taken = self.take(device, buffers, true)?;
        }
        let TimedSample { sample, contents, wrong, .. } = taken;
        if let Some((wrong, launch)) = wrong {
            return Ok(Some(wrong_sample(&wrong, round, launch)));
        }
        self.samples.push(sample);
        if last { self.out_of_bounds(device, buffers, &contents, round) } else { Ok(None) }
    }

    /// Takes a sample on rewritten inputs or, if they are known, on those that the sets hold.
    fn take(
        &mut self,
        device: &CudaDevice,
        buffers: &mut TimedBuffers,
        refilled: bool,
    ) -> Result<TimedSample, DeviceError> {
        let sets = self.extent.sets as usize;
        let held = if refilled { None } else { buffers.held(sets).filter(|held| !self.uniform || is_uniform(held)) };
        let held_over = held.is_some();
        let contents = held.unwrap_or_else(|| self.assignment(buffers.contents(), sets));
        let verified = self.is_verified(buffers.contents());
        let lead_in_held = buffers.lead_in_held().filter(|_| held_over);
        let lead_in = match contents.first().filter(|_| self.uniform) {
            Some(&content) => content,
            None => lead_in_held.unwrap_or_else(|| self.schedule.below(buffers.contents())),
        };
        // The lead-in comes last, so that the code caches hold only launches of the variant. Audits, which it cannot
        // distinguish from samples, check that it leaves the sets alone.
        match lead_in_held == Some(lead_in) {
            true => buffers.refresh_lead_in_outputs(device, lead_in)?,
            false => buffers.refresh_lead_in(device, lead_in)?,
        }
        match held_over {
            true => buffers.refresh_outputs(device, &contents)?,
            false => buffers.refresh(device, &contents)?,
        }
        self.surfaces.fill(device, sets)?;
        buffers.warm(device, sets)?;
        buffers.clear_digests();
        let blocked = buffers.block(device)?;
        device.replay(&self.lead_in)?;
        buffers.flush(device)?;
        let mut pending = Vec::new();
        let asked = || {
            drop(blocked);
            device.deliver(&self.graph)?;
            device.deliver(&self.lead_in)?;
            self.surfaces.write_back(device, sets)?;
            let places = if verified { contents.len() + 1 } else { 0 };
            let set = |place: usize| (place < contents.len()).then_some(place);
            (0..places).try_for_each(|at| buffers.ask_outputs(device, set(at)).map(|digests| pending.push(digests)))
        };
        let elapsed = device.time_before(|| device.replay(&self.graph), asked)?;
        let sample = elapsed / f64::from(self.extent.launches);
        let wrong = self.compare(device, buffers, (&contents, lead_in), &pending)?;
        if wrong.is_none() {
            self.audit.samples += u64::from(verified);
            self.audit.launches += pending.len() as u64;
        }
        Ok(TimedSample { sample, contents, held_over, wrong })
    }

    /// Takes a sample without repeats; returns the fault in an output, if any, with its launch.
    fn take_unrepeated(
        &mut self,
        device: &CudaDevice,
        buffers: &mut TimedBuffers,
    ) -> Result<Option<(WrongLaunch, &'static str)>, DeviceError> {
        let Some(graph) = &mut self.unrepeated else { return Ok(None) };
        let timed = (&self.lead_in, &self.extent);
        let UnrepeatedOutputs { contents, lead_in, pending } =
            graph.take(device, (buffers, &self.surfaces), &mut self.schedule, timed)?;
        let wrong = self.compare(device, buffers, (&contents, lead_in), &pending)?;
        if wrong.is_none() {
            self.audit.launches += pending.len() as u64;
        }
        Ok(wrong)
    }

    /// Times an evaluation, kernel by kernel, as ncu does; returns the fault in its output, if any.
    fn take_isolated(
        &mut self,
        device: &CudaDevice,
        buffers: &mut TimedBuffers,
    ) -> Result<Option<WrongLaunch>, DeviceError> {
        let contents = self.assignment(buffers.contents(), buffers.sets.len());
        let Some(launches) = &mut self.isolated else { return Ok(None) };
        let IsolatedOutputs { set, contents, pending } = launches.take(device, buffers, contents)?;
        let digests = buffers.read_outputs(&pending).into_iter().next().unwrap_or_default();
        let content = contents[set];
        let compared = buffers.compare(device, OutputPlace::Set(set), (content, &self.extents), digests)?;
        self.inexact += u32::from(compared == OutputComparison::New);
        if let Some(reason) = compared.reason() {
            return Ok(Some(WrongLaunch { reason, set, content }));
        }
        self.audit.launches += 1;
        Ok(None)
    }

    /// The content for each set: all contents in turn, or the same one if variables of the module are filled from it.
    fn assignment(&mut self, contents: usize, sets: usize) -> Vec<usize> {
        match self.uniform {
            true => vec![self.schedule.below(contents); sets],
            false => self.schedule.assignment(contents, sets),
        }
    }

    /// The fault in the outputs after a sample, with its launch: outputs of each set first, then of the lead-in.
    fn compare(
        &mut self,
        device: &CudaDevice,
        buffers: &mut TimedBuffers,
        (contents, lead_in): (&[usize], usize),
        pending: &[Vec<PendingDigests>],
    ) -> Result<Option<(WrongLaunch, &'static str)>, DeviceError> {
        for (set, pending) in pending.iter().enumerate() {
            let digests = buffers.read_outputs(pending).into_iter().next().unwrap_or_default();
            let (place, content, launch) = match contents.get(set) {
                Some(&content) => (OutputPlace::Set(set), content, "a timed launch"),
                None => (OutputPlace::LeadIn, lead_in, "a launch before a sample"),
            };
            let compared = buffers.compare(device, place, (content, &self.extents), digests)?;
            self.inexact += u32::from(compared == OutputComparison::New);
            if let Some(reason) = compared.reason() {
                return Ok(Some((WrongLaunch { reason, set, content }, launch)));
            }
        }
        Ok(None)
    }

    fn audit_launches(
        &mut self,
        device: &CudaDevice,
        buffers: &mut TimedBuffers,
    ) -> Result<Option<WrongLaunch>, DeviceError> {
        let Some(graph) = &self.audit_graph else { return Ok(None) };
        let found = graph.run(device, (buffers, &self.extents), || device.replay(&self.lead_in))?;
        self.inexact += found.inexact;
        if found.wrong.is_none() {
            self.audit.graphs += 1;
            self.audit.launches += graph.launches() as u64;
        }
        Ok(found.wrong)
    }

    /// Whether to compare the outputs of the next sample: always, unless that means copying every output; then only
    /// for the wanted number and a few more.
    fn is_verified(&mut self, contents: usize) -> bool {
        self.inexact as usize <= EXACT * contents
            || self.audit.launches < u64::from(self.wanted)
            || self.schedule.is_sparse_turn()
    }

    fn out_of_bounds(
        &self,
        device: &CudaDevice,
        buffers: &mut TimedBuffers,
        contents: &[usize],
        round: u32,
    ) -> Result<Option<WrongSample>, DeviceError> {
        for (set, &content) in contents.iter().enumerate() {
            if let Some(reason) = buffers.written_out_of_bounds(device, set, content)? {
                return Ok(Some(wrong_sample(&WrongLaunch { reason, set, content }, round, "a timed launch")));
            }
        }
        Ok(None)
    }

    /// Notes the GPU's clocks before and after the round of the last sample.
    pub fn note(&mut self, before: GpuState, after: GpuState) {
        self.states.push(before, after);
    }

    pub fn outcome(self) -> LatencyOutcome {
        let audit = (self.effort != AuditEffort::None).then(|| self.verified());
        match self.samples.is_empty() {
            false => {
                let gpu = self.states.covers(self.samples.len()).then_some(self.states);
                let launches = self.extent.launches;
                LatencyOutcome::Timed { samples: self.samples, launches, audit, gpu }
            }
            true => LatencyOutcome::Failed { reason: "the phase has no rounds".to_owned() },
        }
    }

    /// Launches verified so far.
    pub fn verified(&self) -> Audit {
        let unrepeated = self.unrepeated.iter().map(|graph| graph.samples().clone()).collect();
        let isolated = self.isolated.iter().map(|launches| launches.samples().clone()).collect();
        Audit { chance: Audit::chance_after(self.audit.launches), unrepeated, isolated, ..self.audit.clone() }
    }
}

fn wrong_sample(wrong: &WrongLaunch, round: u32, launch: &str) -> WrongSample {
    let reason = format!("output of {launch} differs: {}, round {round}, set {}", wrong.reason, wrong.set);
    WrongSample { reason, content: wrong.content }
}

/// A graph of `launches` launches, over the sets in turn.
fn graph(device: &CudaDevice, sets: &[BoundProgram<'_>], launches: u32) -> Result<ExecutableGraph, DeviceError> {
    device.capture_timed(|| sets.iter().cycle().take(launches as usize).try_for_each(|program| device.run(program)))
}

/// A graph of `launches` launches on the lead-in buffers, with the state reset before each.
fn lead_in_graph(
    device: &CudaDevice,
    program: &BoundProgram<'_>,
    buffers: &TimedBuffers,
    launches: u32,
) -> Result<ExecutableGraph, DeviceError> {
    device.capture(|| {
        device.prepare(program)?;
        (0..launches).try_for_each(|_| {
            if buffers.restore_lead_in(device)? == RestoredState::State {
                device.copy_surfaces(program.surfaces(), SurfaceCopy::Fill)?;
            }
            device.run(program)
        })
    })
}

/// Whether all sets hold the same content.
fn is_uniform(held: &[usize]) -> bool {
    held.windows(2).all(|pair| pair[0] == pair[1])
}

/// Launches for a sample, given that `launches` launches took `elapsed`.
fn sample_launches(timing: &TimingSettings, elapsed: f64, launches: u32) -> u32 {
    let (most, least_us) = timing.extent();
    launches_for(least_us, most, elapsed, launches)
}

/// Launches for a lead-in.
fn lead_in_launches(timing: &TimingSettings, elapsed: f64, launches: u32) -> u32 {
    let lasting = if timing.effort == AuditEffort::None { RESTED_LEAD_IN_US } else { LEAD_IN_US };
    launches_for(lasting, timing.max_launches, elapsed, launches)
}

/// Launches that last `wanted` microseconds, given that `launches` launches took `elapsed`; at most `most`.
fn launches_for(wanted: f64, most: u32, elapsed: f64, launches: u32) -> u32 {
    let one = (elapsed / f64::from(launches)).max(1e-3);
    ((wanted / one).ceil() as u32).clamp(1, most.max(1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::HiddenSeeds;
    use ncugate_phase::config::L2State;

    const TIMING: TimingSettings = TimingSettings {
        warmup: 1,
        rounds: 1,
        min_sample_us: 1000.0,
        max_launches: 200,
        buffer_sets: 2,
        l2: L2State::Rotate,
        effort: AuditEffort::Sweep,
        hidden: HiddenSeeds { inputs: Vec::new(), pilot: 0, schedule: 0 },
    };

    #[test]
    fn a_sample_is_long_enough_and_no_graph_too_large() {
        let launches = |elapsed, of| sample_launches(&TIMING, elapsed, of);
        assert_eq!(launches(400.0, 4), 10);
        assert_eq!(launches(401.0, 4), 10);
        assert_eq!(launches(5000.0, 1), 1);
        assert_eq!(launches(4.0, 4), 200);
        assert_eq!(launches(0.0, 4), 200);
    }

    #[test]
    fn a_launch_on_a_cold_cache_is_a_sample_by_itself() {
        let cold = TimingSettings { l2: L2State::Cold, ..TIMING };
        assert_eq!((sample_launches(&cold, 4.0, 4), cold.sets(1, 0), cold.contents(1, 0)), (1, 1, 3));
        assert_eq!(lead_in_launches(&cold, 4.0, 4), 60);
        let warm = TimingSettings { l2: L2State::Warm, ..TIMING };
        assert_eq!((sample_launches(&warm, 400.0, 4), warm.sets(1, 0), warm.contents(1, 0)), (10, 1, 3));
        assert_eq!((TIMING.sets(1, 0), TIMING.contents(1, 0)), (2, 3));
    }
}
