//! The objective over one dimension of the workload, with the others constant.

use super::charted_run::ChartedRun;
use super::spec::{Chart, ChartAxis, ChartPoint, ChartTable, Glyph, Marks, Scale, Series, Stroke, Tone};
use ncugate_model::number;

/// Variants shown in addition to the baselines.
const LEADERS: usize = 3;

/// A chart for every dimension along which at least two shapes differ in nothing else.
pub fn charts(run: &ChartedRun<'_>) -> Vec<Chart> {
    let Some(base) = run.shapes.get(run.objective_shape).map(|shape| shape.dims) else { return Vec::new() };
    base.iter().filter_map(|(dimension, _)| chart(run, base, dimension)).collect()
}

fn chart(run: &ChartedRun<'_>, base: &[(String, i64)], dimension: &str) -> Option<Chart> {
    let alone = |dims: &[(String, i64)]| {
        dims.len() == base.len() && dims.iter().zip(base).all(|(a, b)| a.0 == b.0 && (a.0 == dimension || a.1 == b.1))
    };
    let extent = |dims: &[(String, i64)]| dims.iter().find(|d| d.0 == dimension).map(|d| d.1);
    let mut along: Vec<(usize, i64)> = run
        .shapes
        .iter()
        .enumerate()
        .filter(|(_, shape)| alone(shape.dims))
        .filter_map(|(at, shape)| Some((at, extent(shape.dims)?)))
        .collect();
    along.sort_by_key(|(_, extent)| *extent);
    along.dedup_by_key(|(_, extent)| *extent);
    let mut series = Vec::new();
    let mut rows = Vec::new();
    for (at, variant) in run.leaders(LEADERS).into_iter().enumerate() {
        let points: Vec<(f64, f64)> = along
            .iter()
            .filter_map(|(shape, extent)| Some((*extent as f64, run.value(variant, *shape, run.objective)?)))
            .collect();
        if points.len() < 2 {
            continue;
        }
        rows.extend(points.iter().map(|(x, y)| vec![variant.label.to_string(), number::plain(*x), number::plain(*y)]));
        let marks = |(x, y): &(f64, f64)| ChartPoint {
            x: *x,
            y: *y,
            label: format!("{} at {dimension} = {x}: {}", variant.label, number::plain(*y)),
        };
        let dots = points.iter().map(marks).collect();
        let glyph = [Glyph::Disc, Glyph::Triangle, Glyph::Diamond, Glyph::Cross][at % 4];
        let (name, tone) = (variant.short.to_string(), Tone::Nth(at));
        series.push(Series { name: String::new(), tone, marks: Marks::Line(Stroke::Solid, points) });
        series.push(Series { name, tone, marks: Marks::Points(glyph, dots) });
    }
    if series.is_empty() {
        return None;
    }
    let (title, unit) = run.described(run.objective);
    Some(Chart {
        id: format!("scaling-{}", dimension.to_ascii_lowercase().replace(|c: char| !c.is_ascii_alphanumeric(), "-")),
        title: format!("Scaling over {dimension}"),
        note: "Both axes are logarithmic: a straight line is a power law.".to_owned(),
        x: ChartAxis::new(dimension, "", Scale::Log),
        y: ChartAxis::new(title, unit, Scale::Log),
        alt: format!("{title} over {} values of {dimension}.", along.len()),
        series,
        limits: Vec::new(),
        table: ChartTable::new(["variant", dimension, title], rows),
    })
}
