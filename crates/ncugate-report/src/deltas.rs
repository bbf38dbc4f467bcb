//! Compares the selected variant with baselines of the phase and with stored runs.

use super::in_use::{self, InUse, ShapeUse};
use super::inputs::ReportInputs;
use super::trust::is_self_reported;
use super::variant_row::SELF_REPORTED;
use super::{number, selected_times};
use ncu_explain::{ChangeDirection, ChangeNoise, LatencyChange, MetricChange, MetricColumn, ranges};
use ncugate_judge::reference_runs::ComparisonRun;
use ncugate_judge::{GateResult, SampleOrigin, base_of, occupancy_limiters};
use ncugate_model::metric::{Catalogue, LatencyForm};
use ncugate_model::stats::{Pairing, Resampler, Statistic};
use ncugate_model::{Better, CleanText, Level, Quantities, ShapeName, VariantId, Verdict};
use ncugate_phase::plan::{Variant, is_of_base};
use schemars::JsonSchema;
use serde::{Serialize, Serializer};
use std::collections::BTreeMap;

/// The selected variant compared with another.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Delta {
    /// Id of a baseline, or the relation of a stored run to this one.
    pub against: CleanText,
    /// Whether the baseline measures its own latency and checks its own results.
    pub self_reported: bool,
    /// Origin of a stored run; none for a baseline of the phase.
    pub about: Option<CleanText>,
    /// Shape.
    pub shape: CleanText,
    /// Samples of both latencies; none for a stored run.
    #[serde(skip)]
    pub origin: Option<SampleOrigin>,
    /// Metrics that both have.
    #[serde(rename = "metrics", serialize_with = "by_metric")]
    #[schemars(with = "BTreeMap<String, MetricChange>")]
    pub rows: Vec<MetricChange>,
    /// The resources that limit the blocks per multiprocessor, of the selected variant and of the other; empty if unknown.
    #[serde(skip)]
    pub limited_by: [CleanText; 2],
}

/// The objective at a shape, compared with the base, else the first stored run, else the first baseline.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ShapeDelta {
    pub shape: CleanText,
    /// The variant in use here, else the selected one.
    pub variant: CleanText,
    /// The variant or run that it is compared with, if any.
    pub against: Option<CleanText>,
    /// Its value with the unit.
    pub value: CleanText,
    /// The change; none if the other was not measured here.
    pub change: Option<MetricChange>,
    /// Whether its machine code and launch changed.
    pub code: CodeChange,
    /// Required gates that judge its time here.
    pub gates: Vec<(CleanText, Verdict)>,
}

/// Whether machine code and launch equal those of the compared variant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum CodeChange {
    /// Both are equal: nothing changed, whatever the timing shows.
    None,
    /// They differ, or this is unknown.
    Unknown,
}

fn by_metric<S: Serializer>(rows: &[MetricChange], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_map(rows.iter().map(|row| (&row.metric, row)))
}

impl Delta {
    /// Name of the compared variant, with a mark if its latency is self-reported.
    pub fn marked(&self) -> String {
        if self.self_reported { format!("{} ({SELF_REPORTED})", self.against) } else { self.against.to_string() }
    }
}

/// The variant or run that the selected variant is compared with.
struct Reference<'a> {
    variant: &'a VariantId,
    quantities: &'a Quantities,
    /// Whether its samples come from the same rounds as the selected variant's.
    pairing: Pairing,
}

impl<'a> Reference<'a> {
    /// The variant of a stored run.
    fn stored(earlier: &'a ComparisonRun<'_>) -> Self {
        Self { variant: earlier.variant, quantities: earlier.quantities, pairing: Pairing::Independent }
    }
}

/// The selected variant compared with each baseline, then with each stored run, at the objective's shape.
pub fn deltas(inputs: &ReportInputs<'_>, metrics: &[MetricColumn]) -> Vec<Delta> {
    let base = base_of(inputs.phase, inputs.judgement);
    let shown = |baseline: &&Variant| !is_of_base(inputs.phase, &baseline.id) || base.as_ref() == Some(&baseline.id);
    let baselines = inputs.plan.baselines().filter(shown).map(|baseline| {
        let reference = Reference { variant: &baseline.id, quantities: inputs.quantities, pairing: Pairing::Rounds };
        let about = inputs.phase.base.as_ref().filter(|_| is_of_base(inputs.phase, &baseline.id));
        (baseline.id.0.clone(), is_self_reported(baseline), about.map(|base| base.label().into()), reference)
    });
    let stored = inputs
        .earlier
        .iter()
        .map(|earlier| (earlier.what.into(), false, Some((&earlier.label).into()), Reference::stored(earlier)));
    baselines
        .chain(stored)
        .map(|(against, self_reported, about, reference)| Delta {
            against,
            self_reported,
            about,
            shape: inputs.phase.objective.shape.0.clone(),
            origin: origin(inputs, &reference),
            rows: rows(inputs, metrics, &reference),
            limited_by: limited_by(inputs, &reference),
        })
        .filter(|delta| !delta.rows.is_empty())
        .collect()
}

