//! The objective against occupancy, with the Pareto front of both.

use super::charted_run::{ChartedRun, GateResult, marked, within};
use super::spec::{
    Chart, ChartAxis, ChartPoint, ChartTable, LimitLine, LineAxis, Marks, Panel, Scale, Series, Stroke, Tone,
    mark_label,
};
use ncugate_model::number;
use ncugate_model::number::text::inside;

/// Above this number, points are small dots.
const MANY: usize = 400;

/// The chart, if occupancy and objective were measured for at least one variant.
pub fn chart(run: &ChartedRun<'_>) -> Option<Chart> {
    let occupancy = run.occupancy?;
    let measured = run
        .variants
        .iter()
        .filter_map(|v| Some((v, (run.value(v, run.objective_shape, occupancy)?, run.objective_of(v)?))));
    let (points, off_the_scale) = within(measured.collect(), |(_, y)| *y);
    if points.is_empty() {
        return None;
    }
    let ((x_title, x_unit), (y_title, y_unit)) = (run.described(occupancy), run.described(run.objective));
    let best = run.front.last().map_or_else(String::new, |(x, y)| {
        format!(" The front ends at {} and {}.", number::with_unit(*x, x_unit), number::with_unit(*y, y_unit))
    });
    let label = |name: &str, x, y| mark_label(name, &[(x_title, x, x_unit), (y_title, y, y_unit)]);
    let drawn: Vec<_> =
        points.iter().map(|(v, (x, y))| (*v, ChartPoint { x: *x, y: *y, label: label(&v.label, *x, *y) })).collect();
    let front = Series::new("Pareto front", Tone::Muted, Marks::Line(Stroke::Solid, run.front.clone()));
    let series = std::iter::once(front).chain(marked(&drawn, MANY)).collect();
    let axis = |title, unit| ChartAxis::new(title, unit, Scale::Linear);
    let panel = Panel::new(axis(x_title, x_unit), axis(y_title, y_unit), series);
    Some(Chart {
        id: "latency-occupancy".to_owned(),
        title: format!("What does {} do to {}?", inside(x_title), inside(y_title)),
        note: format!(
            "The line joins the variants that no other beats on both; where it is flat, more occupancy buys nothing.{off_the_scale}",
        ),
        alt: format!("{} points at shape {}.{best}", points.len(), run.shape_name(run.objective_shape)),
        table: ChartTable::new(
            ["variant", x_title, y_title],
            points.iter().map(|(v, (x, y))| vec![v.label.to_string(), number::plain(*x), number::plain(*y)]),
        ),
        panels: vec![Panel { limits: limits(run, occupancy), ..panel }],
    })
}

fn limits(run: &ChartedRun<'_>, occupancy: &str) -> Vec<LimitLine> {
    let line = |gate: &GateResult| {
        let across = match gate.metric.as_ref()? {
            metric if *metric == occupancy => LineAxis::X,
            metric if *metric == run.objective => LineAxis::Y,
            _ => return None,
        };
        Some(LimitLine { across, value: gate.summary.limit.as_ref()?.value, label: gate.require.to_string() })
    };
    run.gates.iter().filter_map(line).collect()
}
