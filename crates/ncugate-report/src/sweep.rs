//! Effects of the parameters of a run's sweep, and the Pareto front over chosen objectives, as data and as text.

use super::document::{Document, DocumentBlock, Section};
use super::effects::{self, change};
use super::number;
use crate::chart::Chart;
use crate::chart::front::{self, FrontLine, FrontObjective};
use indexmap::IndexSet;
use ncu_explain::{
    FrontVariant, MetricColumn, ObjectiveFront, ParetoAxis, Separation, SweepAnalysis, SweptMetric, objective_front,
};
use ncugate_judge::{JudgedRun, Judgement};
use ncugate_model::expr::Owner;
use ncugate_model::metric::Catalogue;
use ncugate_model::quantities::MetricCells;
use ncugate_model::stats::Resampler;
use ncugate_model::{Better, CleanText, Quantities, ShapeName, VariantId};
use ncugate_phase::config::Phase;
use ncugate_phase::plan::{Plan, Variant};
use serde::Serialize;
use std::collections::HashSet;

/// Most effects and interactions in a text.
const LISTED: usize = 8;
/// Most variants of a front in a text.
const FRONT: usize = 12;

/// A sweep, analysed at one shape.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SweepReport {
    pub phase: CleanText,
    pub shape: CleanText,
    /// The metric of the effects.
    pub objective: String,
    /// Main effects, interactions, edges of ranges.
    pub analysis: SweepAnalysis,
    /// The front over the objectives.
    pub front: ObjectiveFront,
    /// The objectives in the chart.
    #[serde(skip)]
    pub objectives: Vec<FrontObjective>,
}

impl SweepReport {
    /// The front as a chart; none if no variant has all objectives, or if there is only one objective.
    pub fn picture(&self) -> Option<Chart> {
        let line = |variant: &FrontVariant, on_front: bool| FrontLine {
            label: variant.variant.to_string(),
            values: variant.values.clone(),
            on_front,
        };
        let beaten = self.front.others.iter().map(|variant| line(variant, false));
        let lines: Vec<FrontLine> = self.front.front.iter().map(|variant| line(variant, true)).chain(beaten).collect();
        front::draw(&self.objectives, &lines)
    }
}

/// An objective that is not a metric.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("'{name}' is not a metric of the run{hint}")]
pub struct UnknownObjective {
    name: CleanText,
    hint: String,
}

/// Analyses the selectable candidates. Without `objectives`, the front is over the phase's objective and the measured
/// occupancy.
///
/// # Errors
/// An objective that the run has not measured.
pub fn analyse(
    session: &JudgedRun<'_>,
    shape: &ShapeName,
    objectives: &[String],
    resampler: &Resampler,
) -> Result<SweepReport, UnknownObjective> {
    let measured = session.measurements();
    let (phase, quantities) = (measured.phase(), measured.quantities());
    let objective = &phase.objective;
    let ranked: Vec<VariantId> =
        session.judgement().variants.iter().filter(|v| v.rank.is_some()).map(|v| v.variant.clone()).collect();
    let usual = [objective.metric.as_str(), "achieved_occupancy", "theoretical_occupancy"];
    let known = |metric: &&str| quantities.column(metric).is_some_and(MetricCells::has_value);
    let names: Vec<&str> = match objectives {
        [] => usual.into_iter().filter(known).take(2).collect(),
        asked => asked.iter().map(String::as_str).collect(),
    };
    if let Some(unknown) = names.iter().find(|name| !known(name)) {
        let near = ncugate_model::nearest(unknown, quantities.metrics());
        let hint = near.map_or_else(String::new, |near| format!("; did you mean '{near}'?"));
        return Err(UnknownObjective { name: (*unknown).into(), hint });
    }
    let better = |metric: &str| match metric == objective.metric {
        true => objective.better,
        false => Catalogue::embedded().get(metric).map_or(Better::Context, |known| known.better),
    };
    let axes: Vec<ParetoAxis<'_>> = names.iter().map(|metric| ParetoAxis { metric, better: better(metric) }).collect();
    let objectives = axes.iter().map(|axis| {
        let known = Catalogue::embedded().get(axis.metric);
        FrontObjective {
            title: known.map_or_else(|| CleanText::from(axis.metric).to_string(), |metric| metric.title.clone()),
            unit: known.map_or_else(String::new, |metric| metric.unit.clone()),
        }
    });
    let objectives = objectives.collect();
    Ok(SweepReport {
        phase: (&phase.name).into(),
        shape: shape.0.clone(),
        objective: objective.metric.clone(),
        analysis: sweep(phase, measured.plan(), (session.judgement(), quantities), shape, resampler),
        front: objective_front(quantities, shape, &ranked, &axes),
        objectives,
    })
}

