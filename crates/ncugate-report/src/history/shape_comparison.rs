//! The times of a run at each shape: the fastest baseline, the candidate, and the speedup.

use crate::number;
use crate::run_report::RunReport;
use crate::variant_row::VariantRow;
use ncugate_model::CleanText;
use ncugate_phase::plan::VariantRole;

/// Medians and 90th percentiles at a shape.
#[derive(Debug, Clone, PartialEq)]
pub struct ShapeComparison {
    pub shape: CleanText,
    /// The fastest baseline at the shape; none if no baseline was timed.
    pub baseline: Option<TimedVariant>,
    /// The variant in use there, else the selected one.
    pub ours: TimedVariant,
    /// Median of the baseline over ours: `1.33×`.
    pub speedup: Option<CleanText>,
}

/// A variant with its times in words.
#[derive(Debug, Clone, PartialEq)]
pub struct TimedVariant {
    pub name: CleanText,
    /// `19.2 µs / 19.5 µs`; only the median if it has no 90th percentile.
    pub times: CleanText,
}

/// The shapes at which the variant in use, or the selected one, was timed.
pub fn by_shape(report: &RunReport) -> Vec<ShapeComparison> {
    let row = |(at, shape): (usize, &CleanText)| {
        let used = report.in_use.shapes.iter().find(|used| &used.shape == shape).and_then(|used| used.variant.as_ref());
        let ours = report.variants.iter().find(|variant| match used.or(report.in_use.variant.as_ref()) {
            Some(used) => &variant.id == used,
            None => variant.selected,
        })?;
        let median = |variant: &VariantRow| report.value(variant, at, "latency_p50").filter(|us| *us > 0.0);
        let own = median(ours)?;
        let baselines = report.variants.iter().filter(|variant| variant.standing == VariantRole::Baseline);
        let timed = baselines.filter_map(|variant| Some((variant, median(variant)?)));
        let fastest = timed.min_by(|a, b| a.1.total_cmp(&b.1));
        Some(ShapeComparison {
            shape: shape.clone(),
            baseline: fastest.and_then(|(variant, _)| times(report, variant, at)),
            ours: times(report, ours, at)?,
            speedup: fastest.map(|(_, theirs)| number::in_sentence(theirs / own, "x").into()),
        })
    };
    report.shapes.iter().enumerate().filter_map(row).collect()
}

fn times(report: &RunReport, variant: &VariantRow, shape: usize) -> Option<TimedVariant> {
    let written = |metric: &str| report.value(variant, shape, metric).map(|us| number::in_sentence(us, "us"));
    let median = written("latency_p50")?;
    let times = written("latency_p90").map_or_else(|| median.clone(), |p90| format!("{median} / {p90}"));
    Some(TimedVariant { name: variant.label.clone(), times: times.into() })
}
