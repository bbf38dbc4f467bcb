//! The report's rows as charts read them, with what only charts need: the roof, the front, effects of parameters.

use super::deep_profile::DeepProfileRow;
use super::inputs::ReportInputs;
use super::run_report::RunReport;
use super::text;
use super::variant_row::VariantRow;
use crate::chart::{
    ChartedGate, ChartedMetric, ChartedRun, ChartedSearch, ChartedShape, ChartedStage, ChartedTimeline, ChartedValues,
    ChartedVariant, ChartedVerdict, WarpState, WarpStates,
};
use crate::explain::{self, Effect, ParetoAxis, Roofline, SweepAnalysis};
use ncugate_judge::frame::MetricCells;
use ncugate_model::expr::{Names, Value};
use ncugate_model::stats::Resampler;
use ncugate_model::{Better, VariantId};
use ncugate_phase::plan::Variant;
use std::collections::HashSet;

/// What the charts of a report are drawn from.
pub fn run<'a>(report: &'a RunReport, inputs: &'a ReportInputs<'_>) -> ChartedRun<'a> {
    let occupancy = occupancy(inputs);
    let dims = inputs.phase.workload.shapes.iter().map(|shape| shape.dims.as_slice());
    ChartedRun {
        shapes: report.shapes.iter().zip(dims).map(|(name, dims)| ChartedShape { name, dims }).collect(),
        objective: &inputs.phase.objective.metric,
        objective_shape: report.objective_shape,
        params: &report.params,
        metrics: metrics(report),
        gates: gates(report),
        stages: stages(report),
        variants: report.variants.iter().map(variant).collect(),
        warp_states: report.deep_profile.as_ref().map(warp_states),
        timeline: timeline(report, inputs),
        roofline: roofline(inputs),
        effects: effects(inputs),
        sweep: sweep(inputs),
        occupancy,
        search: report
            .search
            .as_ref()
            .map(|search| ChartedSearch { progress: &search.progress, trials: &search.trials }),
        front: occupancy.map_or_else(Vec::new, |metric| front(inputs, metric)),
    }
}

fn metrics(report: &RunReport) -> Vec<ChartedMetric<'_>> {
    let metrics = report.metrics.iter();
    metrics.map(|m| ChartedMetric { name: &m.name, title: &m.title, unit: &m.unit, better: m.better }).collect()
}

fn gates(report: &RunReport) -> Vec<ChartedGate<'_>> {
    let gates = report.gates.iter();
    gates
        .map(|gate| ChartedGate {
            name: &gate.name,
            require: &gate.require,
            metric: gate.metric.as_deref(),
            limit: gate.limit.as_ref().map(|limit| limit.value),
            limits: gate.limits.iter().map(|(shape, limit)| (shape.as_str(), limit.value)).collect(),
        })
        .collect()
}

fn stages(report: &RunReport) -> Vec<ChartedStage<'_>> {
    let stages = report.stages.iter();
    stages
        .map(|stage| ChartedStage {
            name: &stage.name,
            expected: stage.expected.as_ref().map(|(low, high)| (low.value, high.value)),
            measured: stage.measured.as_ref().map(|gain| gain.value),
            cumulative: stage.cumulative.as_ref().map(|gain| gain.value),
            accepted: stage.accepted,
        })
        .collect()
}

fn variant(row: &VariantRow) -> ChartedVariant<'_> {
    let values = row.shapes.iter().map(|shape| ChartedValues {
        values: shape.values.iter().map(|value| value.number().map(|n| n.value)).collect(),
        samples: &shape.samples,
    });
    let verdicts = row.gates.iter().map(|cell| {
        // what was not compared was not judged
        let cell = cell.as_ref().filter(|cell| !cell.uncompared)?;
        Some(ChartedVerdict { verdict: cell.verdict, text: &cell.text })
    });
    ChartedVariant {
        id: &row.id,
        label: &row.label,
        name: row.name.as_deref(),
        short: &row.short,
        standing: row.standing,
        selected: row.selected,
        rank: row.rank,
        verdict: row.verdict,
        uncompared: row.uncompared,
        params: &row.params,
        shapes: values.collect(),
        gates: verdicts.collect(),
    }
}

