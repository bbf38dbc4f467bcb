//! What a report is built from.

use super::diagnosis_row::DiagnosisRow;
use crate::explain;
use jiff::Timestamp;
use ncugate_judge::frame::Quantities;
use ncugate_judge::reference_runs::ComparisonRun;
use ncugate_judge::store::Manifest;
use ncugate_judge::{CapturedVariant, Judgement};
use ncugate_model::{
    BuildRecord, CheckRecord, DeepProfile, LatencyRecord, ProfileRecord, SearchRecord, ShapeName, VariantId,
};
use ncugate_phase::config::Phase;
use ncugate_phase::plan::Plan;

/// Where the run comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RunSource {
    /// Measured by this command.
    Live,
    /// Read from a run on disk: its folder, as the reader would write it.
    Recorded { folder: String },
    /// ncu reports that another program made.
    Foreign {
        /// The files, as the reader would write them.
        files: Vec<String>,
        /// When the first and the last of the launches were profiled, where the reports say.
        made: Option<(Timestamp, Timestamp)>,
        captured: Vec<CapturedVariant>,
    },
    /// The recording of the phase, shown because nothing could be measured. It was not asked for: it never passes.
    Unasked {
        folder: String,
        /// Why nothing was measured.
        why: String,
    },
}

/// What was profiled once more, for the report alone.
#[derive(Debug, Clone, Copy)]
pub struct DeepProfileInputs<'a> {
    pub profiles: &'a [DeepProfile],
    pub quantities: &'a Quantities,
    /// Why they cannot be read.
    pub problem: Option<&'a str>,
}

/// Everything a report is built from.
pub struct ReportInputs<'a> {
    /// The phase as run.
    pub phase: &'a Phase,
    pub plan: &'a Plan,
    pub manifest: &'a Manifest,
    pub builds: &'a [BuildRecord],
    pub checks: &'a [CheckRecord],
    pub latencies: &'a [LatencyRecord],
    pub profiles: &'a [ProfileRecord],
    /// How the candidates were found; empty where they are a sweep.
    pub search: &'a [SearchRecord],
    pub quantities: &'a Quantities,
    pub judgement: &'a Judgement,
    /// What the counters say, gravest first (of the selected variant, or of several).
    pub findings: &'a [explain::Finding],
    /// Variants and shapes that advice is about, the objective's shape first.
    pub subjects: &'a [(VariantId, ShapeName)],
    /// What the rules could say of each of them.
    pub diagnosis: &'a [DiagnosisRow],
    /// How busy the units of the chip were in the selected variant's launches at the objective's shape.
    pub speed_of_light: &'a [explain::Utilisation],
    /// What ncu's own rules and sampler say.
    pub said: &'a [explain::NcuObservations],
    pub deep: DeepProfileInputs<'a>,
    pub source: RunSource,
    /// Stored runs that requirements compare with, a line each: `baseline: run ...`.
    pub compared: &'a [String],
    /// Stored runs that the selected variant is compared with.
    pub earlier: &'a [ComparisonRun<'a>],
    /// The clocks, as ncu's reports give them.
    pub clocks: &'a explain::Clocks,
    /// The time the age is counted to; none leaves the age out, so that the same run renders to the same bytes.
    pub now: Option<Timestamp>,
}
