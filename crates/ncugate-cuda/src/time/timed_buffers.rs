//! Memory of timed launches: sets of buffers with contents that rotate between samples, and their expected outputs.

mod fixed_cost;
mod verification;

use super::settings::TimingSettings;
use crate::gpu::{
    ArenaLayout, BlockedDevice, BlockingKernel, BufferSet, BufferSpec, CacheFlush, CacheWarmer, Copier, CudaDevice,
    DeviceError, DeviceMemory, Digester, ExecutableGraph, MemoryDigest, MemoryRow, PendingDigests, PinnedMemory,
    VariantExtents,
};
use crate::prove::{CaseDraw, ShapeSpec};
use ncugate_model::LaunchMode;
use ncugate_model::Role;
use ncugate_model::Tolerance;
use ncugate_phase::config::L2State;
use std::collections::HashSet;
use std::ops::Range;

/// Maximum bytes of device memory for the outputs of audited launches until they are compared.
const SNAPSHOT_BYTES: usize = 1 << 29;

/// Largest total size of the sets of a sample, in L2 caches, up to which they are read before it.
const WARMED: u64 = 4;

/// Maximum bytes of all sets of buffers for a workload with state: each launch of a sample has a separate set.
const STATE_BYTES: usize = 1 << 30;

/// Inputs of a hidden seed, and their expected outputs.
#[derive(Debug)]
pub struct HiddenCase {
    pub seed: u64,
    /// The inputs, and the expected outputs, which stay on the host.
    pub draw: CaseDraw,
}

/// The content of the lead-in before samples of unread inputs; the samples have others.
pub const LEAD_IN_CONTENT: usize = 0;

/// Launches of the graph that follows a reset of persisting lines.
const AFTER_RESET: u32 = 200;

/// A content that the sets rotate through.
#[derive(Debug)]
struct TimedContent {
    seed: u64,
    /// Content of a set before its first launch: the inputs, state, poison in other outputs, zero in other scratch.
    staging: BufferSet,
    draw: CaseDraw,
    /// Digests of the memory that a launch must not write.
    kept: Vec<MemoryDigest>,
    /// Digests of the outputs before a launch: poison, or state.
    poison: Vec<MemoryDigest>,
    /// Digests of right outputs that were compared in full, with the extents for which they are right.
    right: HashSet<(VariantExtents, Vec<MemoryDigest>)>,
}

/// Memory that was restored to its state before a launch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RestoredState {
    /// The workload has no state.
    Nothing,
    State,
}

/// All memory for timing at a shape.
#[derive(Debug)]
pub struct TimedBuffers {
    shape: ShapeSpec,
    tolerance: Tolerance,
    /// Sets that the timed graphs rotate over.
    pub sets: Vec<BufferSet>,
    /// Buffers of the launches that keep the device busy before a sample.
    pub lead_in: BufferSet,
    /// Content of sets and lead-in before each launch outside samples.
    pilot: BufferSet,
    /// The content whose inputs the lead-in buffers hold, if launches do not change them.
    lead_in_held: Option<usize>,
    /// The lead-in buffers before its first launch, if the workload has state.
    lead_in_state: Option<BufferSet>,
    contents: Vec<TimedContent>,
    digester: Digester,
    copier: Copier,
    warmer: CacheWarmer,
    /// For samples without repeats.
    clean_flush: CacheFlush,
    blocking: BlockingKernel,
    /// Fixed microseconds of a graph, without its launches.
    fixed_us: f64,
    /// Microseconds of an empty kernel, alone.
    empty_us: f64,
    /// A host image of one set, for uploads to the contents and downloads of outputs.
    image: PinnedMemory,
    /// The content of each set; `None` if it is unknown.
    held: Vec<Option<usize>>,
    /// Twice the L2 cache, to overwrite it.
    flush: Option<DeviceMemory>,
    /// Outputs of audited launches.
    snapshots: DeviceMemory,
}

