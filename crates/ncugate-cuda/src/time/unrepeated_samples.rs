//! Samples without repeats.
//!
//! In an ordinary sample each set of buffers is launched on many times, so that a launch finds its answer in its
//! output, or in a set with the same inputs. A kernel that returns early in that case is right in every sample, and
//! can recognise an audited graph by the copies between its launches. Here each set has one launch. Every set has
//! distinct inputs, the lead-in has others, and all outputs are poisoned: whatever a kernel knows, it has to do its
//! work. The first samples also have inputs that the loaded module has never read, so that a table of earlier results
//! has no entry for them. Those must take as long as the others, and all of them as long as the median (`judge::witness`).

use super::schedule::{AuditSchedule, GraphExtent};
use super::surfaces::Surfaces;
use super::timed_buffers::{LEAD_IN_CONTENT, TimedBuffers};
use crate::gpu::{BoundProgram, CudaDevice, DeviceError, ExecutableGraph, PendingDigests};
use ncugate_model::UnrepeatedSamples;

/// Samples without repeats per variant, shape and process.
const SAMPLES: u32 = 4;
/// Most of them with inputs that no launch has read: the others are compared with them.
const UNSEEN: u32 = 2;

/// The graph of these samples, and the samples taken so far.
#[derive(Debug)]
pub struct UnrepeatedGraph {
    graph: ExecutableGraph,
    /// Fills variables of the module from the first set, if it has any.
    symbols: Option<ExecutableGraph>,
    /// Contents with distinct inputs.
    distinct: Vec<usize>,
    /// Those contents that no launch has read.
    unread: Vec<usize>,
    /// Samples before the ordinary one of each round.
    due: Vec<u32>,
    taken: UnrepeatedSamples,
}

/// Outputs of a sample to verify.
#[derive(Debug)]
pub struct UnrepeatedOutputs {
    /// Content of each set with a launch.
    pub contents: Vec<usize>,
    /// Content of the lead-in.
    pub lead_in: usize,
    /// Digests of the outputs of each of these sets; the lead-in's last, if its outputs are still in place.
    pub pending: Vec<Vec<PendingDigests>>,
}

impl UnrepeatedGraph {
    /// The graph for a program that is bound to `sets`, for `rounds` rounds.
    ///
    /// # Errors
    /// The driver refuses.
    pub fn new(
        device: &CudaDevice,
        buffers: &TimedBuffers,
        sets: &[BoundProgram<'_>],
        extent: &GraphExtent,
        (schedule, rounds): (&mut AuditSchedule, u32),
    ) -> Result<Self, DeviceError> {
        let distinct = buffers.distinct_contents();
        let order = schedule.assignment(distinct.len(), distinct.len());
        let unread: Vec<usize> = order.into_iter().map(|at| distinct[at]).filter(|&c| c != LEAD_IN_CONTENT).collect();
        let has_symbols = sets.first().is_some_and(BoundProgram::has_symbols);
        let most = if has_symbols { 1 } else { extent.sets as usize };
        // Half of them, which leaves two samples with unread inputs.
        let launches = (unread.len() / 2).clamp(1, most.max(1));
        let graph = device.capture_timed(|| sets.iter().take(launches).try_for_each(|program| device.run(program)))?;
        let symbols = match sets.first().filter(|_| has_symbols) {
            Some(program) => Some(device.capture(|| device.fill_symbols(program))?),
            None => None,
        };
        let unseen = ((unread.len() / launches) as u32).min(UNSEEN);
        let mut due = schedule.audits_by_round(SAMPLES - unseen, rounds);
        // They come first. A kernel may know that, but it cannot have their answers.
        due.iter_mut().take(1).for_each(|first| *first += unseen);
        let taken = UnrepeatedSamples {
            launches: launches as u32,
            fixed_us: buffers.fixed_us(),
            samples: Vec::with_capacity(SAMPLES as usize),
            unseen: 0,
        };
        Ok(Self { graph, symbols, distinct, unread, due, taken })
    }

    /// Samples that are due before the ordinary one of a round.
    pub fn due(&self, round: u32) -> u32 {
        self.due.get(round as usize).copied().unwrap_or(0)
    }

    pub const fn samples(&self) -> &UnrepeatedSamples {
        &self.taken
    }

    /// Takes a sample; it counts only if its outputs are right.
    ///
    /// # Errors
    /// A launch fails; the device may be unusable afterwards.
    pub fn take(
        &mut self,
        device: &CudaDevice,
        (buffers, surfaces): (&mut TimedBuffers, &Surfaces),
        schedule: &mut AuditSchedule,
        (lead_in_graph, timed): (&ExecutableGraph, &GraphExtent),
    ) -> Result<UnrepeatedOutputs, DeviceError> {
        let launches = self.taken.launches as usize;
        let (contents, lead_in) = self.draw(schedule);
        buffers.refresh_lead_in(device, lead_in)?;
        buffers.clear_digests();
        let blocked = buffers.block(device)?;
        device.replay(lead_in_graph)?;
        // After the last untimed launch of the kernel: it cannot compute the answers of the sample in advance. Sets without a
        // launch are poisoned too, so that they contain no answer.
        let all: Vec<usize> = contents.iter().copied().cycle().take(buffers.sets.len()).collect();
        buffers.refresh(device, &all)?;
        surfaces.fill(device, launches)?;
        buffers.warm_after_refill(device, timed.sets as usize)?;
        let has_lead_in = !contents.contains(&lead_in);
        if !has_lead_in {
            buffers.refresh_lead_in_outputs(device, lead_in)?;
        }
        self.symbols.iter().try_for_each(|graph| device.replay(graph))?;
        buffers.flush(device)?;
        let mut pending = Vec::new();
        let asked = || {
            drop(blocked);
            device.deliver(&self.graph)?;
            device.deliver(lead_in_graph)?;
            surfaces.write_back(device, launches)?;
            let places = (0..launches).map(Some).chain(has_lead_in.then_some(None));
            places.into_iter().try_for_each(|set| buffers.ask_outputs(device, set).map(|asked| pending.push(asked)))
        };
        let elapsed = device.time_before(|| device.replay(&self.graph), asked)?;
        self.taken.samples.push(elapsed);
        Ok(UnrepeatedOutputs { contents, lead_in, pending })
    }

    /// The contents of the launched sets, and that of the lead-in: a different one if available.
    fn draw(&mut self, schedule: &mut AuditSchedule) -> (Vec<usize>, usize) {
        let launches = self.taken.launches as usize;
        if self.unread.len() >= launches && self.taken.unseen < UNSEEN {
            self.taken.unseen += 1;
            return (self.unread.drain(..launches).collect(), LEAD_IN_CONTENT);
        }
        let order = schedule.assignment(self.distinct.len(), self.distinct.len());
        let mut order = order.into_iter().map(|at| self.distinct[at]);
        let contents: Vec<usize> = order.by_ref().take(launches).collect();
        let lead_in = order.next().or_else(|| contents.first().copied()).unwrap_or(LEAD_IN_CONTENT);
        (contents, lead_in)
    }
}
