//! Columns of the report as maps by name: variants at shapes, deep profiles, deltas.

use crate::deep_profile::{DeepProfileRow, ProfiledVariant};
use crate::model::Measure;
use crate::run_report::RunReport;
use crate::variant_row::{ShapeValues, StepRow, VariantRow};
use indexmap::IndexMap;
use ncu_explain::{HotRow, NcuAdvice, RuleRow};
use schemars::JsonSchema;
use serde::Serialize;

/// A variant with its parameters and shapes by name.
#[derive(Debug, Serialize, JsonSchema)]
pub struct VariantValues<'a> {
    #[serde(flatten)]
    pub row: &'a VariantRow,
    /// Its parameters.
    #[schemars(with = "std::collections::BTreeMap<String, String>")]
    pub params: IndexMap<&'a str, &'a str>,
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
    #[serde(flatten)]
    pub measured: &'a ShapeValues,
    /// The steps of an evaluation that is several, in their order; absent where it is one launch.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(default)]
    pub steps: Vec<StepValues<'a>>,
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
    #[serde(flatten)]
    pub step: &'a StepRow,
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
    VariantValues { row, params: params.collect(), shapes: shapes.collect() }
}

fn step<'a>(report: &'a RunReport, row: &'a StepRow) -> StepValues<'a> {
    let known = report.metrics.iter().zip(&row.values).filter(|(_, value)| value.is_some());
    let measures = known.map(|(metric, value)| (metric.name.as_str(), value.as_ref()));
    StepValues { step: row, metrics: MetricValues::new(measures) }
}

fn at_shape<'a>(report: &'a RunReport, shape: &'a ShapeValues, advice: Option<&'a NcuAdvice>) -> MeasuredValues<'a> {
    let measures = report.metrics.iter().zip(&shape.values).map(|(m, value)| (m.name.as_str(), Some(value)));
    MeasuredValues {
        metrics: MetricValues::new(measures),
        measured: shape,
        steps: shape.steps.iter().map(|row| step(report, row)).collect(),
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
