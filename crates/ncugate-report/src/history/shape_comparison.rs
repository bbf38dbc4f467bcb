//! The times of a run at each shape, beside the first baseline and the fastest one: only samples that took no part in
//! the choice of the variant.

use crate::in_use::{self, InUse};
use crate::inputs::ReportInputs;
use crate::{number, selected_times};
use ncugate_judge::reference_runs::confirmed;
use ncugate_model::{CleanText, ShapeName, VariantId};
use ncugate_phase::config::Shape;
use serde::Serialize;

/// The times at a shape.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ShapeComparison {
    pub shape: CleanText,
    /// The variant in use there, else the selected one.
    pub ours: TimedVariant,
    /// The first baseline of the phase.
    pub first: Option<TimedVariant>,
    /// The fastest re-timed baseline.
    pub fastest: Option<TimedVariant>,
}

/// A variant with its times in words.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TimedVariant {
    pub name: CleanText,
    /// Median and 90th percentile: `19.2 µs / 19.5 µs`; none if it was not re-timed.
    pub times: Option<CleanText>,
    /// Its median over ours: `1.33×`; none if one of the two was not re-timed.
    pub speedup: Option<CleanText>,
}

/// Every shape at which the variant in use, or the selected one, was timed.
pub fn by_shape(inputs: &ReportInputs<'_>, used: &InUse) -> Vec<ShapeComparison> {
    let row = |shape: &Shape| {
        let at = &shape.name;
        let used = used.shapes.iter().find(|used| used.shape == at.0).and_then(|here| here.variant.as_ref());
        let used = used.and_then(|id| inputs.plan.variants.iter().map(|variant| &variant.id).find(|v| v.0 == *id));
        let ours = used.or(in_use::banner_variant(inputs.judgement))?;
        inputs.quantities.read(ours, at, "latency_p50").value()?;
        let own = retimed(inputs, ours, at, "latency_p50");
        let timed = |id: &VariantId| {
            let [median, p90] = ["latency_p50", "latency_p90"].map(|metric| retimed(inputs, id, at, metric));
            let written = |us: f64| number::in_sentence(us, "us");
            let times = |median: f64| match p90 {
                Some(p90) => format!("{} / {}", written(median), written(p90)),
                None => written(median),
            };
            TimedVariant {
                name: id.0.clone(),
                times: median.map(|median| times(median).into()),
                speedup: median.zip(own).map(|(theirs, own)| number::in_sentence(theirs / own, "x").into()),
            }
        };
        let baselines = || inputs.plan.baselines().map(|baseline| &baseline.id);
        let median = |id| Some((id, retimed(inputs, id, at, "latency_p50")?));
        let fastest = baselines().filter_map(median).min_by(|a, b| a.1.total_cmp(&b.1));
        Some(ShapeComparison {
            shape: at.0.clone(),
            ours: timed(ours),
            first: baselines().next().map(timed),
            fastest: fastest.map(|(id, _)| timed(id)),
        })
    };
    inputs.phase.workload.shapes.iter().filter_map(row).collect()
}

/// A positive time of the confirmation.
fn retimed(inputs: &ReportInputs<'_>, variant: &VariantId, shape: &ShapeName, metric: &str) -> Option<f64> {
    selected_times::fresh(inputs.quantities, variant, shape)?;
    confirmed(inputs.quantities, variant, shape, metric).filter(|us| *us > 0.0)
}
