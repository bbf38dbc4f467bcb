//! A graph in which every launch is verified: the launches of the timed graph on the same pointers, with a copy of
//! the outputs and a disturbance of the set between them.
//!
//! A launch of the timed graph may find its output already in place, since each set is launched on many times. Here
//! its output is poisoned, spoiled in one place, or right for inputs that have been replaced. State is restored
//! before each launch.

use super::output_comparison::{OutputComparison, OutputPlace};
use super::schedule::{AuditSchedule, Disturbance, GraphExtent, audited_launches};
use super::timed_buffers::TimedBuffers;
use crate::gpu::{CudaDevice, DeviceError, ExecutableGraph, PendingDigests, VariantExtents};
use std::ops::Range;

/// Maximum size in bytes of the region that [`Disturbance::Spot`] spoils.
const SPOT: usize = 16;

/// A graph of verified launches.
#[derive(Debug)]
pub struct AuditGraph {
    graph: ExecutableGraph,
    /// Content of each set at the start.
    start: Vec<usize>,
    /// Content of each set at the end.
    end: Vec<usize>,
    /// The content whose inputs each launch reads.
    contents: Vec<usize>,
}

/// A launch with a wrong output.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WrongLaunch {
    pub reason: String,
    /// Index of its set of buffers.
    pub set: usize,
    /// Index of the content with its inputs.
    pub content: usize,
}

/// The result of an audit.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct AuditOutcome {
    /// Right launches whose output bytes were new.
    pub inexact: u32,
    /// The first launch with a wrong output.
    pub wrong: Option<WrongLaunch>,
}

impl AuditGraph {
    /// The graph for a variant with a timed graph of the layout `timed`; `missing` is the number of launches to
    /// verify that samples do not cover. `launch` queues a launch on a set.
    ///
    /// # Errors
    /// The driver refuses.
    pub fn new(
        device: &CudaDevice,
        buffers: &TimedBuffers,
        timed: &GraphExtent,
        missing: u32,
        schedule: &mut AuditSchedule,
        launch: impl Fn(usize) -> Result<(), DeviceError>,
    ) -> Result<Self, DeviceError> {
        let launches = audited_launches(timed, missing, buffers.snapshot_bytes(), buffers.snapshots_bytes()) as usize;
        let sets = (timed.sets as usize).min(launches);
        let start = schedule.assignment(buffers.contents(), sets);
        let mut held = start.clone();
        let mut contents = Vec::with_capacity(launches);
        // At least one disturbance of a graph changes the inputs. This catches kernels that leave outputs alone
        // unless they are poison.
        let disturbances = launches.saturating_sub(sets);
        let changed = schedule.below(disturbances.max(1));
        // Half of the sets otherwise keep their inputs for the whole graph. This catches kernels that skip inputs
        // after meeting them many times in a row.
        let steady = schedule.below(2);
        let graph = device.capture(|| {
            for index in 0..launches {
                let set = index % sets;
                launch(set)?;
                contents.push(held[set]);
                buffers.snapshot(device, set, index)?;
                if index + sets < launches {
                    let disturbance = match index == changed {
                        true => Disturbance::Inputs,
                        false if sets > 1 && set % 2 == steady => schedule.disturbance_of_outputs(),
                        false => schedule.disturbance(),
                    };
                    held[set] = disturb(device, buffers, (schedule, disturbance), set, held[set])?;
                }
            }
            Ok(())
        })?;
        Ok(Self { graph, start, end: held, contents })
    }

    /// Number of launches that it verifies.
    pub const fn launches(&self) -> usize {
        self.contents.len()
    }

