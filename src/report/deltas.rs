//! The selected variant beside others: baselines of the phase, and stored runs.

use super::change::{ChangeNoise, LatencyChange, MetricChange};
use super::inputs::ReportInputs;
use super::model::MetricColumn;
use super::text;
use super::trust::is_graded_by_itself;
use super::variant_row::GRADED;
use crate::frame::Quantities;
use crate::judge::reference_runs::confirmed;
use crate::model::VariantId;
use crate::stats::{Pairing, Resampler};
use serde::Serialize;

/// The selected variant beside another.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Delta {
    /// Id of a baseline, or what a stored run is to this one.
    pub against: String,
    /// Whether that is a program that takes its own time and checks its own results.
    pub graded_by_itself: bool,
    /// Where a stored run comes from; none for a baseline of the phase.
    pub about: Option<String>,
    /// Shape.
    pub shape: String,
    /// Metrics both have.
    pub rows: Vec<MetricChange>,
}

impl Delta {
    /// What it is set beside, with a mark where that measures itself.
    pub fn marked(&self) -> String {
        if self.graded_by_itself { format!("{} ({GRADED})", self.against) } else { self.against.clone() }
    }
}

/// What the selected variant is set beside.
struct Reference<'a> {
    variant: &'a VariantId,
    quantities: &'a Quantities,
    /// Whether its samples are of the same rounds as the selected variant's.
    pairing: Pairing,
}

/// The selected variant beside each baseline, then beside each stored run, at the objective's shape.
pub fn deltas(inputs: &ReportInputs<'_>, metrics: &[MetricColumn]) -> Vec<Delta> {
    let baselines = inputs.plan.baselines().map(|baseline| {
        let reference = Reference { variant: &baseline.id, quantities: inputs.quantities, pairing: Pairing::Rounds };
        (text::line(&baseline.id.0), is_graded_by_itself(baseline), None, reference)
    });
    let stored = inputs.earlier.iter().map(|earlier| {
        let reference =
            Reference { variant: earlier.variant, quantities: earlier.quantities, pairing: Pairing::Independent };
        (text::line(earlier.what), false, Some(text::line(earlier.label)), reference)
    });
    baselines
        .chain(stored)
        .map(|(against, graded_by_itself, about, reference)| Delta {
            against,
            graded_by_itself,
            about,
            shape: text::line(&inputs.phase.objective.shape.0),
            rows: rows(inputs, metrics, &reference),
        })
        .filter(|delta| !delta.rows.is_empty())
        .collect()
}

fn rows(inputs: &ReportInputs<'_>, metrics: &[MetricColumn], reference: &Reference<'_>) -> Vec<MetricChange> {
    let Some(selected) = &inputs.judgement.selected else { return Vec::new() };
    let shape = &inputs.phase.objective.shape;
    let row = |metric: &MetricColumn| {
        // stored runs keep the samples of their confirmation
        let ours = match reference.pairing {
            Pairing::Rounds => inputs.quantities.read(&selected.variant, shape, &metric.name).value()?,
            Pairing::Independent => confirmed(inputs.quantities, &selected.variant, shape, &metric.name)?,
        };
        let theirs = reference.quantities.read(reference.variant, shape, &metric.name).value()?;
        let noise = match metric.name.as_str() {
            "latency_p50" => noise(inputs, &selected.variant, reference),
            _ => ChangeNoise::Unknown,
        };
        Some(MetricChange::new(metric.facts(), theirs, ours, noise))
    };
    // A selected variant and one that is timed are both correct.
    metrics.iter().filter(|metric| metric.name != "correct").filter_map(row).collect()
}

/// What is known of the noise of the ratio of median latencies.
fn noise(inputs: &ReportInputs<'_>, selected: &VariantId, reference: &Reference<'_>) -> ChangeNoise {
    let shape = &inputs.phase.objective.shape;
    let samples =
        inputs.quantities.samples(selected, shape).zip(reference.quantities.samples(reference.variant, shape));
    let change = samples
        .and_then(|(ours, theirs)| LatencyChange::new(theirs, ours, reference.pairing, &Resampler::default()).ok());
    change.map_or(ChangeNoise::Unknown, |change| ChangeNoise::Interval(change.interval))
}
