//! The objective over each dimension of the workload, with the others constant: a panel for each dimension.

use super::charted_run::ChartedRun;
use super::spec::{
    Chart, ChartAxis, ChartPoint, ChartTable, Glyph, Marks, Panel, Scale, Series, Stroke, Tone, mark_label,
};
use ncugate_model::number;
use ncugate_model::number::text::inside;

/// Variants shown in addition to the baselines.
const LEADERS: usize = 3;

/// A panel for every dimension along which at least two shapes differ in nothing else.
pub fn chart(run: &ChartedRun<'_>) -> Option<Chart> {
    let base = run.shapes.get(run.objective_shape).map(|shape| shape.dims)?;
    let mut rows = Vec::new();
    let panels: Vec<Panel> = base.iter().filter_map(|(dimension, _)| panel(run, base, dimension, &mut rows)).collect();
    let title = run.described(run.objective).0;
    let dimensions: Vec<&str> = panels.iter().map(|panel| panel.x.label.as_str()).collect();
    let alt = format!("{title} over {}.", dimensions.join(", "));
    (!panels.is_empty()).then(|| Chart {
        id: "scaling".to_owned(),
        title: format!("How does {} grow with the shape?", inside(title)),
        note: "On two logarithmic axes a straight line is a power law.".to_owned(),
        alt,
        table: ChartTable::new(["variant", "dimension", "extent", title], rows),
        panels,
    })
}

fn panel(run: &ChartedRun<'_>, base: &[(String, i64)], dimension: &str, rows: &mut Vec<Vec<String>>) -> Option<Panel> {
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
    let (title, unit) = run.described(run.objective);
    let mut series = Vec::new();
    for (at, variant) in run.leaders(LEADERS).into_iter().enumerate() {
        let points: Vec<(f64, f64)> = along
            .iter()
            .filter_map(|(shape, extent)| Some((*extent as f64, run.value(variant, *shape, run.objective)?)))
            .collect();
        if points.len() < 2 {
            continue;
        }
        let row = |(x, y): &(f64, f64)| {
            [&variant.label, dimension].map(str::to_owned).into_iter().chain([*x, *y].map(number::plain)).collect()
        };
        rows.extend(points.iter().map(row));
        let marks = |(x, y): &(f64, f64)| ChartPoint {
            x: *x,
            y: *y,
            label: mark_label(&variant.label, &[(title, *y, unit), (&format!("at {dimension} ="), *x, "")]),
        };
        let dots = points.iter().map(marks).collect();
        series.push(Series::new("", Tone::Nth(at), Marks::Line(Stroke::Solid, points)));
        series.push(Series::new(variant.short.to_string(), Tone::Nth(at), Marks::Points(Glyph::nth(at), dots)));
    }
    let extents = along.iter().map(|(_, extent)| *extent as f64).collect();
    let (x, y) = (ChartAxis::new(dimension, "", Scale::Extents(extents)), ChartAxis::new(title, unit, Scale::Log));
    (!series.is_empty()).then(|| Panel::new(x, y, series))
}