    /// Runs it and compares the outputs of every launch; `lead_in` queues the work before it.
    ///
    /// # Errors
    /// A launch fails; the device may be unusable afterwards.
    pub fn run(
        &self,
        device: &CudaDevice,
        (buffers, extents): (&mut TimedBuffers, &VariantExtents),
        lead_in: impl FnOnce() -> Result<(), DeviceError>,
    ) -> Result<AuditOutcome, DeviceError> {
        buffers.refresh(device, &self.start)?;
        buffers.forget_held();
        lead_in()?;
        buffers.clear_digests();
        let untouched: Vec<Vec<PendingDigests>> =
            (0..self.start.len()).map(|set| buffers.ask_outputs(device, Some(set))).collect::<Result<_, _>>()?;
        buffers.flush(device)?;
        device.replay(&self.graph)?;
        let pending = buffers.ask_snapshots(device, self.launches())?;
        device.synchronize()?;
        for (set, pending) in untouched.iter().enumerate() {
            if !buffers.is_fresh(self.start[set], pending) {
                let reason = "a launch on other buffers wrote to this output".to_owned();
                let content = self.start[set];
                return Ok(AuditOutcome { wrong: Some(WrongLaunch { reason, set, content }), inexact: 0 });
            }
        }
        let mut audited = self.compare(device, (buffers, extents), &pending)?;
        buffers.wipe_snapshots(device, self.launches())?;
        if audited.wrong.is_some() {
            return Ok(audited);
        }
        for (set, &content) in self.end.iter().enumerate() {
            if let Some(reason) = buffers.written_out_of_bounds(device, set, content)? {
                audited.wrong = Some(WrongLaunch { reason, set, content });
                return Ok(audited);
            }
        }
        Ok(audited)
    }

    fn compare(
        &self,
        device: &CudaDevice,
        (buffers, extents): (&mut TimedBuffers, &VariantExtents),
        pending: &[PendingDigests],
    ) -> Result<AuditOutcome, DeviceError> {
        let mut audited = AuditOutcome::default();
        for (index, digests) in buffers.read_outputs(pending).into_iter().enumerate() {
            let place = OutputPlace::Snapshot(index);
            let content = self.contents[index];
            let compared = buffers.compare(device, place, (content, extents), digests)?;
            audited.inexact += u32::from(compared == OutputComparison::New);
            if let Some(reason) = compared.reason() {
                audited.wrong = Some(WrongLaunch { reason, set: index % self.start.len(), content });
                return Ok(audited);
            }
        }
        Ok(audited)
    }
}

/// Queues a disturbance of a set before the next launch on it; returns the content whose inputs the set holds
/// afterwards.
fn disturb(
    device: &CudaDevice,
    buffers: &TimedBuffers,
    (schedule, disturbance): (&mut AuditSchedule, Disturbance),
    set: usize,
    content: usize,
) -> Result<usize, DeviceError> {
    match disturbance {
        Disturbance::Poison => buffers.poison(device, set, content).map(|()| content),
        Disturbance::Spot => {
            buffers.restore_state(device, set, content)?;
            let outputs = buffers.outputs();
            let region = outputs[schedule.below(outputs.len())].clone();
            buffers.restore(device, set, content, &spot(schedule, region)).map(|()| content)
        }
        Disturbance::Inputs => {
            let other = schedule.other(buffers.contents(), content);
            buffers.give_inputs(device, set, other).map(|()| other)
        }
    }
}

/// A random place of [`SPOT`] bytes in a region; all of a smaller region.
fn spot(schedule: &mut AuditSchedule, region: Range<usize>) -> Range<usize> {
    let start = region.start + SPOT * schedule.below(region.len().div_ceil(SPOT).max(1));
    start..(start + SPOT).min(region.end)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_spot_is_inside_and_everywhere() {
        let mut schedule = AuditSchedule::new(1, "a", "s");
        let spots: Vec<Range<usize>> = (0..500).map(|_| spot(&mut schedule, 256..300)).collect();
        assert!(spots.iter().all(|spot| spot.start >= 256 && spot.end <= 300 && !spot.is_empty()));
        for start in [256, 272, 288] {
            assert!(spots.iter().any(|spot| spot.start == start));
        }
        assert_eq!(spot(&mut schedule, 256..260), 256..260);
    }
}
