//! Columns of the report as maps by name: variants at shapes, deep profiles, deltas.

use crate::deep_profile::{DeepProfileRow, ProfiledVariant};
use crate::deltas::Delta;
use crate::metric_change::MetricChange;
use crate::model::Measure;
use crate::ncu_advice::{HotRow, NcuAdvice, RuleRow};
use crate::run_report::RunReport;
use crate::trust::AuditRow;
use crate::variant_row::{ShapeValues, StepRow, VariantRow};
use indexmap::IndexMap;
use ncugate_judge::witness::durations::WitnessBand;
use ncugate_model::{CleanText, Verdict};
use ncugate_phase::plan::VariantRole;
use schemars::JsonSchema;
use serde::Serialize;

/// A variant.
#[derive(Debug, Serialize, JsonSchema)]
pub struct VariantValues<'a> {
    /// Its id.
    pub id: &'a str,
    /// Candidate or baseline.
    pub standing: VariantRole,
    /// Whether it is a program that takes its own time and checks its own results; its latency cannot make a gate pass.
    pub self_reported: bool,
    /// Whether what was timed is not what was checked.
    pub cheats: bool,
    /// What keeps its objective from counting, where that is a latency: then it is selected only where no other's counts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub doubt: Option<&'a str>,
    /// Its parameters.
    #[schemars(with = "std::collections::BTreeMap<String, String>")]
    pub params: IndexMap<&'a str, &'a str>,
    /// Rank by the objective among correct candidates, from 1.
    pub rank: Option<usize>,
    /// Whether every required gate holds for it.
    pub verdict: Verdict,
    /// Gates that do not hold for it, worst first.
    pub stopped_by: &'a [CleanText],
    /// The variant whose measurements it shares.
    pub shares: Option<&'a str>,
    /// Whether it computes the right thing.
    pub correct: Verdict,
    /// In words.
    pub correctness: &'a str,
    /// How it was built, in words.
    pub build: &'a str,
    /// SHA-256 of its machine code; null where there is none.
    pub code_sha256: Option<&'a str>,
    /// Values by shape.
    #[schemars(with = "std::collections::BTreeMap<String, MeasuredValues<'static>>")]
    pub shapes: IndexMap<&'a str, MeasuredValues<'a>>,
}

/// What was measured at a shape.
#[derive(Debug, Serialize, JsonSchema)]
pub struct MeasuredValues<'a> {
    /// Values by metric.
    #[serde(flatten)]
    pub metrics: MetricValues<'a>,
    /// Latency samples in microseconds, in the order they were taken.
    pub samples: &'a [f64],
    /// The steps of an evaluation that is several, in their order; absent where it is one launch.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(default)]
    pub steps: Vec<StepValues<'a>>,
    /// What was verified of the launches behind the samples; absent where their outputs were not looked at.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub audit: Option<&'a AuditRow>,
    /// Durations undisturbed and under a profiler, and how far apart they may be; absent where one of them is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub witness: Option<WitnessBand>,
    /// What ncu's own rules say, the largest estimated speedup first; absent where the report holds none.
    #[serde(skip_serializing_if = "is_empty")]
    #[schemars(default)]
    pub rules: &'a [RuleRow],
    /// Instructions with the most samples; absent where the report holds none.
    #[serde(skip_serializing_if = "is_empty")]
    #[schemars(default)]
    pub hot: &'a [HotRow],
}

/// A step of an evaluation.
#[derive(Debug, Serialize, JsonSchema)]
pub struct StepValues<'a> {
    /// The kernel, `memset` or `memcpy`.
    pub name: &'a str,
    /// How it is launched, or what is filled or copied.
    pub about: &'a str,
    /// Values by metric, as far as single launches have them.
    #[serde(flatten)]
    pub metrics: MetricValues<'a>,
}

/// Values by metric.
#[derive(Debug, Serialize, JsonSchema)]
pub struct MetricValues<'a> {
    /// Value by metric; null where there is none.
    #[schemars(with = "std::collections::BTreeMap<String, Option<f64>>")]
    pub values: IndexMap<&'a str, Option<f64>>,
    /// Why there is no value, by metric.
    #[schemars(with = "std::collections::BTreeMap<String, String>")]
    pub missing: IndexMap<&'a str, &'a str>,
}

/// What a variant's deep profile counted: for reading, never judged.
#[derive(Debug, Serialize, JsonSchema)]
pub struct DeepProfileValues<'a> {
    /// The variant.
    pub variant: &'a str,
    /// The shape.
    pub shape: &'a str,
    /// Replay passes, where they are known.
    pub passes: Option<u32>,
    /// Wall seconds of the ncu process.
    pub seconds: f64,
    /// Values by metric.
    #[serde(flatten)]
    pub metrics: MetricValues<'a>,
}