impl TimedBuffers {
    /// Allocates everything. Sets and lead-in hold `pilot` until [`Self::refresh`]. The answer of `pilot` is never
    /// compared, so launches before the samples cannot prepare a compared answer.
    ///
    /// # Errors
    /// There is not enough memory, or the digest functions of device and host differ.
    pub fn new(
        device: &CudaDevice,
        shape: &ShapeSpec,
        tolerance: &Tolerance,
        settings: &TimingSettings,
        pilot: &[impl AsRef<[u8]>],
    ) -> Result<Self, DeviceError> {
        let has_state = shape.buffers.iter().any(BufferSpec::is_state);
        let usual = settings.sets(ArenaLayout::new(&shape.buffers).bytes(), device.attributes().l2_bytes);
        let count = if has_state { sets_with_state(settings, shape, usual) } else { usual };
        let mut image = device.pinned(ArenaLayout::new(&shape.buffers).bytes())?;
        let several = (count + 2 + u32::from(has_state), &mut image);
        let mut sets = BufferSet::several(device, &shape.buffers, pilot, several)?;
        let absent = || DeviceError::Launch("no buffer sets".to_owned());
        let lead_in_state = if has_state { Some(sets.pop().ok_or_else(absent)?) } else { None };
        let lead_in = sets.pop().ok_or_else(absent)?;
        let pilot = sets.pop().ok_or_else(absent)?;
        let layout = lead_in.layout();
        let outputs: Vec<usize> = layout.regions_of(&shape.buffers, is_compared).map(|region| region.len()).collect();
        let one = snapshot_bytes(&outputs);
        let most = settings.max_launches.max(2 * count) as usize;
        let snapshots = device.allocate((SNAPSHOT_BYTES / one.max(1)).clamp(1, most) * one)?;
        let flush = match settings.l2 {
            L2State::Cold => Some(device.allocate(2 * device.attributes().l2_bytes as usize)?),
            L2State::Rotate | L2State::Warm => None,
        };
        let blocking = BlockingKernel::new(device)?;
        let mut all = Self {
            shape: shape.clone(),
            tolerance: *tolerance,
            held: vec![None; sets.len()],
            sets,
            contents: Vec::new(),
            digester: Digester::new(device, settings.hidden.schedule)?,
            copier: Copier::new(device)?,
            warmer: CacheWarmer::new(device)?,
            clean_flush: CacheFlush::new(device)?,
            fixed_us: fixed_cost::fixed_us(device, &blocking)?,
            empty_us: f64::NAN,
            blocking,
            image,
            flush,
            snapshots,
            lead_in,
            pilot,
            lead_in_held: None,
            lead_in_state,
        };
        all.empty_us = all.measure_empty(device, LaunchMode::Ordinary)?;
        Ok(all)
    }

    /// Adds a content.
    ///
    /// # Errors
    /// Those of [`Self::new`].
    pub fn add(&mut self, device: &CudaDevice, case: HiddenCase) -> Result<(), DeviceError> {
        let layout = self.lead_in.layout();
        let contents = case.draw.poisoned(&self.shape);
        let staging = BufferSet::through(device, &self.shape.buffers, &contents, &mut self.image)?;
        let image = self.image.as_slice();
        let poison = layout
            .regions_of(&self.shape.buffers, is_compared)
            .map(|region| self.digester.of_host(&image[region]))
            .collect();
        let kept: Vec<MemoryDigest> = layout
            .protected_ranges(&self.shape.buffers)
            .into_iter()
            .map(|range| self.digester.of_host(&image[range]))
            .collect();
        let HiddenCase { seed, draw } = case;
        let content = TimedContent { seed, staging, draw, kept, poison, right: HashSet::new() };
        if self.digests_of_kept(device, content.staging.memory().address())? != content.kept {
            return Err(DeviceError::Launch("digests of device and host differ".to_owned()));
        }
        self.contents.push(content);
        Ok(())
    }

    /// Most launches in one graph: if the workload has state, every launch needs an unchanged set.
    pub fn most_launches(&self, most: u32) -> u32 {
        if self.lead_in_state.is_some() { most.min(self.sets.len() as u32) } else { most }
    }

    /// Queues a reset of everything to the state before the first launch, for launches outside samples. They cannot
    /// tell that they are not samples.
    ///
    /// # Errors
    /// The driver refuses.
    pub fn renew(&self, device: &CudaDevice) -> Result<(), DeviceError> {
        let whole = 0..self.lead_in.layout().bytes();
        let mut all = self.sets.iter().chain([&self.lead_in]).chain(&self.lead_in_state);
        all.try_for_each(|set| self.copier.copy(device, set.memory(), 0, self.pilot.memory(), &whole))
    }

    /// Number of contents for the sets.
    pub const fn contents(&self) -> usize {
        self.contents.len()
    }

    /// The inputs of a content, and their expected outputs.
    pub fn draw(&self, content: usize) -> &CaseDraw {
        &self.contents[content].draw
    }

