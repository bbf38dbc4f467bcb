//! A judged run as the charts read it: rows in the order and wording of the report, and the numbers behind them.
//!
//! The report builds it. Charts know nothing else about a run, and their types from other modules are imported here.

pub use crate::deep_profile::DeepProfileRow;
pub use crate::variant_row::VariantRow;
pub use ncu_explain::MetricColumn;
pub use ncu_explain::{Roofline, Timeline, TimelineSeries};
pub use ncugate_judge::GateResult;
pub use ncugate_model::Verdict;
pub use ncugate_phase::plan::VariantRole;

use super::spec::{ChartPoint, Glyph, Marks, Series, Tone};
use ncugate_model::{CleanText, number};

#[derive(Debug, Clone, PartialEq)]
pub struct ChartedRun<'a> {
    /// Shapes, in the order of the phase.
    pub shapes: Vec<ChartedShape<'a>>,
    pub objective: &'a str,
    /// Index in `shapes` of the objective's shape.
    pub objective_shape: usize,
    /// Parameters of the variants, in the order of the sweep.
    pub params: &'a [CleanText],
    pub metrics: &'a [MetricColumn],
    /// Gates, in the order of the file.
    pub gates: &'a [GateResult],
    /// Candidates by rank, then candidates without a rank, then baselines.
    pub variants: &'a [VariantRow],
    pub deep_profile: Option<&'a DeepProfileRow>,
    /// The timeline of a launch of the selected variant, if it was sampled.
    pub timeline: Option<ChartedTimeline<'a>>,
    /// The roofline at the objective's shape, with its variants.
    pub roofline: Option<Roofline>,
    /// The measured metric of occupancy.
    pub occupancy: Option<&'a str>,
    /// Occupancy and objective of the correct variants on the Pareto front of both, by occupancy.
    pub front: Vec<(f64, f64)>,
}

/// The timeline of a launch.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ChartedTimeline<'a> {
    pub variant: &'a str,
    pub timeline: &'a Timeline,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ChartedShape<'a> {
    pub name: &'a str,
    /// Its dimensions by name.
    pub dims: &'a [(String, i64)],
}

/// Baselines slower than the slowest shown candidate by this factor are named next to a chart, not drawn in it.
const FAR: f64 = 1.5;

/// Splits off baselines so far above every candidate that they would flatten the picture, and names them:
/// ` Off the scale: sdpa_math (58.18).`
pub fn within<T>(all: Vec<(&VariantRow, T)>, value: impl Fn(&T) -> f64) -> (Vec<(&VariantRow, T)>, String) {
    let of = |(variant, shown): &(&VariantRow, T)| (variant.standing == VariantRole::Candidate).then(|| value(shown));
    let slowest = all.iter().filter_map(of).fold(f64::NEG_INFINITY, f64::max);
    let is_far = |(variant, shown): &(&VariantRow, T)| {
        variant.standing == VariantRole::Baseline && slowest > 0.0 && value(shown) > slowest * FAR
    };
    let (far, shown): (Vec<_>, Vec<_>) = all.into_iter().partition(is_far);
    let names = far.iter().map(|(variant, far)| format!("{} ({})", variant.short, number::plain(value(far))));
    let names: Vec<String> = names.collect();
    (shown, if names.is_empty() { String::new() } else { format!(" Off the scale: {}.", names.join(", ")) })
}

/// Points of variants by verdict, with a ring around the selected one. From `many` points on, those of candidates are
/// dots.
pub fn marked(points: &[(&VariantRow, ChartPoint)], many: usize) -> Vec<Series> {
    use VariantRole::{Baseline, Candidate};
    let dot = |glyph| if points.len() > many { Glyph::Dot } else { glyph };
    let series = |name: &str, tone, glyph, keep: &dyn Fn(&VariantRow) -> bool| {
        let kept = points.iter().filter(|(variant, _)| keep(variant)).map(|(_, point)| point.clone());
        Series::new(name, tone, Marks::Points(glyph, kept.collect()))
    };
    let is = |variant: &VariantRow, verdict| variant.standing == Candidate && variant.verdict == verdict;
    let open =
        |variant: &VariantRow, is_compared| is(variant, Verdict::Inconclusive) && variant.uncompared != is_compared;
    vec![
        series("not compared", Tone::Muted, Glyph::Dot, &|v| open(v, false)),
        series("fails a gate", Tone::Bad, dot(Glyph::Cross), &|v| is(v, Verdict::Fail)),
        series("inconclusive", Tone::Open, dot(Glyph::Triangle), &|v| open(v, true)),
        series("passes every gate", Tone::Good, dot(Glyph::Disc), &|v| is(v, Verdict::Pass)),
        series("baseline", Tone::Baseline, Glyph::Diamond, &|v| v.standing == Baseline),
        series("selected", Tone::Chosen, Glyph::Ring, &|v| v.selected),
    ]
}

/// Baselines shown in addition to the leading variants.
const BASELINES: usize = 6;

impl<'a> ChartedRun<'a> {
    pub fn metric(&self, name: &str) -> Option<&'a MetricColumn> {
        self.metrics.iter().find(|m| m.name == name)
    }

    /// Title and unit of a metric; its name if it was not measured.
    pub fn described<'n>(&'n self, name: &'n str) -> (&'n str, &'n str) {
        self.metric(name).map_or((name, ""), |m| (&m.title, &m.unit))
    }

    /// Value of a variant at a shape, by index of the shape.
    pub fn value(&self, variant: &VariantRow, shape: usize, metric: &str) -> Option<f64> {
        let column = self.metrics.iter().position(|m| m.name == metric)?;
        variant.shapes.get(shape)?.values.get(column)?.number().map(|number| number.value)
    }

    /// The objective's value of a variant, at the objective's shape.
    pub fn objective_of(&self, variant: &VariantRow) -> Option<f64> {
        self.value(variant, self.objective_shape, self.objective)
    }

    /// Latency samples of a variant at the objective's shape, in microseconds.
    pub fn samples<'v>(&self, variant: &'v VariantRow) -> &'v [f64] {
        variant.shapes.get(self.objective_shape).map_or(&[], |s| &s.samples)
    }

    /// Name of a shape, by its index.
    pub fn shape_name(&self, shape: usize) -> &'a str {
        self.shapes.get(shape).map_or("", |s| s.name)
    }

    /// The parts of the variants' short names.
    pub fn variant_axis(&self) -> String {
        let named = self.variants.iter().filter(|v| v.standing == VariantRole::Candidate).all(|v| v.name.is_some());
        if named || self.params.len() < 2 { "variant".to_owned() } else { self.params.join(" · ") }
    }

    /// The best `count` ranked variants, then the first baselines.
    pub fn leaders(&self, count: usize) -> Vec<&'a VariantRow> {
        let ranked = self.variants.iter().filter(|v| v.rank.is_some()).take(count);
        ranked.chain(self.variants.iter().filter(|v| v.standing == VariantRole::Baseline).take(BASELINES)).collect()
    }
}
