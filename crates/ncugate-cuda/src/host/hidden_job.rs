//! What the inputs of hidden seeds, and what is right for them, are made from: it can be known before variants are built.

use super::evaluate::{job_reference, job_shape, timing};
use super::job_error::JobError;
use crate::prove::{ReferenceSpec, ShapeSpec};
use crate::time::{AuditEffort, HiddenSeeds, TimingSettings};
use ncugate_model::Tolerance;
use ncugate_phase::config::Phase;
use ncugate_phase::plan::Plan;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Most bytes of what is made beside the checks, over all shapes; what is beyond is made when its shape is timed.
const AHEAD_BYTES: usize = 2 << 30;

/// What the cases of hidden seeds are made from, for the shapes of which the host alone can make them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct HiddenJob {
    pub(super) reference: ReferenceSpec,
    pub(super) tolerance: Tolerance,
    pub(super) shapes: Vec<ShapeSpec>,
    pub(super) settings: TimingSettings,
    pub(super) l2_bytes: u64,
}

impl HiddenJob {
    /// That of the job that checks and times all variants of a plan, with seeds that are drawn now.
    ///
    /// # Errors
    /// The phase makes no job, or only its cubins say what the right answers are.
    pub fn of_phase(phase: &Phase, plan: &Plan, l2_bytes: u64) -> Result<Self, JobError> {
        let shapes = phase.workload.shapes.iter().map(|shape| job_shape(phase, Some(plan), shape));
        let shapes = shapes.collect::<Result<Vec<_>, _>>()?;
        let reference = job_reference(phase, plan, &BTreeMap::new(), &shapes)?;
        let settings = timing(phase, AuditEffort::Sweep)?;
        let timed = shapes.iter().filter(|shape| phase.bench.shapes.contains(&shape.name));
        Ok(Self::new(&reference, phase.workload.tolerance, timed, settings, l2_bytes))
    }

    pub(super) fn new<'s>(
        reference: &ReferenceSpec,
        tolerance: Tolerance,
        timed: impl Iterator<Item = &'s ShapeSpec>,
        settings: TimingSettings,
        l2_bytes: u64,
    ) -> Self {
        let on_host = match reference {
            ReferenceSpec::Builtin(_) | ReferenceSpec::Npy { .. } | ReferenceSpec::Program { .. } => true,
            ReferenceSpec::Entry { .. } | ReferenceSpec::None => false,
        };
        let seeds = settings.hidden.inputs.len();
        let mut left = AHEAD_BYTES;
        let fits = |shape: &&ShapeSpec| {
            let fitting = left.checked_sub(bytes_of(shape).saturating_mul(seeds));
            left = fitting.unwrap_or(left);
            fitting.is_some()
        };
        let shapes = timed.filter(|_| on_host && seeds > 0).filter(fits).cloned().collect();
        Self { reference: reference.clone(), tolerance, shapes, settings, l2_bytes }
    }

    pub(super) fn seeds(&self) -> HiddenSeeds {
        self.settings.hidden.clone()
    }

    /// Whether every case of the other is one of these.
    pub(super) fn has_all_of(&self, other: &Self) -> bool {
        let same = |job: &Self| Self { shapes: Vec::new(), ..job.clone() };
        same(self) == same(other) && other.shapes.iter().all(|shape| self.shapes.contains(shape))
    }
}

/// Bytes of one case: inputs, poison and right answers.
fn bytes_of(shape: &ShapeSpec) -> usize {
    let of_buffer = |buffer: &crate::gpu::BufferSpec| {
        let answers = if buffer.role.is_compared() { buffer.room() * size_of::<f64>() } else { 0 };
        buffer.bytes() + answers
    };
    shape.buffers.iter().map(of_buffer).sum()
}