    /// Contents with distinct inputs: contents from a phase's seeds repeat.
    pub fn distinct_contents(&self) -> Vec<usize> {
        let is_first = |at: &usize| self.contents[..*at].iter().all(|other| other.seed != self.contents[*at].seed);
        (0..self.contents.len()).filter(is_first).collect()
    }

    /// Fixed microseconds of a graph on the device, without its launches.
    pub const fn fixed_us(&self) -> f64 {
        self.fixed_us
    }

    /// Microseconds of an empty kernel that is alone on the device.
    pub const fn empty_us(&self) -> f64 {
        self.empty_us
    }

    pub fn seeds(&self) -> Vec<u64> {
        self.contents.iter().map(|content| content.seed).collect()
    }

    /// Bytes of the buffers of `sets` sets, as a share of the L2 cache.
    pub fn l2_share(&self, device: &CudaDevice, sets: u32) -> Option<f64> {
        let bytes: usize = self.shape.buffers.iter().map(|buffer| buffer.bytes()).sum();
        let cache = device.attributes().l2_bytes;
        (cache > 0).then(|| bytes as f64 * f64::from(sets) / cache as f64)
    }

    /// Queues a full refill of each set with a content: inputs, poison, zeros and guard bands.
    ///
    /// # Errors
    /// The driver refuses.
    pub fn refresh(&mut self, device: &CudaDevice, assignment: &[usize]) -> Result<(), DeviceError> {
        for (set, &content) in assignment.iter().enumerate().take(self.sets.len()) {
            self.held[set] = Some(content);
            self.refill(device, &self.sets[set], content)?;
        }
        Ok(())
    }

    /// The contents of the first sets, if all are known.
    pub fn held(&self, sets: usize) -> Option<Vec<usize>> {
        self.held.iter().take(sets).copied().collect()
    }

    /// Notes that the contents of the sets are unknown.
    pub fn forget_held(&mut self) {
        self.held.fill(None);
    }

    /// Queues fresh poison in each set's outputs, zero in its scratch, and its initial state; inputs stay.
    ///
    /// # Errors
    /// The driver refuses.
    pub fn refresh_outputs(&self, device: &CudaDevice, held: &[usize]) -> Result<(), DeviceError> {
        held.iter().enumerate().try_for_each(|(set, &content)| {
            self.poison(device, set, content)?;
            let staging = &self.contents[content].staging;
            self.copy_regions(device, &self.sets[set], staging, |b| b.role == Role::Scratch)
        })
    }

    /// The content whose inputs the lead-in buffers hold, if it is known.
    pub const fn lead_in_held(&self) -> Option<usize> {
        self.lead_in_held
    }

    /// Queues a reset of the lead-in's outputs and scratch; its inputs, which are those of this content, stay.
    ///
    /// # Errors
    /// The driver refuses.
    pub fn refresh_lead_in_outputs(&self, device: &CudaDevice, content: usize) -> Result<(), DeviceError> {
        self.copy_regions(device, &self.lead_in, &self.contents[content].staging, |b| b.role != Role::Input)
    }

    /// Queues a full refill of the lead-in buffers with a content.
    ///
    /// # Errors
    /// The driver refuses.
    pub fn refresh_lead_in(&mut self, device: &CudaDevice, content: usize) -> Result<(), DeviceError> {
        self.refill_lead_in(device, content)?;
        self.lead_in_held = self.lead_in_state.is_none().then_some(content);
        Ok(())
    }

    fn refill_lead_in(&self, device: &CudaDevice, content: usize) -> Result<(), DeviceError> {
        self.refill(device, &self.lead_in, content)?;
        self.lead_in_state.as_ref().map_or(Ok(()), |state| self.refill(device, state, content))
    }

    /// Queues a reset of the state in the lead-in buffers, or adds it to the graph being captured; the lead-in is not
    /// timed.
    ///
    /// # Errors
    /// The driver refuses.
    pub fn restore_lead_in(&self, device: &CudaDevice) -> Result<RestoredState, DeviceError> {
        let Some(state) = &self.lead_in_state else { return Ok(RestoredState::Nothing) };
        self.copy_regions(device, &self.lead_in, state, BufferSpec::is_state)?;
        Ok(RestoredState::State)
    }

    fn refill(&self, device: &CudaDevice, set: &BufferSet, content: usize) -> Result<(), DeviceError> {
        let whole = 0..self.lead_in.layout().bytes();
        self.copier.copy(device, set.memory(), 0, self.contents[content].staging.memory(), &whole)
    }

