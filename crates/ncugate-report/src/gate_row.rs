//! Gates, tiers, stages, fallback, preconditions and waivers as readers and programs are given them.

use super::number::Number;
use ncugate_judge::SampleOrigin;
use ncugate_model::expr::Comparison;
use ncugate_model::{Level, Scope, Verdict};
use schemars::JsonSchema;
use serde::{Serialize, Serializer};

/// A judged gate.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct GateRow {
    /// Its name.
    pub name: String,
    /// The requirement as written.
    pub require: String,
    /// How it compares both sides; none where it is a condition.
    #[serde(skip)]
    pub comparison: Option<Comparison>,
    /// Which variants.
    pub on: Scope,
    /// Required or advisory.
    pub level: Level,
    /// Line in the phase's file.
    pub line: usize,
    /// The metric on its left side, when it is one.
    pub metric: Option<String>,
    /// Unit of measured, limit, margin and interval.
    pub unit: String,
    /// The verdict.
    pub verdict: Verdict,
    /// Why, as a sentence that stands alone.
    pub reason: String,
    /// Why, beside the numbers of the same gate: `short by 1.311`.
    pub why: String,
    /// The reasons of inconclusive cases beside the one that decided; `reason` ends with them.
    #[serde(skip)]
    pub undecided: Option<String>,
    /// Whom it judges and how many cases hold, where it does not judge the selected variant alone.
    pub scope_note: Option<String>,
    /// Measured value of the case that decided.
    pub measured: Option<Number>,
    /// Its limit.
    pub limit: Option<Number>,
    /// Shape and limit of every case of the variant that decided.
    pub limits: Vec<(String, Number)>,
    /// Distance inside the limit; negative outside.
    pub margin: Option<Number>,
    /// Margin over limit, held to -1 to 1.
    pub margin_share: Option<f64>,
    /// Interval of the difference between measured and limit, added to the limit: the gate is decided where the limit is
    /// outside. It is not an interval of the measured value, whose noise may be common to both sides.
    pub interval: Option<(Number, Number)>,
    /// Samples behind the measured value.
    pub samples: usize,
    /// Which samples of the run they are: of the sweep, which variants are selected by, or of the confirmation, taken anew
    /// after that; null where nothing follows from samples of the run.
    pub judged_by: Option<SampleOrigin>,
    /// Variant and shape that decided.
    #[serde(flatten, serialize_with = "decider")]
    #[schemars(with = "DeciderKeys<'static>")]
    pub decided_by: Option<Decider>,
    /// Cases by verdict.
    #[serde(flatten)]
    pub counts: Counts,
    /// The waiver in force; programs are given its reason, `waivers` has the rest.
    #[serde(serialize_with = "waiver_reason")]
    #[schemars(with = "Option<String>")]
    pub waived: Option<WaiverRow>,
}

/// The case that decided a gate.
#[derive(Debug, Clone, PartialEq)]
pub struct Decider {
    pub variant: String,
    pub shape: String,
}

/// [`Decider`] as keys of the gate, null where no case decided.
#[derive(Serialize, JsonSchema)]
struct DeciderKeys<'a> {
    /// Variant that decided.
    variant: Option<&'a str>,
    /// Shape that decided.
    shape: Option<&'a str>,
}

fn decider<S: Serializer>(decider: &Option<Decider>, serializer: S) -> Result<S::Ok, S::Error> {
    let decider = decider.as_ref();
    DeciderKeys { variant: decider.map(|d| d.variant.as_str()), shape: decider.map(|d| d.shape.as_str()) }
        .serialize(serializer)
}

fn waiver_reason<S: Serializer>(waiver: &Option<WaiverRow>, serializer: S) -> Result<S::Ok, S::Error> {
    waiver.as_ref().map(|w| &w.reason).serialize(serializer)
}

/// Cases by verdict.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, JsonSchema)]
pub struct Counts {
    /// Cases that pass.
    #[serde(rename = "passing")]
    pub pass: usize,
    /// Cases that fail.
    #[serde(rename = "failing")]
    pub fail: usize,
    /// Cases that are inconclusive.
    pub inconclusive: usize,
}

impl Counts {
    pub fn of(verdicts: impl IntoIterator<Item = Verdict>) -> Self {
        let mut counts = Self::default();
        for verdict in verdicts {
            *match verdict {
                Verdict::Pass => &mut counts.pass,
                Verdict::Fail => &mut counts.fail,
                Verdict::Inconclusive => &mut counts.inconclusive,
            } += 1;
        }
        counts
    }
}

impl GateRow {
    /// What the gate counts as: a waived failure passes.
    pub fn effective(&self) -> Verdict {
        if self.waived.is_some() { Verdict::Pass } else { self.verdict }
    }

    /// Its name, and whether it only advises.
    pub fn title(&self) -> String {
        match self.level {
            Level::Required => self.name.clone(),
            Level::Advisory => format!("{} (advisory)", self.name),
        }
    }
}

/// A judged tier.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct TierRow {
    /// Its name.
    pub name: String,
    /// Whether the phase must reach it.
    pub required: bool,
    /// The verdict.
    pub verdict: Verdict,
    /// Its gates.
    pub gates: Vec<GateRow>,
}

/// A judged stage of a staged plan.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct StageRow {
    /// Its name.
    pub name: String,
    /// The variant that stands for it.
    pub variant: Option<String>,
    /// Whether it was kept.
    pub accepted: bool,
    /// The verdict of its exit gates.
    pub verdict: Verdict,
    /// Why it was kept or not.
    pub reason: String,
    /// Expected speedup over the last accepted stage, from and to.
    pub expected: Option<(Number, Number)>,
    /// Measured speedup over the last accepted stage.
    pub measured: Option<Number>,
    /// Measured speedup over the first.
    pub cumulative: Option<Number>,
    /// The best three correct variants of the stage, best first.
    pub elite: Vec<String>,
    /// Its gates.
    pub gates: Vec<GateRow>,
}

/// The judged fallback.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct FallbackRow {
    /// The variant taken.
    pub variant: Option<String>,
    /// The verdict of its own gates.
    pub verdict: Verdict,
    /// Why.
    pub reason: String,
    /// Its gates.
    pub gates: Vec<GateRow>,
}

/// A judged go/no-go condition.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct PreconditionRow {
    /// Its name.
    pub name: String,
    /// As written.
    pub condition: String,
    /// The verdict.
    pub verdict: Verdict,
    /// Why.
    pub reason: String,
}

/// A waiver.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct WaiverRow {
    /// The gate it lets pass.
    pub gate: String,
    /// For which variants.
    pub variant: String,
    /// Why.
    pub reason: String,
    /// Who answers for it.
    pub owner: String,
    /// Last day it holds.
    pub expires: String,
    /// Whether it has expired.
    pub expired: bool,
}
