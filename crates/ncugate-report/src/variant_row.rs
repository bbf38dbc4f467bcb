//! A variant in the report: identity, build, proof, measurements and verdicts.

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
    /// Its name in the phase; none if the id consists of the parameters.
    pub name: Option<CleanText>,
    /// A label for charts: its parameter values (`64 · 128 · 32 · 16`) if it has them all, else its label.
    pub short: CleanText,
    pub standing: VariantRole,
    /// Whether it measures its own latency and checks its own results.
    pub self_reported: bool,
    /// Whether it times other work than was checked.
    pub cheats: bool,
    /// Why its objective is rejected, if that is a latency.
    pub doubt: Option<CleanText>,
    /// Whether it is the selected variant.
    pub selected: bool,
    /// Rank by the objective among correct candidates, from 1.
    pub rank: Option<usize>,
    /// Whether every required gate holds for it.
    pub verdict: Verdict,
    /// Whether it is inconclusive only because it was not selected, and so not re-timed alongside the variant that it is
    /// compared with.
    pub uncompared: bool,
    /// Parameter values, aligned with [`RunReport::params`](super::RunReport::params).
    pub params: Vec<Option<CleanText>>,
    /// Whether its results are correct.
    pub correctness: CorrectnessRow,
    /// Gates that it does not hold, worst first, with the missing amount.
    pub stopped_by: Vec<CleanText>,
    /// The variant whose measurements it shares.
    pub shares: Option<CleanText>,
    pub build: BuildRow,
    /// The launches of ncu reports that it consists of, with their kernels.
    pub captured: Option<CleanText>,
    /// Values by shape, aligned with [`RunReport::shapes`](super::RunReport::shapes).
    pub shapes: Vec<ShapeValues>,
    /// Messages of ncu's rules and sampler, by shape; empty if the report holds only gate metrics.
    pub advice: Vec<NcuAdvice>,
    /// Verdict by gate, aligned with [`RunReport::gates`](super::RunReport::gates); none if the gate was not judged for
    /// it.
    pub gates: Vec<Option<GateCell>>,
}

impl VariantRow {
    /// The result of a gate, by index; none if it was not judged, or not compared with the gate's reference.
    pub fn compared(&self, gate: usize) -> Option<&GateCell> {
        self.gates.get(gate)?.as_ref().filter(|cell| !cell.uncompared)
    }

    /// Its id, with a mark if its latency is self-reported.
    pub fn marked(&self) -> String {
        if self.self_reported { format!("{} ({SELF_REPORTED})", self.id) } else { self.id.to_string() }
    }
}

/// The mark of a variant with a self-reported latency.
pub const SELF_REPORTED: &str = "self-reported";

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct GateCell {
    pub verdict: Verdict,
    /// Measured against limit, or what is missing.
    pub text: CleanText,
    /// Whether it is open only because the variant was not selected, and so not re-timed alongside the variant that it is
    /// compared with.
    pub uncompared: bool,
}

/// The state of a variant or of one of its gates, in a word: its verdict, or that it was not compared.
pub const fn state(verdict: Verdict, uncompared: bool) -> &'static str {
    if uncompared { "not compared" } else { verdict.word() }
}

/// Whether a variant's results are correct.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CorrectnessRow {
    /// Proven correct, wrong, or neither.
    pub verdict: Verdict,
    pub text: CleanText,
    pub cases: Vec<CheckRow>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CheckRow {
    pub shape: CleanText,
    pub seed: u64,
    /// Correct, wrong, or not run.
    pub verdict: Verdict,
    /// Largest absolute difference.
    pub max_abs: Option<Number>,
    /// Relative L2 norm of the difference.
    pub rel_l2: Option<Number>,
    /// Why it is not correct.
    pub reason: Option<CleanText>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct BuildRow {
    /// Whether it has something to launch.
    pub verdict: Verdict,
    /// `built for sm_90`, `external command`, its launches of a report, or why it has nothing to launch.
    pub text: CleanText,
    /// Output of the compiler.
    pub log: String,
    /// nvcc flags and defines, or the command line.
    pub command: CleanText,
    /// SHA-256 of the entry's machine code.
    pub code_sha256: Option<CleanText>,
    /// Registers, spills and similar resources.
    pub resources: Vec<(CleanText, Number)>,
}

/// Measurements at one shape.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ShapeValues {
    /// Grid, block and dynamic shared memory of the launch, or of each of several steps.
    pub launch: CleanText,
    /// Its steps, if there are several.
    pub steps: Vec<StepRow>,
    /// Values, aligned with [`RunReport::metrics`](super::RunReport::metrics).
    pub values: Vec<Measure>,
    /// Latency samples in microseconds, in the order they were taken.
    pub samples: Vec<f64>,
    /// Audit of the launches behind the samples; none if their outputs were not verified.
    pub audit: Option<AuditRow>,
    /// Its durations without and with a profiler, if both are known.
    pub witness: Option<WitnessBand>,
}

/// A step of an evaluation.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct StepRow {
    /// The kernel, `memset` or `memcpy`.
    pub name: CleanText,
    /// Its launch, or what it fills or copies.
    pub about: CleanText,
    /// Values, aligned with [`RunReport::metrics`](super::RunReport::metrics); none if the metric is not known for single
    /// launches.
    pub values: Vec<Option<Measure>>,
}
