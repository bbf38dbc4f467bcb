//! A variant in the report: identity, build, proof, measurements and verdicts.

use super::model::Measure;
use super::number::Number;
use super::timed_clocks::ClockRow;
use super::trust::AuditRow;
use ncu_explain::NcuAdvice;
use ncugate_judge::witness::WorkDurations;
use ncugate_model::{CleanText, Verdict};
use ncugate_phase::plan::VariantRole;
use schemars::JsonSchema;
use serde::Serialize;

/// A variant. Serialised, it has what `results.json` says of it without the names of parameters, shapes and metrics.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct VariantRow {
    /// Its id.
    pub id: CleanText,
    /// Its id, short enough for a table.
    #[serde(skip)]
    pub label: CleanText,
    /// Its name in the phase; none if the id consists of the parameters.
    #[serde(skip)]
    pub name: Option<CleanText>,
    /// A label for charts: its parameter values (`64 · 128 · 32 · 16`) if it has them all, else its label.
    #[serde(skip)]
    pub short: CleanText,
    /// Candidate or baseline.
    pub standing: VariantRole,
    /// Whether it measures its own latency and checks its own results; its latency cannot make a gate pass.
    pub self_reported: bool,
    /// Whether it times other work than was checked.
    pub cheats: bool,
    /// Why its objective is rejected, if that is a latency: then it ranks after all variants with an accepted one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub doubt: Option<CleanText>,
    /// Whether it is the selected variant.
    #[serde(skip)]
    pub selected: bool,
    /// Rank by the objective among correct candidates, from 1.
    pub rank: Option<usize>,
    /// Whether every required gate holds for it.
    pub verdict: Verdict,
    /// Whether it is inconclusive only because it was not selected, and so not re-timed alongside the variant that it is
    /// compared with.
    #[serde(skip)]
    pub uncompared: bool,
    /// Parameter values, aligned with [`RunReport::params`](super::RunReport::params).
    #[serde(skip)]
    pub params: Vec<Option<CleanText>>,
    /// Whether its results are correct.
    #[serde(flatten)]
    pub correctness: CorrectnessRow,
    /// Gates that it does not hold, worst first, with the missing amount.
    pub stopped_by: Vec<CleanText>,
    /// The variant whose measurements it shares.
    pub shares: Option<CleanText>,
    #[serde(flatten)]
    pub build: BuildRow,
    /// The launches of ncu reports that it consists of, with their kernels.
    #[serde(skip)]
    pub captured: Option<CleanText>,
    /// Values by shape, aligned with [`RunReport::shapes`](super::RunReport::shapes).
    #[serde(skip)]
    pub shapes: Vec<ShapeValues>,
    /// Messages of ncu's rules and sampler, by shape; empty if the report holds only gate metrics.
    #[serde(skip)]
    pub advice: Vec<NcuAdvice>,
    /// Verdict by gate, aligned with [`RunReport::gates`](super::RunReport::gates); none if the gate was not judged for
    /// it.
    #[serde(skip)]
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

#[derive(Debug, Clone, PartialEq)]
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
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct CorrectnessRow {
    /// Whether its results are proven correct, wrong, or neither.
    #[serde(rename = "correct")]
    pub verdict: Verdict,
    /// The same in words.
    #[serde(rename = "correctness")]
    pub text: CleanText,
    #[serde(skip)]
    pub cases: Vec<CheckRow>,
}

#[derive(Debug, Clone, PartialEq)]
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

#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct BuildRow {
    /// Whether it has something to launch.
    #[serde(skip)]
    pub verdict: Verdict,
    /// `built for sm_90`, `external command`, its launches of a report, or why it has nothing to launch.
    #[serde(rename = "build")]
    pub text: CleanText,
    /// Output of the compiler.
    #[serde(skip)]
    pub log: String,
    /// nvcc flags and defines, or the command line.
    #[serde(skip)]
    pub command: CleanText,
    /// SHA-256 of its machine code; null if there is none.
    pub code_sha256: Option<CleanText>,
    /// Registers, spills and similar resources.
    #[serde(skip)]
    pub resources: Vec<(CleanText, Number)>,
}

/// Measurements at one shape.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct ShapeValues {
    /// Grid, block and dynamic shared memory of the launch, or of each of several steps.
    #[serde(skip)]
    pub launch: CleanText,
    /// Its steps, if there are several.
    #[serde(skip)]
    pub steps: Vec<StepRow>,
    /// Values, aligned with [`RunReport::metrics`](super::RunReport::metrics).
    #[serde(skip)]
    pub values: Vec<Measure>,
    /// Latency samples in microseconds, in the order they were taken.
    pub samples: Vec<f64>,
    /// Audit of the launches behind the samples; absent if their outputs were not verified.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub audit: Option<AuditRow>,
    /// Clocks of the GPU while it was timed; absent if they were not read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub clocks: Option<ClockRow>,
    /// Durations without and with a profiler, and how far apart they may be; absent if one of them is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub witness: Option<WorkDurations>,
}

/// A step of an evaluation.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct StepRow {
    /// The kernel, `memset` or `memcpy`.
    pub name: CleanText,
    /// Its launch, or what it fills or copies.
    pub about: CleanText,
    /// Values, aligned with [`RunReport::metrics`](super::RunReport::metrics); none if the metric is not known for single
    /// launches.
    #[serde(skip)]
    pub values: Vec<Option<Measure>>,
}