/// The selected variant beside a baseline or a stored run.
#[derive(Debug, Serialize, JsonSchema)]
pub struct DeltaValues<'a> {
    /// Id of a baseline, or what a stored run is to this one (`previous run`).
    pub against: &'a str,
    /// Whether that is a program with a self-reported latency.
    pub self_reported: bool,
    /// Where a stored run comes from; null for a baseline of the phase.
    pub about: Option<&'a str>,
    /// Shape.
    pub shape: &'a str,
    /// Values by metric.
    #[schemars(with = "std::collections::BTreeMap<String, MetricChange>")]
    pub metrics: IndexMap<&'a str, &'a MetricChange>,
}

fn is_empty<T>(rows: &&[T]) -> bool {
    rows.is_empty()
}

impl<'a> MetricValues<'a> {
    fn new(measures: impl Iterator<Item = (&'a str, Option<&'a Measure>)>) -> Self {
        let (mut values, mut missing) = (IndexMap::new(), IndexMap::new());
        for (metric, measure) in measures {
            values.insert(metric, measure.and_then(Measure::number).map(|n| n.value));
            if let Some(Measure::Missing(reason)) = measure {
                missing.insert(metric, reason.as_str());
            }
        }
        Self { values, missing }
    }
}

pub(super) fn variant<'a>(report: &'a RunReport, row: &'a VariantRow) -> VariantValues<'a> {
    let params = report.params.iter().zip(&row.params).filter_map(|(name, v)| Some((name.as_str(), v.as_deref()?)));
    let shapes = report.shapes.iter().zip(&row.shapes).map(|(shape, measured)| {
        let advice = row.advice.iter().find(|advice| &advice.shape == shape);
        (shape.as_str(), at_shape(report, measured, advice))
    });
    VariantValues {
        id: &row.id,
        standing: row.standing,
        self_reported: row.self_reported,
        cheats: row.cheats,
        doubt: row.doubt.as_deref(),
        params: params.collect(),
        rank: row.rank,
        verdict: row.verdict,
        stopped_by: &row.stopped_by,
        shares: row.shares.as_deref(),
        correct: row.correctness.verdict,
        correctness: &row.correctness.text,
        build: &row.build.text,
        code_sha256: row.build.code_sha256.as_deref(),
        shapes: shapes.collect(),
    }
}

fn step<'a>(report: &'a RunReport, row: &'a StepRow) -> StepValues<'a> {
    let known = report.metrics.iter().zip(&row.values).filter(|(_, value)| value.is_some());
    let measures = known.map(|(metric, value)| (metric.name.as_str(), value.as_ref()));
    StepValues { name: &row.name, about: &row.about, metrics: MetricValues::new(measures) }
}

fn at_shape<'a>(report: &'a RunReport, shape: &'a ShapeValues, advice: Option<&'a NcuAdvice>) -> MeasuredValues<'a> {
    let measures = report.metrics.iter().zip(&shape.values).map(|(m, value)| (m.name.as_str(), Some(value)));
    MeasuredValues {
        metrics: MetricValues::new(measures),
        samples: &shape.samples,
        steps: shape.steps.iter().map(|row| step(report, row)).collect(),
        audit: shape.audit.as_ref(),
        witness: shape.witness,
        rules: advice.map_or(&[], |advice| &advice.rules),
        hot: advice.map_or(&[], |advice| &advice.hot),
    }
}

pub(super) fn deep_profiles(row: &DeepProfileRow) -> Vec<DeepProfileValues<'_>> {
    row.variants.iter().enumerate().map(|(at, variant)| deep_profile(row, at, variant)).collect()
}

fn deep_profile<'a>(row: &'a DeepProfileRow, at: usize, variant: &'a ProfiledVariant) -> DeepProfileValues<'a> {
    DeepProfileValues {
        variant: &variant.id,
        shape: &row.shape,
        passes: variant.passes,
        seconds: variant.seconds,
        metrics: MetricValues::new(row.metrics.iter().map(|m| (m.name.as_str(), m.values.get(at)))),
    }
}

pub(super) fn delta(delta: &Delta) -> DeltaValues<'_> {
    DeltaValues {
        against: &delta.against,
        self_reported: delta.self_reported,
        about: delta.about.as_deref(),
        shape: &delta.shape,
        metrics: delta.rows.iter().map(|row| (row.metric.as_str(), row)).collect(),
    }
}
