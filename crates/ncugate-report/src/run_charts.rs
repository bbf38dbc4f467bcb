//! The report's rows as charts read them, with data only for charts: the roofline, the Pareto front, effects of
//! parameters.

use super::inputs::ReportInputs;
use super::run_report::RunReport;
use super::sweep;
use crate::chart::{ChartedRun, ChartedShape, ChartedTimeline};
use ncu_explain::{ChipKnowledge, ParetoAxis, Roofline, SweepAnalysis, objective_front};
use ncugate_model::expr::{Names, Value};
use ncugate_model::quantities::MetricCells;
use ncugate_model::stats::Resampler;
use ncugate_model::{Better, VariantId};

/// The data for the charts of a report.
pub fn run<'a>(report: &'a RunReport, inputs: &'a ReportInputs<'_>) -> ChartedRun<'a> {
    let occupancy = occupancy(inputs);
    let dims = inputs.phase.workload.shapes.iter().map(|shape| shape.dims.as_slice());
    ChartedRun {
        shapes: report.shapes.iter().zip(dims).map(|(name, dims)| ChartedShape { name, dims }).collect(),
        objective: &inputs.phase.objective.metric,
        objective_shape: report.objective_shape,
        params: &report.params,
        metrics: &report.metrics,
        gates: &report.gates,
        variants: &report.variants,
        deep_profile: report.deep_profile.as_ref(),
        timeline: timeline(report, inputs),
        roofline: roofline(inputs),
        occupancy,
        front: occupancy.map_or_else(Vec::new, |metric| front(inputs, metric)),
    }
}

/// The timeline of a launch of the first variant of the deep profile.
fn timeline<'a>(report: &'a RunReport, inputs: &'a ReportInputs<'_>) -> Option<ChartedTimeline<'a>> {
    let first = report.deep_profile.as_ref()?.variants.first()?;
    let profiled = inputs.plan.variants.iter().map(|v| &v.id).find(|id| id.0 == first.id)?;
    let profiled = inputs.run.measured_as(profiled);
    let said = inputs.said.iter().find(|said| said.variant == *profiled && said.timeline.is_some())?;
    Some(ChartedTimeline { variant: &first.label, timeline: said.timeline.as_ref()? })
}

/// The roofline over the work of a launch at the objective's shape.
fn roofline(inputs: &ReportInputs<'_>) -> Option<Roofline> {
    let workload = &inputs.phase.workload;
    let objective = &inputs.phase.objective.shape;
    let all: Vec<VariantId> = inputs.plan.variants.iter().map(|v| v.id.clone()).collect();
    let shape = workload.shapes.iter().find(|s| &s.name == objective);
    let operations = shape.and_then(|shape| {
        let scope: Names = shape.dims.iter().map(|(name, extent)| (name.clone(), Value::Int(*extent))).collect();
        workload.flops.as_ref()?.eval_number(&scope).ok().filter(|f| *f > 0.0)
    });
    let gpu = inputs.run.manifest.fingerprint.gpu.as_ref();
    let chip = ChipKnowledge {
        capability: gpu.map(|gpu| gpu.compute_capability),
        sms: gpu.map(|gpu| gpu.sms),
        dram_peak: inputs.dram_peak,
    };
    let quantities = inputs.quantities.filled_from(inputs.deep.quantities);
    ncu_explain::roofline(&quantities, objective, &all, operations, chip)
}

fn ranked(inputs: &ReportInputs<'_>) -> Vec<VariantId> {
    inputs.judgement.variants.iter().filter(|v| v.rank.is_some()).map(|v| v.variant.clone()).collect()
}

/// The measured metric of occupancy.
fn occupancy(inputs: &ReportInputs<'_>) -> Option<&'static str> {
    ["achieved_occupancy", "theoretical_occupancy"]
        .into_iter()
        .find(|metric| inputs.quantities.column(metric).is_some_and(MetricCells::has_value))
}

/// Occupancy and objective of the variants on the Pareto front of both, by occupancy.
fn front(inputs: &ReportInputs<'_>, occupancy: &str) -> Vec<(f64, f64)> {
    let objective = &inputs.phase.objective;
    let x = ParetoAxis { metric: occupancy, better: Better::Higher };
    let y = ParetoAxis { metric: &objective.metric, better: objective.better };
    let found = objective_front(inputs.quantities, &objective.shape, &ranked(inputs), &[x, y]);
    // The best first, so the highest occupancy.
    found.front.iter().rev().filter_map(|variant| Some((*variant.values.first()?, *variant.values.get(1)?))).collect()
}

/// Effects of the parameters on every gated metric. None for so large a sweep that the page would be slow.
pub fn sweep(inputs: &ReportInputs<'_>) -> Option<SweepAnalysis> {
    let shape = &inputs.phase.objective.shape;
    let judged = (inputs.judgement, inputs.quantities);
    let is_small = ranked(inputs).len() <= MOST_SWEPT;
    is_small.then(|| sweep::sweep(inputs.phase, inputs.plan, judged, shape, &Resampler::default()))
}

/// Most variants for which a page analyses the parameters; `ncugate explain --sweep` analyses any number.
const MOST_SWEPT: usize = 2_000;