/// Samples that the selected variant and a baseline of the same run are compared by.
fn origin(inputs: &ReportInputs<'_>, reference: &Reference<'_>) -> Option<SampleOrigin> {
    let selected = &inputs.judgement.selected.as_ref()?.variant;
    let shape = &inputs.phase.objective.shape;
    let is_fresh = |id: &VariantId| selected_times::fresh(inputs.quantities, id, shape).is_some();
    (reference.pairing == Pairing::Rounds).then(|| match is_fresh(selected) && is_fresh(reference.variant) {
        true => SampleOrigin::Confirmation,
        false => SampleOrigin::Sweep,
    })
}

fn rows(inputs: &ReportInputs<'_>, metrics: &[MetricColumn], reference: &Reference<'_>) -> Vec<MetricChange> {
    let Some(selected) = &inputs.judgement.selected else { return Vec::new() };
    let at = (&selected.variant, &inputs.phase.objective.shape);
    // A selected variant and one that is timed are both correct.
    let metrics = metrics.iter().filter(|metric| metric.name != "correct");
    metrics.filter_map(|metric| row(inputs, metric, at, reference)).collect()
}

fn limited_by(inputs: &ReportInputs<'_>, reference: &Reference<'_>) -> [CleanText; 2] {
    let of = |variant, table| occupancy_limiters(variant, table, &inputs.phase.objective.shape).join(", ").into();
    let selected = inputs.judgement.selected.as_ref().map(|selected| of(&selected.variant, inputs.quantities));
    [selected.unwrap_or_default(), of(reference.variant, reference.quantities)]
}

/// A metric of a variant at a shape, compared with the first baseline, else with the first stored run; with the other's
/// name.
pub fn against_first(
    inputs: &ReportInputs<'_>,
    metric: &MetricColumn,
    at: (&VariantId, &ShapeName),
) -> Option<(CleanText, MetricChange)> {
    let baseline = inputs.plan.baselines().next().map(|baseline| {
        let reference = Reference { variant: &baseline.id, quantities: inputs.quantities, pairing: Pairing::Rounds };
        (baseline.id.0.clone(), reference)
    });
    let stored =
        || inputs.earlier.first().map(|earlier| (format!("the {}", earlier.what).into(), Reference::stored(earlier)));
    let (name, reference) = baseline.or_else(stored)?;
    Some((name, row(inputs, metric, at, &reference)?))
}

/// `2.01× faster than sdpa_default`, `1.02× slower than the best run, within noise`; metrics other than times by their
/// change.
pub fn compared_words(metric: &MetricColumn, change: &MetricChange, other: &str) -> String {
    let noise = if change.judged == ChangeDirection::WithinNoise { ", within noise" } else { "" };
    let is_time = metric.name.starts_with("latency") || metric.name == "duration";
    if metric.better != Better::Lower || !is_time {
        return format!("{} against {other}{noise}", change.change);
    }
    let ratio = change.before.value / change.after.value;
    let factor = number::short(ratio.max(1.0 / ratio));
    match (factor.as_str(), ratio > 1.0) {
        ("1", _) => format!("as fast as {other}{noise}"),
        (factor, true) => format!("{factor}× faster than {other}{noise}"),
        (factor, false) => format!("{factor}× slower than {other}{noise}"),
    }
}

/// A metric of a variant at a shape, compared with a reference.
fn row(
    inputs: &ReportInputs<'_>,
    metric: &MetricColumn,
    (variant, shape): (&VariantId, &ShapeName),
    reference: &Reference<'_>,
) -> Option<MetricChange> {
    let (ours, theirs) = match reference.pairing {
        Pairing::Rounds => selected_times::pair(inputs.quantities, (variant, reference.variant), shape, &metric.name)?,
        // Stored runs keep the samples of their confirmation.
        Pairing::Independent => (
            selected_times::value(inputs.quantities, variant, shape, &metric.name)?,
            reference.quantities.read(reference.variant, shape, &metric.name).value()?,
        ),
    };
    let of_median =
        Catalogue::embedded().latency(&metric.name).filter(|latency| latency.statistic == Statistic::MEDIAN);
    let noise = match of_median.map(|latency| latency.form) {
        Some(LatencyForm::Time) => noise(inputs, variant, shape, reference),
        Some(LatencyForm::Throughput) => match noise(inputs, variant, shape, reference) {
            ChangeNoise::Interval(interval) if interval.holds_one() => ChangeNoise::Overlap,
            ChangeNoise::Interval(_) => ChangeNoise::Apart,
            other => other,
        },
        None => {
            let repeats = |of: &Quantities, id: &VariantId, value: f64| {
                let known = of.row(id, shape).and_then(|row| of.column(&metric.name)?.repeats(row));
                known.map_or_else(|| vec![value], |values| values.to_vec())
            };
            let theirs = repeats(reference.quantities, reference.variant, theirs);
            ranges(&metric.name, &theirs, &repeats(inputs.quantities, variant, ours))
        }
    };
    Some(MetricChange::new(metric, theirs, ours, noise))
}

