//! The selected variant beside others: baselines of the phase, and stored runs.

use super::inputs::Inputs;
use super::model::MetricColumn;
use super::number::{self, Number};
use super::text;
use crate::frame::Quantities;
use crate::model::Better;
use crate::model::ShapeName;
use crate::model::VariantId;
use crate::stats::{self, Pairing, Resampler};
use serde::Serialize;

/// A stored run that the selected variant is set beside.
#[derive(Debug, Clone, Copy)]
pub struct Earlier<'a> {
    /// What it is to this run: `previous run`, `best`.
    pub what: &'a str,
    /// Where it comes from: `run 20261121T022130Z of 2026-11-21, variant A=1`.
    pub label: &'a str,
    /// The variant that stands for it.
    pub variant: &'a VariantId,
    /// What it measured.
    pub quantities: &'a Quantities,
}

/// The selected variant beside another.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Delta {
    /// Id of a baseline, or what a stored run is to this one.
    pub against: String,
    /// Where a stored run comes from; none for a baseline of the phase.
    pub about: Option<String>,
    /// Shape.
    pub shape: String,
    /// Metrics both have.
    pub rows: Vec<DeltaRow>,
}

/// A metric of two variants.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct DeltaRow {
    /// Name in gates and results.
    pub metric: String,
    /// Title of the metric.
    pub title: String,
    /// Unit.
    pub unit: String,
    /// Of the selected variant.
    pub selected: Number,
    /// Of the other.
    pub other: Number,
    /// Change from the other to the selected: percent, percentage points, or a factor.
    pub change: String,
    /// 95 % bootstrap interval of the selected over the other, where both have latency samples.
    pub ratio: Option<(f64, f64)>,
    /// Whether the selected variant is better; none where neither way is, they are equal, or noise explains it.
    pub better: Option<bool>,
}

impl DeltaRow {
    /// Interval of the change: `+1.2 % to +1.9 %`.
    pub fn interval(&self) -> Option<String> {
        self.ratio.map(|(low, high)| format!("{} to {}", number::change(low), number::change(high)))
    }

    /// `better`, `worse`, `within noise`, or nothing.
    pub fn word(&self) -> &'static str {
        match (self.better, &self.ratio) {
            (Some(true), _) => "better",
            (Some(false), _) => "worse",
            (None, Some(_)) if self.selected != self.other => "within noise",
            (None, _) => "",
        }
    }
}

/// One side of a delta.
struct Side<'a> {
    variant: &'a VariantId,
    quantities: &'a Quantities,
    /// Whether its samples are of the same rounds as the selected variant's.
    pairing: Pairing,
}

/// The selected variant beside each baseline, then beside each stored run, at the objective's shape.
pub fn deltas(inputs: &Inputs<'_>, metrics: &[MetricColumn]) -> Vec<Delta> {
    let baselines = inputs.plan.baselines().map(|baseline| {
        let side = Side { variant: &baseline.id, quantities: inputs.quantities, pairing: Pairing::Rounds };
        (text::line(&baseline.id.0), None, side)
    });
    let stored = inputs.earlier.iter().map(|earlier| {
        let side = Side { variant: earlier.variant, quantities: earlier.quantities, pairing: Pairing::Independent };
        (text::line(earlier.what), Some(text::line(earlier.label)), side)
    });
    baselines
        .chain(stored)
        .map(|(against, about, side)| Delta {
            against,
            about,
            shape: text::line(&inputs.phase.objective.shape.0),
            rows: rows(inputs, metrics, &side),
        })
        .filter(|delta| !delta.rows.is_empty())
        .collect()
}

fn rows(inputs: &Inputs<'_>, metrics: &[MetricColumn], side: &Side<'_>) -> Vec<DeltaRow> {
    let Some(selected) = &inputs.judgement.selected else { return Vec::new() };
    let shape = &inputs.phase.objective.shape;
    let row = |metric: &MetricColumn| {
        let ours = inputs.quantities.read(&selected.variant, shape, &metric.name).value()?;
        let theirs = side.quantities.read(side.variant, shape, &metric.name).value()?;
        let noise = (metric.name == "latency_p50").then(|| noise(inputs, &selected.variant, shape, side)).flatten();
        let is_noise = noise.is_some_and(|(low, high)| low <= 1.0 && high >= 1.0);
        Some(DeltaRow {
            metric: metric.name.clone(),
            title: metric.title.clone(),
            unit: metric.unit.clone(),
            selected: Number::new(ours),
            other: Number::new(theirs),
            change: number::changed(theirs, ours, &metric.unit),
            ratio: noise,
            better: improved(ours, theirs, metric.better).filter(|_| !is_noise),
        })
    };
    // A selected variant and one that is timed are both correct.
    metrics.iter().filter(|metric| metric.name != "correct").filter_map(row).collect()
}

/// Interval of the ratio of median latencies, ours over theirs.
fn noise(inputs: &Inputs<'_>, selected: &VariantId, shape: &ShapeName, side: &Side<'_>) -> Option<(f64, f64)> {
    let ours = inputs.quantities.samples(selected, shape)?;
    let theirs = side.quantities.samples(side.variant, shape)?;
    let rounds = side.pairing == Pairing::Rounds && ours.len() == theirs.len();
    let pairing = if rounds { Pairing::Rounds } else { Pairing::Independent };
    let ratio = stats::compare(ours, theirs, pairing, &Resampler::default()).ok()?.median_ratio.interval;
    Some((ratio.low, ratio.high))
}

fn improved(ours: f64, theirs: f64, better: Better) -> Option<bool> {
    match better {
        _ if ours == theirs => None,
        Better::Higher => Some(ours > theirs),
        Better::Lower => Some(ours < theirs),
        Better::Context => None,
    }
}