    /// Queues reads of the first sets, so that the L2 cache holds as much of them as after launches. Writing outputs
    /// and lead-in buffers evicts some of it, which shows in the time of the first launch on each set. Sets that
    /// together exceed `WARMED` times the cache leave next to nothing in it and are not read.
    ///
    /// # Errors
    /// The driver refuses.
    pub fn warm(&self, device: &CudaDevice, sets: usize) -> Result<(), DeviceError> {
        let read = if self.is_warmed(device, sets) { sets } else { 0 };
        self.sets.iter().take(read).try_for_each(|set| self.warmer.warm(device, set.memory()))
    }

    /// Queues [`Self::warm`], or for larger sets a flush: a launch right after a refill would pay for writing the refill
    /// back (`tests/gpu/isolated.sh`, column `dirty`).
    ///
    /// # Errors
    /// The driver refuses.
    pub fn warm_after_refill(&self, device: &CudaDevice, sets: usize) -> Result<(), DeviceError> {
        if self.is_warmed(device, sets) { self.warm(device, sets) } else { self.clean_flush.queue(device) }
    }

    fn is_warmed(&self, device: &CudaDevice, sets: usize) -> bool {
        (sets * self.lead_in.layout().bytes()) as u64 <= WARMED * device.attributes().l2_bytes
    }

    /// Queues a wait of the device until the returned guard is dropped, after all work of a sample is queued.
    ///
    /// # Errors
    /// The driver refuses.
    pub fn block(&self, device: &CudaDevice) -> Result<BlockedDevice, DeviceError> {
        self.blocking.block(device)
    }

    /// A graph of empty kernels, uploaded, to be launched after [`CudaDevice::reset_persisting_l2`]. Without it,
    /// launches in graphs captured afterwards take longer in a worker, some 0.2 us each on an H200 with driver 580.
    /// The reset alone does not cause that (`tests/gpu/launch_overhead.sh`). A graph of one launch does not help.
    ///
    /// # Errors
    /// The driver refuses.
    pub fn graph_after_reset(&self, device: &CudaDevice) -> Result<ExecutableGraph, DeviceError> {
        let graph = device.capture(|| (0..AFTER_RESET).try_for_each(|_| self.blocking.pass(device)))?;
        device.upload_graph(&graph)?;
        Ok(graph)
    }

    /// Queues an overwrite of the L2 cache, if it is to be cold.
    ///
    /// # Errors
    /// The driver refuses.
    pub fn flush(&self, device: &CudaDevice) -> Result<(), DeviceError> {
        self.flush.as_ref().map_or(Ok(()), |memory| device.fill(memory, 0))
    }

    /// Queues a copy of a content's inputs, and of their state, to a set.
    ///
    /// # Errors
    /// The driver refuses.
    pub fn give_inputs(&self, device: &CudaDevice, set: usize, content: usize) -> Result<(), DeviceError> {
        let staging = &self.contents[content].staging;
        self.copy_regions(device, &self.sets[set], staging, |b| b.role == Role::Input || b.is_state())
    }

    /// Queues fresh poison in a set's outputs, and its initial state.
    ///
    /// # Errors
    /// The driver refuses.
    pub fn poison(&self, device: &CudaDevice, set: usize, content: usize) -> Result<(), DeviceError> {
        let staging = &self.contents[content].staging;
        self.copy_regions(device, &self.sets[set], staging, |b| b.role == Role::Output || b.is_state())
    }

    /// Queues a reset of a set's state to its value before the first launch.
    ///
    /// # Errors
    /// The driver refuses.
    pub fn restore_state(&self, device: &CudaDevice, set: usize, content: usize) -> Result<(), DeviceError> {
        self.copy_regions(device, &self.sets[set], &self.contents[content].staging, BufferSpec::is_state)
    }

    fn copy_regions(
        &self,
        device: &CudaDevice,
        to: &BufferSet,
        from: &BufferSet,
        wanted: impl Fn(&BufferSpec) -> bool,
    ) -> Result<(), DeviceError> {
        let mut regions = self.lead_in.layout().regions_of(&self.shape.buffers, wanted);
        regions.try_for_each(|region| self.copier.copy(device, to.memory(), region.start, from.memory(), &region))
    }

