//! A judged run as the charts read it: rows in the order and wording of the report, and the numbers behind them.
//!
//! The report builds it. Charts know nothing else about a run, and their types from other modules are imported here.

pub use crate::deep_profile::{DeepMetric, DeepProfileRow};
pub use crate::explain::{Interaction, Roofline, Separation, SweepAnalysis, Timeline, TimelineSeries};
pub use crate::model::MetricColumn;
pub use crate::search::SearchRow;
pub use crate::variant_row::VariantRow;
pub use ncugate_judge::{GateResult, StageResult};
pub use ncugate_model::{Better, Verdict};
pub use ncugate_phase::plan::VariantRole;

use super::spec::{Glyph, Tone};
use ncugate_model::CleanText;

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
    /// Stages, in order.
    pub stages: &'a [StageResult],
    /// Candidates by rank, then candidates without a rank, then baselines.
    pub variants: &'a [VariantRow],
    pub deep_profile: Option<&'a DeepProfileRow>,
    /// The timeline of a launch of the selected variant, if it was sampled.
    pub timeline: Option<ChartedTimeline<'a>>,
    /// The roofline at the objective's shape, with its variants.
    pub roofline: Option<Roofline>,
    /// The search that chose the candidates, if any.
    pub search: Option<&'a SearchRow>,
    /// Interactions of the parameters, with their uncertainty.
    pub sweep: Option<&'a SweepAnalysis>,
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

/// The meaning of a variant's mark.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum VariantMark {
    /// A candidate that fails a gate.
    Fails,
    /// A candidate with an inconclusive gate and no failed one.
    Open,
    /// A candidate that was not compared, and that fails no gate.
    Uncompared,
    /// A candidate that passes every gate.
    Passes,
    Baseline,
}

impl VariantMark {
    /// Marks in drawing order, with their text in a legend.
    pub const ALL: [(Self, &'static str, Tone, Glyph); 5] = [
        (Self::Uncompared, "not compared", Tone::Muted, Glyph::Dot),
        (Self::Fails, "fails a gate", Tone::Bad, Glyph::Cross),
        (Self::Open, "inconclusive", Tone::Open, Glyph::Triangle),
        (Self::Passes, "passes every gate", Tone::Good, Glyph::Disc),
        (Self::Baseline, "baseline", Tone::Baseline, Glyph::Diamond),
    ];
}

impl VariantRow {
    pub fn mark(&self) -> VariantMark {
        match (self.standing, self.verdict) {
            (VariantRole::Baseline, _) => VariantMark::Baseline,
            (VariantRole::Candidate, Verdict::Fail) => VariantMark::Fails,
            (VariantRole::Candidate, Verdict::Inconclusive) if self.uncompared => VariantMark::Uncompared,
            (VariantRole::Candidate, Verdict::Inconclusive) => VariantMark::Open,
            (VariantRole::Candidate, Verdict::Pass) => VariantMark::Passes,
        }
    }
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