fn warp_states(look: &DeepProfileRow) -> WarpStates<'_> {
    let states = look.states().into_iter().map(|state| WarpState {
        name: &state.name,
        cycles: state.values.iter().map(|value| value.number().map(|n| n.value)).collect(),
    });
    WarpStates {
        variants: look.variants.iter().map(|row| (row.label.as_str(), row.short.as_str())).collect(),
        states: states.collect(),
    }
}

/// The life of a launch of the first variant of the deep profile.
fn timeline<'a>(report: &'a RunReport, inputs: &'a ReportInputs<'_>) -> Option<ChartedTimeline<'a>> {
    let first = report.deep_profile.as_ref()?.variants.first()?;
    let measured_as = |id: &VariantId| {
        let shared = inputs.builds.iter().find(|build| &build.variant == id).and_then(|build| build.shares.clone());
        shared.unwrap_or_else(|| id.clone())
    };
    let profiled =
        inputs.plan.variants.iter().map(|v| &v.id).find(|id| text::line(&id.0) == first.id).map(measured_as)?;
    let said = inputs.said.iter().find(|said| said.variant == profiled && said.timeline.is_some())?;
    Some(ChartedTimeline { variant: &first.label, timeline: said.timeline.as_ref()? })
}

/// The roof over the work of a launch at the objective's shape.
fn roofline(inputs: &ReportInputs<'_>) -> Option<Roofline> {
    let workload = &inputs.phase.workload;
    let objective = &inputs.phase.objective.shape;
    let all: Vec<VariantId> = inputs.plan.variants.iter().map(|v| v.id.clone()).collect();
    let shape = workload.shapes.iter().find(|s| &s.name == objective);
    let operations = shape.and_then(|shape| {
        let scope: Names = shape.dims.iter().map(|(name, extent)| (name.clone(), Value::Int(*extent))).collect();
        workload.flops.as_ref()?.eval_number(&scope).ok().filter(|f| *f > 0.0)
    });
    explain::roofline(&inputs.quantities.filled_from(inputs.deep.quantities), objective, &all, operations)
}

fn ranked(inputs: &ReportInputs<'_>) -> Vec<VariantId> {
    inputs.judgement.variants.iter().filter(|v| v.rank.is_some()).map(|v| v.variant.clone()).collect()
}

/// The metric of occupancy that was measured.
fn occupancy(inputs: &ReportInputs<'_>) -> Option<&'static str> {
    ["achieved_occupancy", "theoretical_occupancy"]
        .into_iter()
        .find(|metric| inputs.quantities.column(metric).is_some_and(MetricCells::has_value))
}

/// Occupancy and objective of the variants that no other beats on both, by occupancy.
fn front(inputs: &ReportInputs<'_>, occupancy: &str) -> Vec<(f64, f64)> {
    let objective = &inputs.phase.objective;
    let x = ParetoAxis { metric: occupancy, better: Better::Higher };
    let y = ParetoAxis { metric: &objective.metric, better: objective.better };
    let front = explain::pareto(inputs.quantities, &objective.shape, &ranked(inputs), x, y);
    let mut points: Vec<(f64, f64)> = front.points.iter().filter(|p| p.front).map(|p| (p.x, p.y)).collect();
    points.sort_by(|a, b| a.0.total_cmp(&b.0));
    points
}

fn effects(inputs: &ReportInputs<'_>) -> Vec<Effect> {
    explain::sensitivity(&measured(inputs))
}

/// What parameters do together; none of a sweep with one parameter, or of many variants, of which a page would wait for it.
fn sweep(inputs: &ReportInputs<'_>) -> Option<SweepAnalysis> {
    let measured = measured(inputs);
    let is_small = measured.len() <= MOST_SWEPT;
    is_small.then(|| explain::sweep(&measured, inputs.phase.objective.better, &Resampler::default()))
}

/// Variants of which a page analyses the parameters; `ncugate explain --sweep` analyses any number.
const MOST_SWEPT: usize = 2_000;

/// The objective of the variants that count.
fn measured<'a>(inputs: &'a ReportInputs<'_>) -> Vec<(&'a Variant, f64)> {
    let objective = &inputs.phase.objective;
    let results: HashSet<VariantId> = ranked(inputs).into_iter().collect();
    let counted = inputs.plan.candidates().filter(|v| results.contains(&v.id));
    let value = |v: &VariantId| inputs.quantities.read(v, &objective.shape, &objective.metric).value();
    counted.filter_map(|v| Some((v, value(&v.id)?))).collect()
}
