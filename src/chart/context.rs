//! What charts need to know beside the report's rows.

use crate::expr::{Scope, Value};
use crate::metric::Better;
use crate::plan::Standing;
use crate::report::{Ceilings, Inputs, Report, VariantRow};

/// Objective, dimensions of the shapes, work of a launch, ceilings of the chip.
#[derive(Debug, Clone, PartialEq)]
pub struct Context {
    /// Metric of the objective.
    pub objective: String,
    /// Which way it improves.
    pub better: Better,
    /// Dimensions of every shape, aligned with the report's shapes.
    pub dims: Vec<Vec<(String, i64)>>,
    /// Floating-point operations of a launch at every shape.
    pub flops: Vec<Option<f64>>,
    /// Ceilings of the chip.
    pub ceilings: Option<Ceilings>,
}

impl Context {
    /// Reads what charts need from a report's inputs.
    pub fn new(inputs: &Inputs<'_>) -> Self {
        let workload = &inputs.phase.workload;
        let flops = |dims: &[(String, i64)]| {
            let scope: Scope = dims.iter().map(|(name, extent)| (name.clone(), Value::Int(*extent))).collect();
            workload.flops.as_ref().and_then(|expr| expr.eval_number(&scope).ok()).filter(|f| *f > 0.0)
        };
        Self {
            objective: inputs.phase.objective.metric.clone(),
            better: inputs.phase.objective.better,
            dims: workload.shapes.iter().map(|s| s.dims.clone()).collect(),
            flops: workload.shapes.iter().map(|s| flops(&s.dims)).collect(),
            ceilings: inputs.ceilings.clone(),
        }
    }
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
    if report.params.is_empty() { "variant".to_owned() } else { report.params.join(" · ") }
}

/// A title inside a sentence: `Latency p50` is `latency p50`, `DRAM bytes` stays.
pub fn inside(title: &str) -> String {
    let mut letters = title.chars();
    match (letters.next(), letters.clone().next()) {
        (Some(first), Some(second)) if !second.is_uppercase() => first.to_lowercase().chain(letters).collect(),
        _ => title.to_owned(),
    }
}

/// The best `count` ranked variants, then every baseline.
pub fn leaders(report: &Report, count: usize) -> Vec<&VariantRow> {
    let ranked = report.variants.iter().filter(|v| v.rank.is_some()).take(count);
    ranked.chain(report.variants.iter().filter(|v| v.standing == Standing::Baseline).take(6)).collect()
}
