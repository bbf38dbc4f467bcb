//! The inputs of a report.

use jiff::Timestamp;
use ncu_explain::DiagnosisRow;
use ncugate_judge::reference_runs::ComparisonRun;
use ncugate_judge::store::Run;
use ncugate_judge::{CapturedVariant, Judgement};
use ncugate_model::{AblationRecord, Quantities, ShapeName, VariantId};
use ncugate_phase::config::Phase;
use ncugate_phase::plan::Plan;

/// The source of the run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RunSource {
    /// Measured by this command.
    Live,
    /// Read from a run on disk: its folder, in the reader's notation.
    Recorded { folder: String },
    /// ncu reports made by another program.
    Foreign {
        /// The files, in the reader's notation.
        files: Vec<String>,
        /// When the first and the last launch were profiled, if the reports say so.
        made: Option<(Timestamp, Timestamp)>,
        captured: Vec<CapturedVariant>,
    },
    /// The recording of the phase, shown because nothing could be measured. It was not requested, so it never passes.
    Unasked {
        folder: String,
        /// Why nothing was measured.
        why: String,
    },
}

/// Counters of deep profiles, which serve only the report.
#[derive(Debug, Clone, Copy)]
pub struct DeepProfileInputs<'a> {
    pub quantities: &'a Quantities,
    /// Why they cannot be read.
    pub problem: Option<&'a str>,
}

/// All inputs of a report.
pub struct ReportInputs<'a> {
    /// The phase as it was run.
    pub phase: &'a Phase,
    pub plan: &'a Plan,
    /// The run as stored.
    pub run: &'a Run,
    pub quantities: &'a Quantities,
    pub judgement: &'a Judgement,
    /// Findings from the counters, most severe first (for the selected variant, or for several).
    pub findings: &'a [ncu_explain::Finding],
    /// What costs were worth on copies of machine code.
    pub ablations: &'a [AblationRecord],
    /// Variants and shapes for advice, the objective's shape first.
    pub subjects: &'a [(VariantId, ShapeName)],
    /// Outcome of the rules for each of them.
    pub diagnosis: &'a [DiagnosisRow],
    /// Utilisation of the units of the chip in the selected variant's launches at the objective's shape.
    pub speed_of_light: &'a [ncu_explain::Utilisation],
    /// Observations of ncu's own rules and sampler.
    pub said: &'a [ncu_explain::NcuObservations],
    /// Bytes per second of device memory by its clock and bus, if a report has them.
    pub dram_peak: Option<f64>,
    pub deep: DeepProfileInputs<'a>,
    pub source: RunSource,
    /// Stored runs that requirements compare with, one line each: `baseline: run ...`.
    pub compared: &'a [String],
    /// Stored runs that the selected variant is compared with.
    pub earlier: &'a [ComparisonRun<'a>],
    /// The clocks in ncu's reports.
    pub clocks: &'a ncu_explain::Clocks,
    /// The reference time for the age. None omits the age, so that the same run renders to the same bytes.
    pub now: Option<Timestamp>,
}