/// Effects of the parameters on the objective and on every metric that a gate reads, over the ranked candidates.
pub fn sweep(
    phase: &Phase,
    plan: &Plan,
    (judgement, quantities): (&Judgement, &Quantities),
    shape: &ShapeName,
    resampler: &Resampler,
) -> SweepAnalysis {
    let ranked: HashSet<&VariantId> =
        judgement.variants.iter().filter(|v| v.rank.is_some()).map(|v| &v.variant).collect();
    let variants: Vec<&Variant> = plan.candidates().filter(|variant| ranked.contains(&variant.id)).collect();
    let gated = gated_metrics(phase);
    let names: IndexSet<&str> =
        std::iter::once(phase.objective.metric.as_str()).chain(gated.iter().map(String::as_str)).collect();
    let metric = |name: &str| {
        let known = MetricColumn::known(name);
        let better = if name == phase.objective.metric { phase.objective.better } else { known.better };
        let values = variants.iter().map(|variant| quantities.read(&variant.id, shape, name).value());
        SweptMetric { column: MetricColumn { better, gated: gated.contains(name), ..known }, values: values.collect() }
    };
    let params: Vec<_> = variants.iter().map(|variant| variant.params.as_slice()).collect();
    ncu_explain::sweep(&params, &names.into_iter().map(metric).collect::<Vec<_>>(), resampler)
}

/// The metrics of candidates that gates read, in the order of the phase. Ranked candidates are all correct.
fn gated_metrics(phase: &Phase) -> IndexSet<String> {
    let read = phase.every_gate().flat_map(|gate| gate.require.reads().quantities);
    let of_candidates = read.filter(|quantity| quantity.owner == Owner::Case && quantity.name != "correct");
    of_candidates.map(|quantity| quantity.name).filter(|name| Catalogue::embedded().source(name).is_some()).collect()
}

impl SweepReport {
    /// Effects, interactions, edges and the front.
    pub fn document(&self) -> Document {
        let Self { phase, shape, objective, analysis, front, .. } = self;
        let counted = number::counted(analysis.variants, "variant");
        let effects = effects::table(&analysis.effects[..analysis.effects.len().min(LISTED)]).block();
        let title = "Effects on gated metrics (means of matched pairs, 95 % intervals)";
        let effects = effects.map(|table| Section::new("", title, vec![table]).into());
        let clear = analysis.interactions.iter().filter(|i| i.change.separation == Separation::Clear).take(LISTED);
        let clear = clear.map(|found| {
            let [[a, b], [c, d]] = &found.ends;
            let by = change(&found.change, "");
            format!("{} {c} -> {d} changes the effect of {} {a} -> {b} by {by}", found.second, found.first)
        });
        let unit = Catalogue::embedded().get(objective).map_or("", |metric| metric.unit.as_str());
        let edges = analysis.edges.iter().map(|edge| {
            format!("{}: from {} to {} {}", edge.advice, edge.beside, edge.value, change(&edge.change, unit))
        });
        let best = format!(
            "Front over {}: {} of {}, without differences that noise explains",
            front.objectives.join(", "),
            front.front.len(),
            front.front.len() + front.beaten
        );
        let on_front = front.front.iter().take(FRONT).map(|variant| {
            let values: Vec<String> = variant.values.iter().map(|value| number::plain(*value)).collect();
            format!("{}: {}", variant.variant, values.join(", "))
        });
        let parts = [
            effects,
            Section::of_lines("Interactions", clear),
            Section::of_lines("Best at the edge of the range", edges),
            Section::of_lines("Cannot be separated", analysis.inseparable.iter().map(ToString::to_string)),
            Section::of_lines(best, on_front),
        ];
        let head = DocumentBlock::Text(format!("{phase} at {shape}: {objective} of {counted}, by matched pairs"));
        let blocks = [head].into_iter().chain(parts.into_iter().flatten()).collect();
        Document { title: phase.to_string(), sentence: String::new(), blocks }
    }
}
