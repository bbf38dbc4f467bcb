//! What charts need to know beside the report's rows.

use crate::explain::{self, Effect, Roofline};
use crate::expr::{Scope, Value};
use crate::model::Better;
use crate::model::VariantId;
use crate::plan::Standing;
pub use crate::report::text::inside;
use crate::report::{Inputs, Report, VariantRow};

/// Objective, dimensions of the shapes, work of a launch, ceilings of the chip.
#[derive(Debug, Clone, PartialEq)]
pub struct Context {
    /// Metric of the objective.
    pub objective: String,
    /// Dimensions of every shape, aligned with the report's shapes.
    pub dims: Vec<Vec<(String, i64)>>,
    /// The roof at the objective's shape, and the variants under it.
    pub roofline: Option<Roofline>,
    /// What each parameter does to the objective, the strongest first.
    pub effects: Vec<Effect>,
    /// Metric of occupancy that was measured.
    pub occupancy: Option<&'static str>,
    /// Occupancy and objective of the correct variants that nothing beats on both, by occupancy.
    pub front: Vec<(f64, f64)>,
}

impl Context {
    /// Reads what charts need from a report's inputs.
    pub fn new(inputs: &Inputs<'_>) -> Self {
        let workload = &inputs.phase.workload;
        let objective = &inputs.phase.objective;
        let all: Vec<VariantId> = inputs.plan.variants.iter().map(|v| v.id.clone()).collect();
        let shape = workload.shapes.iter().find(|s| s.name == objective.shape);
        let operations = shape.and_then(|shape| {
            let scope: Scope = shape.dims.iter().map(|(name, extent)| (name.clone(), Value::Int(*extent))).collect();
            workload.flops.as_ref()?.eval_number(&scope).ok().filter(|f| *f > 0.0)
        });
        let occupancy = occupancy(inputs);
        Self {
            objective: objective.metric.clone(),
            dims: workload.shapes.iter().map(|s| s.dims.clone()).collect(),
            roofline: explain::roofline(
                &inputs.quantities.beside(inputs.deep.quantities),
                &objective.shape,
                &all,
                operations,
            ),
            effects: effects(inputs),
            front: occupancy.map_or_else(Vec::new, |metric| front(inputs, metric)),
            occupancy,
        }
    }
}

/// Ranked candidates.
fn ranked(inputs: &Inputs<'_>) -> Vec<VariantId> {
    inputs.judgement.variants.iter().filter(|v| v.rank.is_some()).map(|v| v.variant.clone()).collect()
}

fn occupancy(inputs: &Inputs<'_>) -> Option<&'static str> {
    ["achieved_occupancy", "theoretical_occupancy"]
        .into_iter()
        .find(|metric| inputs.quantities.column(metric).is_some_and(|cells| cells.iter().any(|c| c.value().is_some())))
}

fn front(inputs: &Inputs<'_>, occupancy: &str) -> Vec<(f64, f64)> {
    let objective = &inputs.phase.objective;
    let x = explain::Axis { metric: occupancy, better: Better::Higher };
    let y = explain::Axis { metric: &objective.metric, better: objective.better };
    let front = explain::pareto(inputs.quantities, &objective.shape, &ranked(inputs), x, y);
    let mut points: Vec<(f64, f64)> = front.points.iter().filter(|p| p.front).map(|p| (p.x, p.y)).collect();
    points.sort_by(|a, b| a.0.total_cmp(&b.0));
    points
}

fn effects(inputs: &Inputs<'_>) -> Vec<Effect> {
    let objective = &inputs.phase.objective;
    let results: std::collections::HashSet<VariantId> = ranked(inputs).into_iter().collect();
    let measured: Vec<_> = inputs
        .plan
        .candidates()
        .filter(|v| results.contains(&v.id))
        .filter_map(|v| Some((v, inputs.quantities.read(&v.id, &objective.shape, &objective.metric).value()?)))
        .collect();
    explain::sensitivity(&measured)
}

/// Title and unit of a metric in the report; its name where it has no column.
pub fn described<'r>(report: &'r Report, metric: &'r str) -> (&'r str, &'r str) {
    report.metric(metric).map_or((metric, ""), |(_, m)| (m.title.as_str(), m.unit.as_str()))
}

/// Baselines this many times slower than the slowest variant shown are named beside a chart, not drawn in it.
pub const FAR: f64 = 1.5;

/// ` Off the scale: sdpa_math (58.18).`
pub fn off_the_scale(variants: &[(&VariantRow, f64)]) -> String {
    if variants.is_empty() {
        return String::new();
    }
    let names: Vec<String> =
        variants.iter().map(|(v, y)| format!("{} ({})", v.short, crate::report::number::plain(*y))).collect();
    format!(" Off the scale: {}.", names.join(", "))
}

/// What the short names of variants are made of.
pub fn variant_axis(report: &Report) -> String {
    let named = report.variants.iter().filter(|v| v.standing == Standing::Candidate).all(|v| v.name.is_some());
    if named || report.params.len() < 2 { "variant".to_owned() } else { report.params.join(" · ") }
}

/// The best `count` ranked variants, then every baseline.
pub fn leaders(report: &Report, count: usize) -> Vec<&VariantRow> {
    let ranked = report.variants.iter().filter(|v| v.rank.is_some()).take(count);
    ranked.chain(report.variants.iter().filter(|v| v.standing == Standing::Baseline).take(6)).collect()
}
