//! A judged run as charts read it: rows in the report's order and words, and the numbers behind them.
//!
//! The report builds it and charts know nothing else of a run. What they name of other rooms comes in here.

pub use crate::explain::{Effect, Interaction, Roofline, Separation, SweepAnalysis, Timeline, TimelineSeries};
pub use ncugate_model::{Better, Verdict};
pub use ncugate_phase::plan::VariantRole;

use super::spec::{Glyph, Tone};

#[derive(Debug, Clone, PartialEq)]
pub struct ChartedRun<'a> {
    /// Shapes, in the order of the phase.
    pub shapes: Vec<ChartedShape<'a>>,
    pub objective: &'a str,
    /// Index in `shapes` of the objective's shape.
    pub objective_shape: usize,
    /// Parameters of the variants, in the order of the sweep.
    pub params: &'a [String],
    pub metrics: Vec<ChartedMetric<'a>>,
    /// Gates, in the order of the file.
    pub gates: Vec<ChartedGate<'a>>,
    /// Stages, in order.
    pub stages: Vec<ChartedStage<'a>>,
    /// Candidates by rank, those without one, then baselines.
    pub variants: Vec<ChartedVariant<'a>>,
    /// Where warps wait, where a variant was profiled for it.
    pub warp_states: Option<WarpStates<'a>>,
    /// The life of a launch of the selected variant, where it was sampled.
    pub timeline: Option<ChartedTimeline<'a>>,
    /// The roof at the objective's shape, and the variants under it.
    pub roofline: Option<Roofline>,
    /// The search that chose the candidates, where one did.
    pub search: Option<ChartedSearch<'a>>,
    /// What each parameter does to the objective, the strongest first.
    pub effects: Vec<Effect>,
    /// What they do together, and how sure that is.
    pub sweep: Option<SweepAnalysis>,
    /// The metric of occupancy that was measured.
    pub occupancy: Option<&'a str>,
    /// Occupancy and objective of the correct variants that no other beats on both, by occupancy.
    pub front: Vec<(f64, f64)>,
}

/// The life of a launch.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ChartedTimeline<'a> {
    pub variant: &'a str,
    pub timeline: &'a Timeline,
}

/// A search that chose the candidates.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ChartedSearch<'a> {
    /// The best so far wherever there was a better one: variants tried, seconds, microseconds.
    pub progress: &'a [(u32, f64, f64)],
    /// Every trial that was timed: how many were tried until it, microseconds.
    pub trials: &'a [(u32, f64)],
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ChartedShape<'a> {
    pub name: &'a str,
    /// Its dimensions by name.
    pub dims: &'a [(String, i64)],
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ChartedMetric<'a> {
    /// Its name in gates and results.
    pub name: &'a str,
    pub title: &'a str,
    /// Its unit (`us`, `bytes`, `%`, or empty).
    pub unit: &'a str,
    /// Which way it improves.
    pub better: Better,
}

#[derive(Debug, Clone, PartialEq)]
pub struct ChartedGate<'a> {
    pub name: &'a str,
    /// The requirement as written.
    pub require: &'a str,
    /// The metric on its left side, where it is one.
    pub metric: Option<&'a str>,
    /// Limit of the deciding case, in the metric's unit.
    pub limit: Option<f64>,
    /// Shape and limit of every case of the deciding variant.
    pub limits: Vec<(&'a str, f64)>,
}

/// A stage of a staged plan; speedups are ratios.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ChartedStage<'a> {
    pub name: &'a str,
    /// Expected speedup over the last accepted stage, from and to.
    pub expected: Option<(f64, f64)>,
    /// Measured speedup over the last accepted stage.
    pub measured: Option<f64>,
    /// Measured speedup over the first stage.
    pub cumulative: Option<f64>,
    pub accepted: bool,
}

#[derive(Debug, Clone, PartialEq)]
pub struct ChartedVariant<'a> {
    pub id: &'a str,
    /// Its id, short enough for a table.
    pub label: &'a str,
    /// Its name, where the phase names it; none where the id is made of the parameters.
    pub name: Option<&'a str>,
    /// Its parameter values alone where it has them all, else its label.
    pub short: &'a str,
    pub standing: VariantRole,
    /// Whether the objective chose it.
    pub selected: bool,
    /// Rank by the objective among correct candidates, from 1.
    pub rank: Option<usize>,
    /// Whether every required gate holds for it.
    pub verdict: Verdict,
    /// Whether it is inconclusive only because nothing compared it: it was not selected.
    pub uncompared: bool,
    /// Parameter values, aligned with [`ChartedRun::params`].
    pub params: &'a [Option<String>],
    /// What was measured, aligned with [`ChartedRun::shapes`].
    pub shapes: Vec<ChartedValues<'a>>,
    /// Verdicts, aligned with [`ChartedRun::gates`]; none where the gate was not judged for it.
    pub gates: Vec<Option<ChartedVerdict<'a>>>,
}

