//! The objective against occupancy, with the Pareto front of both.

use super::charted_run::{ChartedRun, GateResult, VariantMark, VariantRole, VariantRow};
use super::outliers::{FAR, off_the_scale};
use super::spec::{
    Chart, ChartAxis, ChartPoint, ChartTable, Glyph, LimitLine, LineAxis, Marks, Scale, Series, Stroke, Tone,
    mark_label,
};
use ncugate_model::number;
use ncugate_model::number::text::inside;

/// Above this number, points are small dots without names.
const NAMED: usize = 400;

/// The chart, if occupancy and objective were measured for at least one variant.
pub fn chart(run: &ChartedRun<'_>) -> Option<Chart> {
    let shape = run.objective_shape;
    let occupancy = run.occupancy?;
    let points: Vec<OccupancyPoint<'_>> = run
        .variants
        .iter()
        .filter_map(|v| Some((v, run.value(v, shape, occupancy)?, run.value(v, shape, run.objective)?)))
        .collect();
    let (points, beyond) = within(points);
    if points.is_empty() {
        return None;
    }
    let (x_title, x_unit) = run.described(occupancy);
    let (y_title, y_unit) = run.described(run.objective);
    let front = run.front.clone();
    let best = front.last().map_or_else(String::new, |(x, y)| {
        format!(" The front ends at {} and {}.", number::with_unit(*x, x_unit), number::with_unit(*y, y_unit))
    });
    Some(Chart {
        id: "latency-occupancy".to_owned(),
        title: format!("What does {} do to {}?", inside(x_title), inside(y_title)),
        note: format!(
            "The line joins the variants that no other beats on both; where it is flat, more occupancy buys nothing.{}",
            off_the_scale(&beyond)
        ),
        x: ChartAxis::new(x_title, x_unit, Scale::Linear),
        y: ChartAxis::new(y_title, y_unit, Scale::Linear),
        series: series(&points, front, [(x_title, x_unit), (y_title, y_unit)]),
        limits: limits(run, occupancy, run.objective),
        alt: format!("{} points at shape {}.{best}", points.len(), run.shape_name(shape)),
        table: ChartTable::new(
            ["variant", x_title, y_title],
            points.iter().map(|(v, x, y)| vec![v.label.to_string(), number::plain(*x), number::plain(*y)]),
        ),
    })
}

/// A variant with its occupancy and objective.
type OccupancyPoint<'r> = (&'r VariantRow, f64, f64);

/// Splits off baselines that are so distant from every candidate that they would flatten the picture.
fn within<'r>(points: Vec<OccupancyPoint<'r>>) -> (Vec<OccupancyPoint<'r>>, Vec<(&'r VariantRow, f64)>) {
    let candidates = points.iter().filter(|(v, ..)| v.standing == VariantRole::Candidate);
    let highest = candidates.map(|p| p.2).fold(f64::NEG_INFINITY, f64::max);
    let far = |v: &VariantRow, y: f64| v.standing == VariantRole::Baseline && highest.is_finite() && y > highest * FAR;
    let beyond = points.iter().filter(|(v, _, y)| far(v, *y)).map(|(v, _, y)| (*v, *y)).collect();
    (points.into_iter().filter(|(v, _, y)| !far(v, *y)).collect(), beyond)
}

/// The points and the front; `titles` are title and unit of both axes.
fn series(points: &[OccupancyPoint<'_>], front: Vec<(f64, f64)>, titles: [(&str, &str); 2]) -> Vec<Series> {
    let many = points.len() > NAMED;
    let kept = |keep: &dyn Fn(&VariantRow) -> bool| -> Vec<ChartPoint> {
        let point = |(v, x, y): &OccupancyPoint<'_>| ChartPoint {
            x: *x,
            y: *y,
            label: mark_label(&v.label, &[(titles[0].0, *x, titles[0].1), (titles[1].0, *y, titles[1].1)]),
        };
        points.iter().filter(|(v, ..)| keep(v)).map(point).collect()
    };
    let of =
        |name: &str, tone, glyph, points| Series { name: name.to_owned(), tone, marks: Marks::Points(glyph, points) };
    let drawn = |mark: VariantMark, glyph| match mark {
        VariantMark::Baseline => glyph,
        _ if many => Glyph::Dot,
        _ => glyph,
    };
    let line = Marks::Line(Stroke::Solid, front);
    let mut series = vec![Series { name: "Pareto front".to_owned(), tone: Tone::Muted, marks: line }];
    series.extend(
        VariantMark::ALL
            .iter()
            .map(|(mark, name, tone, glyph)| of(name, *tone, drawn(*mark, *glyph), kept(&|v| v.mark() == *mark))),
    );
    series.push(of("selected", Tone::Chosen, Glyph::Ring, kept(&|v| v.selected)));
    series.retain(|s| !matches!(&s.marks, Marks::Points(_, points) if points.is_empty()));
    series
}

fn limits(run: &ChartedRun<'_>, x: &str, y: &str) -> Vec<LimitLine> {
    let line = |gate: &GateResult| {
        let across = match gate.metric.as_ref()? {
            metric if *metric == x => LineAxis::X,
            metric if *metric == y => LineAxis::Y,
            _ => return None,
        };
        Some(LimitLine { across, value: gate.summary.limit.as_ref()?.value, label: gate.require.to_string() })
    };
    run.gates.iter().filter_map(line).collect()
}