    /// Queues a reset of a range of a set's memory to its value before the first launch.
    ///
    /// # Errors
    /// The driver refuses.
    pub fn restore(
        &self,
        device: &CudaDevice,
        set: usize,
        content: usize,
        range: &Range<usize>,
    ) -> Result<(), DeviceError> {
        let staging = self.contents[content].staging.memory();
        self.copier.copy(device, self.sets[set].memory(), range.start, staging, range)
    }

    /// Places of the outputs in a set.
    pub fn outputs(&self) -> Vec<Range<usize>> {
        self.lead_in.layout().regions_of(&self.shape.buffers, is_compared).collect()
    }

    /// Bytes of one snapshot of all outputs; each output starts at a multiple of 16 in it.
    pub fn snapshot_bytes(&self) -> usize {
        let lengths: Vec<usize> = self.outputs().iter().map(Range::len).collect();
        snapshot_bytes(&lengths)
    }

    pub const fn snapshots_bytes(&self) -> usize {
        self.snapshots.bytes()
    }

    /// Queues an overwrite of the first snapshots. The others are left alone: writes evict the timed graphs from the
    /// L2 cache, which slows their next launches.
    ///
    /// # Errors
    /// The driver refuses.
    pub fn wipe_snapshots(&self, device: &CudaDevice, count: usize) -> Result<(), DeviceError> {
        device.fill_start(&self.snapshots, self.snapshot_bytes() * count, 0)
    }

    /// Queues a copy of a set's outputs to a snapshot.
    ///
    /// # Errors
    /// The driver refuses.
    pub fn snapshot(&self, device: &CudaDevice, set: usize, index: usize) -> Result<(), DeviceError> {
        let mut at = self.snapshot_bytes() * index;
        for region in self.outputs() {
            self.copier.copy(device, &self.snapshots, at, self.sets[set].memory(), &region)?;
            at += region.len().next_multiple_of(16);
        }
        Ok(())
    }

    /// Discards requested digests.
    pub const fn clear_digests(&mut self) {
        self.digester.clear();
    }

    /// Queues the digests of the outputs of a set, or of the lead-in if `set` is `None`.
    ///
    /// # Errors
    /// The driver refuses.
    pub fn ask_outputs(&mut self, device: &CudaDevice, set: Option<usize>) -> Result<Vec<PendingDigests>, DeviceError> {
        let address = set.map_or(&self.lead_in, |set| &self.sets[set]).memory().address();
        let rows = self.outputs().into_iter().map(|region| MemoryRow {
            address: address + region.start as u64,
            bytes: region.len(),
            stride: 0,
            count: 1,
        });
        rows.map(|row| self.digester.request(device, &row)).collect()
    }

    /// Queues the digests of the first `count` snapshots, one per output.
    ///
    /// # Errors
    /// The driver refuses.
    pub fn ask_snapshots(&mut self, device: &CudaDevice, count: usize) -> Result<Vec<PendingDigests>, DeviceError> {
        let stride = self.snapshot_bytes();
        let mut address = self.snapshots.address();
        let mut pending = Vec::new();
        for region in self.outputs() {
            pending.push(self.digester.request(device, &MemoryRow { address, bytes: region.len(), stride, count })?);
            address += region.len().next_multiple_of(16) as u64;
        }
        Ok(pending)
    }

    /// The digests of outputs, launch by launch, after the device was synchronised.
    pub fn read_outputs(&self, pending: &[PendingDigests]) -> Vec<Vec<MemoryDigest>> {
        let by_output: Vec<Vec<MemoryDigest>> = pending.iter().map(|pending| self.digester.read(pending)).collect();
        let launches = by_output.first().map_or(0, Vec::len);
        (0..launches).map(|launch| by_output.iter().map(|digests| digests[launch]).collect()).collect()
    }
}

fn is_compared(buffer: &BufferSpec) -> bool {
    buffer.role.is_compared()
}

/// Sets of buffers if launches change their inputs: one per launch of a graph, within the available memory, and at
/// least the usual number; one set if each launch is a sample.
fn sets_with_state(settings: &TimingSettings, shape: &ShapeSpec, usual: u32) -> u32 {
    let fit = STATE_BYTES / ArenaLayout::new(&shape.buffers).bytes().max(1);
    let (most, _) = settings.extent();
    most.min(u32::try_from(fit).unwrap_or(u32::MAX)).max(usual.min(most))
}

/// Bytes of a snapshot of outputs with these lengths: each starts at a multiple of 16.
fn snapshot_bytes(outputs: &[usize]) -> usize {
    outputs.iter().map(|bytes| bytes.next_multiple_of(16)).sum()
}