/// What a mark says of a variant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum VariantMark {
    /// A candidate that fails a gate.
    Fails,
    /// A candidate of which a gate is inconclusive, and none fails.
    Open,
    /// A candidate that nothing was compared with, and that fails no gate.
    Uncompared,
    /// A candidate that passes every gate.
    Passes,
    Baseline,
}

impl VariantMark {
    /// Marks in the order they are drawn, with their place in a legend.
    pub const ALL: [(Self, &'static str, Tone, Glyph); 5] = [
        (Self::Uncompared, "not compared", Tone::Muted, Glyph::Dot),
        (Self::Fails, "fails a gate", Tone::Bad, Glyph::Cross),
        (Self::Open, "inconclusive", Tone::Open, Glyph::Triangle),
        (Self::Passes, "passes every gate", Tone::Good, Glyph::Disc),
        (Self::Baseline, "baseline", Tone::Baseline, Glyph::Diamond),
    ];
}

impl ChartedVariant<'_> {
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

/// What was measured of a variant at a shape.
#[derive(Debug, Clone, PartialEq)]
pub struct ChartedValues<'a> {
    /// Values in the metric's unit, aligned with [`ChartedRun::metrics`].
    pub values: Vec<Option<f64>>,
    /// Latency samples in microseconds, in the order they were taken.
    pub samples: &'a [f64],
}

/// What a gate says of a variant.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ChartedVerdict<'a> {
    pub verdict: Verdict,
    /// Measured against limit, or what is missing.
    pub text: &'a str,
}

/// Where the warps of a variant wait, and those of others beside it.
#[derive(Debug, Clone, PartialEq)]
pub struct WarpStates<'a> {
    /// Label and short name of who was profiled, the selected variant first.
    pub variants: Vec<(&'a str, &'a str)>,
    /// States, the first variant's longest first.
    pub states: Vec<WarpState<'a>>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct WarpState<'a> {
    pub name: &'a str,
    /// Cycles for each issued instruction, aligned with [`WarpStates::variants`].
    pub cycles: Vec<Option<f64>>,
}

/// Baselines shown beside the leading variants.
const BASELINES: usize = 6;

impl<'a> ChartedRun<'a> {
    pub fn metric(&self, name: &str) -> Option<&ChartedMetric<'a>> {
        self.metrics.iter().find(|m| m.name == name)
    }

    /// Title and unit of a metric; its name where it was not measured.
    pub fn described<'n>(&'n self, name: &'n str) -> (&'n str, &'n str) {
        self.metric(name).map_or((name, ""), |m| (m.title, m.unit))
    }

    /// Value of a variant at a shape, by index of the shape.
    pub fn value(&self, variant: &ChartedVariant<'_>, shape: usize, metric: &str) -> Option<f64> {
        let column = self.metrics.iter().position(|m| m.name == metric)?;
        variant.shapes.get(shape)?.values.get(column).copied().flatten()
    }

    /// Value of a variant for the objective, at the objective's shape.
    pub fn objective_of(&self, variant: &ChartedVariant<'_>) -> Option<f64> {
        self.value(variant, self.objective_shape, self.objective)
    }

    /// Latency samples of a variant at the objective's shape, in microseconds.
    pub fn samples<'v>(&self, variant: &'v ChartedVariant<'_>) -> &'v [f64] {
        variant.shapes.get(self.objective_shape).map_or(&[], |s| s.samples)
    }

    /// Name of a shape, by its index.
    pub fn shape_name(&self, shape: usize) -> &'a str {
        self.shapes.get(shape).map_or("", |s| s.name)
    }

    /// What the short names of variants are made of.
    pub fn variant_axis(&self) -> String {
        let named = self.variants.iter().filter(|v| v.standing == VariantRole::Candidate).all(|v| v.name.is_some());
        if named || self.params.len() < 2 { "variant".to_owned() } else { self.params.join(" · ") }
    }

    /// The best `count` ranked variants, then the first baselines.
    pub fn leaders(&self, count: usize) -> Vec<&ChartedVariant<'a>> {
        let ranked = self.variants.iter().filter(|v| v.rank.is_some()).take(count);
        ranked.chain(self.variants.iter().filter(|v| v.standing == VariantRole::Baseline).take(BASELINES)).collect()
    }
}
