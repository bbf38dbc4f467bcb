//! A judged run whose results are exported to another project.

use super::evaluation::{CaseEvaluation, evaluated};
use ncugate_judge::store::RunState;
use ncugate_judge::{Evidence, JudgedRun, PhaseRun};
use ncugate_model::{ShapeName, VariantId};
use ncugate_phase::plan::{Method, Variant};

/// Why a run cannot be exported.
#[derive(Debug, thiserror::Error)]
#[error("cannot export run {run}: {why}")]
pub struct ExportRefusal {
    /// The run's id.
    pub run: String,
    pub why: String,
}

/// An exportable run: complete, measured on a GPU, and verified by this program.
#[derive(Debug)]
pub struct ExportedRun<'a> {
    pub(super) run: &'a PhaseRun,
    pub(super) session: &'a JudgedRun<'a>,
    /// The GPU's name.
    pub(super) hardware: String,
}

impl<'a> ExportedRun<'a> {
    /// Wraps a run if it can be exported.
    ///
    /// # Errors
    /// It is not complete, not sealed, a part of a phase, or not measured by this program on a GPU.
    pub fn new(run: &'a PhaseRun, session: &'a JudgedRun<'a>) -> Result<Self, ExportRefusal> {
        let manifest = &run.run.manifest;
        let refused = |why: &str| ExportRefusal { run: manifest.run.clone(), why: why.to_owned() };
        match manifest.state {
            RunState::Complete => {}
            RunState::Running | RunState::Interrupted => {
                return Err(refused("it is not complete; run the phase again to continue it"));
            }
        }
        if !run.run.is_sealed() {
            return Err(refused("it is not sealed, so its files may have changed since the measurement"));
        }
        if manifest.shard.is_some() {
            return Err(refused("it is a shard of the phase; combine the shards with `ncugate cluster merge`"));
        }
        if let Some(part) = &manifest.narrowed {
            return Err(refused(&format!("it measured only a part of the phase ({})", part.words())));
        }
        if run.evidence != Evidence::Measured || run.phase.is_of_reports() {
            return Err(refused("ncugate did not check its results"));
        }
        if !run.plan.candidates().any(is_proven_here) {
            return Err(refused("it has only self-reported results"));
        }
        let gpu = manifest.fingerprint.gpu.as_ref().ok_or_else(|| refused("no GPU measured it"))?;
        Ok(Self { run, session, hardware: gpu.name.clone() })
    }

    /// Candidates that this program launched, and a note on each other candidate.
    pub(super) fn candidates(&self) -> (Vec<&'a Variant>, Vec<String>) {
        let (own, others): (Vec<_>, Vec<_>) = self.run.plan.candidates().partition(|variant| is_proven_here(variant));
        (
            own,
            others.iter().map(|variant| format!("{} is omitted: its results are self-reported", variant.id)).collect(),
        )
    }

    pub(super) fn evaluated(&self, variant: &VariantId, shape: &ShapeName) -> CaseEvaluation {
        evaluated(self.session, variant, shape)
    }

    /// Samples of the first baseline, which candidates are compared with, in microseconds; `None` if it is wrong, was
    /// not timed, or has a self-reported latency.
    pub(super) fn reference(&self, shape: &ShapeName) -> Option<Vec<f64>> {
        let baseline = self.run.plan.baselines().next()?;
        if !is_proven_here(baseline) {
            return None;
        }
        self.evaluated(&baseline.id, shape).samples
    }

    /// Why the latency of a variant is rejected.
    pub(super) fn doubt(&self, variant: &VariantId) -> Option<&str> {
        let found = self.session.judgement().variants.iter().find(|result| result.variant == *variant)?;
        found.doubt.as_deref()
    }
}

/// Whether this program launches a variant, compares its outputs and times it.
const fn is_proven_here(variant: &Variant) -> bool {
    match variant.method {
        Method::Kernel(_) | Method::Function(_) => true,
        Method::Command(_) | Method::Captured(_) => false,
    }
}
