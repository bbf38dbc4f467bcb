//! A variant as readers are given it: what it is, how it was built, proven, measured and judged.

use super::model::Measure;
use super::ncu_advice::NcuAdvice;
use super::number::Number;
use super::trust::AuditRow;
use ncugate_judge::witness::durations::WitnessBand;
use ncugate_model::{CleanText, Verdict};
use ncugate_phase::plan::VariantRole;
use serde::Serialize;

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct VariantRow {
    pub id: CleanText,
    /// Its id, short enough for a table.
    pub label: CleanText,
    /// Its name, where the phase names it; none where the id is made of the parameters.
    pub name: Option<CleanText>,
    /// Its parameter values alone (`64 · 128 · 32 · 16`) where it has them all, else its label: for charts.
    pub short: CleanText,
    pub standing: VariantRole,
    /// Whether it is a program that takes its own time and checks its own results.
    pub graded_by_itself: bool,
    /// Whether what was timed is not what was checked.
    pub cheats: bool,
    /// What keeps its objective from counting, where that is a latency.
    pub doubt: Option<CleanText>,
    /// Whether the objective chose it.
    pub selected: bool,
    /// Rank by the objective among correct candidates, from 1.
    pub rank: Option<usize>,
    /// Whether every required gate holds for it.
    pub verdict: Verdict,
    /// Whether it is inconclusive only because it was not selected and so not re-timed alongside what it is compared with.
    pub uncompared: bool,
    /// Parameter values, aligned with [`RunReport::params`](super::RunReport::params).
    pub params: Vec<Option<CleanText>>,
    /// Whether it computes the right thing.
    pub correctness: CorrectnessRow,
    /// Gates that do not hold for it, worst first, with what it lacks.
    pub stopped_by: Vec<CleanText>,
    /// The variant whose measurements it shares.
    pub shares: Option<CleanText>,
    pub build: BuildRow,
    /// The launches of ncu reports that it is, with their kernels.
    pub captured: Option<CleanText>,
    /// Values by shape, aligned with [`RunReport::shapes`](super::RunReport::shapes).
    pub shapes: Vec<ShapeValues>,
    /// What ncu's own rules and sampler say, a shape each; empty where the report holds gate metrics alone.
    pub advice: Vec<NcuAdvice>,
    /// Verdict by gate, aligned with [`RunReport::gates`](super::RunReport::gates); none where the gate was not judged for it.
    pub gates: Vec<Option<GateCell>>,
}

impl VariantRow {
    /// What a gate says of it, by index; none where it was not judged, or not compared with what the gate compares.
    pub fn compared(&self, gate: usize) -> Option<&GateCell> {
        self.gates.get(gate)?.as_ref().filter(|cell| !cell.uncompared)
    }

    /// Its label, with a mark where it measures itself.
    pub fn marked(&self) -> String {
        if self.graded_by_itself { format!("{} ({GRADED})", self.label) } else { self.label.to_string() }
    }
}

/// The mark of a program that takes its own time and checks its own results.
pub const GRADED: &str = "graded by itself";

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct GateCell {
    pub verdict: Verdict,
    /// Measured against limit, or what it lacks.
    pub text: CleanText,
    /// Whether it is open only because the variant was not selected and so not re-timed alongside what it is compared with.
    pub uncompared: bool,
}

/// The state of a variant or of a gate at it, in a word: its verdict, or that nothing compared it.
pub const fn state(verdict: Verdict, uncompared: bool) -> &'static str {
    if uncompared { "not compared" } else { verdict.word() }
}

/// Whether a variant computes the right thing.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CorrectnessRow {
    /// Proven right, wrong, or neither.
    pub verdict: Verdict,
    pub text: CleanText,
    pub cases: Vec<CheckRow>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CheckRow {
    pub shape: CleanText,
    pub seed: u64,
    /// Right, wrong, or not run.
    pub verdict: Verdict,
    /// Largest absolute difference.
    pub max_abs: Option<Number>,
    /// Relative L2 norm of the difference.
    pub rel_l2: Option<Number>,
    /// Why it is not right.
    pub reason: Option<CleanText>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct BuildRow {
    /// Whether there is something to launch.
    pub verdict: Verdict,
    /// `built for sm_90`, `external command`, the launches of a report that it is, or why there is nothing to launch.
    pub text: CleanText,
    /// What the compiler printed.
    pub log: String,
    /// nvcc flags and defines, or the command line.
    pub command: CleanText,
    /// SHA-256 of the entry's machine code.
    pub code_sha256: Option<CleanText>,
    /// Registers, spills and the like.
    pub resources: Vec<(CleanText, Number)>,
}

/// What was measured at one shape.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ShapeValues {
    /// Grid, block and dynamic shared memory of the launch; of several steps, each.
    pub launch: CleanText,
    /// Its steps, where it is several.
    pub steps: Vec<StepRow>,
    /// Values, aligned with [`RunReport::metrics`](super::RunReport::metrics).
    pub values: Vec<Measure>,
    /// Latency samples in microseconds, in the order they were taken.
    pub samples: Vec<f64>,
    /// What was verified of the launches behind the samples; none where their outputs were not looked at.
    pub audit: Option<AuditRow>,
    /// Its durations undisturbed and under a profiler, where both are known.
    pub witness: Option<WitnessBand>,
}

/// A step of an evaluation.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct StepRow {
    /// The kernel, `memset` or `memcpy`.
    pub name: CleanText,
    /// How it is launched, or what is filled or copied.
    pub about: CleanText,
    /// Values, aligned with [`RunReport::metrics`](super::RunReport::metrics); none for what is not known of single launches.
    pub values: Vec<Option<Measure>>,
}