/// The objective at every shape, for the variant in use, else for the selected one.
pub fn by_shape(inputs: &ReportInputs<'_>, metrics: &[MetricColumn], used: &InUse) -> Vec<ShapeDelta> {
    let Some(metric) = metrics.iter().find(|metric| metric.name == used.metric) else { return Vec::new() };
    let base = base_of(inputs.phase, inputs.judgement);
    let of_base = base.as_ref().zip(inputs.phase.base.as_ref()).map(|(variant, base)| {
        let reference = Reference { variant, quantities: inputs.quantities, pairing: Pairing::Rounds };
        (CleanText::from(base.label()), reference)
    });
    let earlier = || inputs.earlier.first().map(|earlier| (earlier.what.into(), Reference::stored(earlier)));
    // A requested base that could not be measured is not replaced by another reference.
    let is_asked = inputs.phase.base.is_some();
    let reference = of_base.or_else(|| earlier().filter(|_| !is_asked)).or_else(|| {
        if is_asked {
            return None;
        }
        let baseline = inputs.plan.baselines().next()?;
        let reference = Reference { variant: &baseline.id, quantities: inputs.quantities, pairing: Pairing::Rounds };
        Some((baseline.id.0.clone(), reference))
    });
    let of = |shape: &ShapeUse| {
        let named = |id: &VariantId| shape.shown() == Some(&id.0);
        let used = inputs.plan.variants.iter().map(|variant| &variant.id).find(|id| named(id));
        let variant = used.or(in_use::banner_variant(inputs.judgement))?;
        let name = inputs.phase.workload.shapes.iter().map(|s| &s.name).find(|name| name.0 == shape.shape)?;
        let value = selected_times::value(inputs.quantities, variant, name, &metric.name)?;
        let change = reference.as_ref().and_then(|(_, reference)| row(inputs, metric, (variant, name), reference));
        let code = |id: &VariantId, of: &Quantities| of.sampling_at(of.row(id, name)?)?.code.clone();
        let same_code = base.as_ref().zip(code(variant, inputs.quantities));
        let same_code = same_code.is_some_and(|(base, own)| code(base, inputs.quantities) == Some(own));
        Some(ShapeDelta {
            shape: shape.shape.clone(),
            variant: variant.0.clone(),
            against: reference.as_ref().map(|(against, _)| against.clone()),
            value: number::with_unit(value, &metric.unit).into(),
            change,
            code: if same_code { CodeChange::None } else { CodeChange::Unknown },
            gates: gates_at(inputs, variant, name),
        })
    };
    used.shapes.iter().filter_map(of).collect()
}

/// Required gates on the time of a variant at a shape, with their verdicts there.
fn gates_at(inputs: &ReportInputs<'_>, variant: &VariantId, shape: &ShapeName) -> Vec<(CleanText, Verdict)> {
    let required = inputs.judgement.gates.iter().filter(|gate| gate.level == Level::Required);
    let case = |gate: &GateResult| {
        let case = gate.cases.iter().find(|case| case.variant == *variant && case.shape == *shape)?;
        case.outcome.origin.is_some().then(|| (gate.name.clone(), case.outcome.verdict))
    };
    required.filter_map(case).collect()
}

/// The noise of the ratio of median latencies.
fn noise(inputs: &ReportInputs<'_>, selected: &VariantId, shape: &ShapeName, reference: &Reference<'_>) -> ChangeNoise {
    let samples = match reference.pairing {
        Pairing::Rounds => selected_times::samples(inputs.quantities, (selected, reference.variant), shape),
        Pairing::Independent => {
            let swept = || inputs.quantities.samples(selected, shape);
            let ours = selected_times::fresh(inputs.quantities, selected, shape).or_else(swept);
            ours.zip(reference.quantities.samples(reference.variant, shape))
                .map(|(ours, theirs)| (&ours[..], &theirs[..]))
        }
    };
    let change = samples
        .and_then(|(ours, theirs)| LatencyChange::new(theirs, ours, reference.pairing, &Resampler::default()).ok());
    change.map_or(ChangeNoise::Unspread, |change| ChangeNoise::Interval(change.interval))
}
