//! Findings of a diagnosis.

use ncugate_model::number::short;
use ncugate_model::rule::{Confidence, RuleKind};
use ncugate_model::{AblationRecord, CleanText, Gain, ShapeName, VariantId};
use schemars::JsonSchema;
use serde::Serialize;

/// Severity of a finding: its possible saving.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// Less than [`WORTH_TRYING`] percent: folded.
    Note,
    /// Worth trying.
    Advice,
    /// From [`SEVERE`] percent on.
    Warning,
}

/// Expected savings from which a finding is worth trying, in percent of the time.
pub const WORTH_TRYING: f64 = 8.0;
/// Expected savings from which a finding is severe, in percent of the time.
pub const SEVERE: f64 = 25.0;

/// Source of an estimate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum EstimateSource {
    /// The arithmetic of the rule, over counters.
    Model,
    /// Two variants of the run: this one, and one without the defect.
    MeasuredPair,
    /// A copy of the machine code without the cause, timed against it.
    Ablation,
    /// The arithmetic of the rule, and at most what a copy gained that lacks more than the cause.
    AblationBound,
    /// A rule of Nsight Compute.
    NcuRule,
}

/// The possible saving from a fix.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SavingEstimate {
    /// Upper bound in percent of the time of an evaluation; estimates of several findings do not add up.
    pub percent: f64,
    /// The estimate of the rule, from which the bound is made.
    pub modelled: f64,
    pub source: EstimateSource,
    /// A variant without the defect. One that is not faster speaks against the finding.
    pub pair: Option<MeasuredPair>,
    /// What a copy of the machine code without the cause gained, or without more than it.
    pub ablation: Option<MeasuredGain>,
}

/// How much less time an evaluation takes without a cost.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct MeasuredGain {
    /// How the copy differs: `without its barriers`.
    pub edit: CleanText,
    /// Percent of the time; negative if it takes more.
    pub percent: f64,
    /// The 95 % limits of the median over rounds.
    pub interval: [f64; 2],
    /// Instructions that were changed; 0 for a change of the launch.
    pub changed: u32,
    /// Instructions of the kind that were left as they are.
    pub left: u32,
}

impl MeasuredGain {
    pub fn of(record: &AblationRecord, gain: Gain) -> Self {
        Self {
            edit: record.edit.to_string().into(),
            percent: gain.percent,
            interval: [gain.low, gain.high],
            changed: record.changed,
            left: record.left,
        }
    }

    /// `measured: without its barriers, 18 % less time (17 to 19 %)`.
    pub fn words(&self) -> String {
        let number = |value: f64| short(value.max(0.0));
        let [low, high] = self.interval;
        format!("measured: {}, {} % less time ({} to {} %)", self.edit, number(self.percent), number(low), number(high))
    }
}

/// A variant of the same run without the defect.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct MeasuredPair {
    /// The other variant.
    pub variant: VariantId,
    /// How much less time it takes, in percent; negative if it takes more.
    pub percent: f64,
    /// The one parameter in which the two differ, or `the flags`.
    pub differs_in: CleanText,
}

/// A number that a finding is based on.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct EvidenceValue {
    /// Metric or fact.
    pub name: CleanText,
    /// Its value.
    pub value: f64,
    /// The value with its unit.
    pub text: CleanText,
}

/// A source line that belongs to a finding.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct FindingLine {
    /// `file:line`.
    pub place: CleanText,
    /// Its text, if known.
    pub source: Option<CleanText>,
    /// Percent of the launch's samples.
    pub share: f64,
    /// The most frequent stall reason of its warps.
    pub stall: CleanText,
    /// The result that they wait for, if the machine code tells it.
    pub awaited: Option<AwaitedResult>,
}

/// A result that warps wait for at a line.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct AwaitedResult {
    /// The instruction that waits.
    pub waiting: CleanText,
    /// The earlier instruction whose result it waits for.
    pub instruction: CleanText,
    /// What that is: `load from shared memory`.
    pub kind: CleanText,
    /// Its `file:line`, if known.
    pub place: Option<CleanText>,
    /// The text of that line, if known.
    pub source: Option<CleanText>,
    /// In words: `HADD2.F32 waits for LDS, load from shared memory`, and where, if that is another line.
    pub words: CleanText,
}

/// The launches that a finding is about, if an evaluation has several: launches of one kernel.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct FindingLaunches {
    /// The kernel.
    pub kernel: CleanText,
    /// How many of its launches.
    pub count: usize,
    /// The launch with the numbers of the sentence: its number among the steps of the evaluation, from 1.
    pub number: usize,
    /// Percent of the time of all launches of the evaluation.
    pub percent: f64,
}

/// A conclusion from the numbers of a variant at a shape.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Finding {
    pub rule: String,
    pub variant: VariantId,
    pub shape: ShapeName,
    /// The launches that it is about; none if it is about the whole evaluation.
    pub launches: Option<FindingLaunches>,
    /// The defect, in a few words.
    pub cause: String,
    /// The kind of the rule.
    pub kind: RuleKind,
    /// One sentence with the numbers.
    pub sentence: String,
    /// How much it matters.
    pub severity: Severity,
    pub confidence: Confidence,
    /// The possible saving from a fix, if the rule has an estimate.
    pub saving: Option<SavingEstimate>,
    /// The underlying numbers.
    pub evidence: Vec<EvidenceValue>,
    /// The report with the launch that they come from, if any: `other-1.ncu-repz`.
    pub report: Option<String>,
    /// Its source lines, hottest first.
    pub lines: Vec<FindingLine>,
    /// Suggested experiments, in order.
    pub advice: Vec<String>,
    /// The finding of the same variant and shape that explains this one as a symptom.
    pub symptom_of: Option<String>,
}

impl Finding {
    /// The id by which other outputs cite it: `bank_conflicts:v@large`, or `bank_conflicts:v@large#2` for the second of
    /// several launches.
    pub fn id(&self) -> String {
        let launch = self.launches.as_ref().map_or_else(String::new, |launches| format!("#{}", launches.number));
        format!("{}:{}@{}{launch}", self.rule, self.variant, self.shape)
    }

    /// Expected saving in percent of the time: the estimate of the rule, and no more than what a variant without the cause
    /// gains, if one was measured.
    pub fn expected(&self) -> f64 {
        let Some(saving) = &self.saving else { return 0.0 };
        let measured = saving.pair.as_ref().map_or(f64::INFINITY, |pair| pair.percent.max(WORTH_TRYING));
        saving.modelled.min(measured)
    }

    /// Whether it is a cause that is worth fixing, not a symptom of another finding.
    pub fn is_cause(&self) -> bool {
        matches!(self.kind, RuleKind::Defect | RuleKind::Redesign) && self.is_leading()
    }

    /// Whether a page shows it without unfolding.
    pub fn is_leading(&self) -> bool {
        self.symptom_of.is_none() && self.severity > Severity::Note
    }
}
