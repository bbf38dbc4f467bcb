//! Work per second against work per byte, under the ceilings of the chip.

use super::charted_run::{ChartedRun, VariantMark, VariantRow};
use super::spec::{Chart, ChartAxis, ChartPoint, ChartTable, Glyph, Marks, Scale, Series, Stroke, Tone, mark_label};
use crate::explain::{Ceiling, Roofline};
use ncugate_model::number;
use std::collections::HashMap;

/// The chart, if DRAM bytes and the chip's peaks were measured.
///
/// Work per second uses the undisturbed latency, not the duration under the profiler.
pub fn chart(run: &ChartedRun<'_>) -> Option<Chart> {
    let roof = run.roofline.as_ref()?;
    let rows: HashMap<&str, &VariantRow> = run.variants.iter().map(|v| (v.id.as_str(), v)).collect();
    let points: Vec<(&VariantRow, f64, f64)> = roof
        .points
        .iter()
        .filter_map(|s| Some((*rows.get(s.variant.0.as_str())?, s.intensity, s.performance / 1e12)))
        .collect();
    let lowest = points.iter().map(|p| p.1).fold(f64::INFINITY, f64::min);
    let highest = points.iter().map(|p| p.1).fold(0.0, f64::max);
    if !lowest.is_finite() {
        return None;
    }
    let mut series: Vec<Series> =
        roof.ceilings.iter().enumerate().map(|(at, c)| ceiling(roof, at, c, (lowest, highest))).collect();
    series.extend(measured(&points));
    Some(Chart {
        id: "roofline".to_owned(),
        title: "Roofline: does memory or arithmetic limit the variants?".to_owned(),
        note: format!(
            "Ceilings: {} of device memory and the compute peaks named, at the clocks that ran. Left of a ridge \
             point memory bandwidth is the limit, right of it arithmetic.",
            number::with_unit(roof.bandwidth, "byte/s")
        ),
        x: ChartAxis::new("operations a DRAM byte", "FLOP/B", Scale::Log),
        y: ChartAxis::new("operations a second", "TFLOP/s", Scale::Log),
        series,
        limits: Vec::new(),
        alt: format!("{} variants under {} ceilings.", points.len(), roof.ceilings.len()),
        table: ChartTable::new(
            ["variant", "FLOP/B", "TFLOP/s"],
            points.iter().map(|(v, x, y)| vec![v.label.to_string(), number::plain(*x), number::plain(*y)]),
        ),
    })
}

/// Memory's slope up to the ridge, then the peak.
pub(super) fn ceiling(roof: &Roofline, at: usize, ceiling: &Ceiling, (lowest, highest): (f64, f64)) -> Series {
    let first = roof.ceilings.iter().map(|c| c.ridge).fold(lowest, f64::min);
    let left = first / 4.0;
    let peak = ceiling.peak / 1e12;
    let line =
        vec![(left, left * roof.bandwidth / 1e12), (ceiling.ridge, peak), (highest.max(ceiling.ridge) * 4.0, peak)];
    let stroke = if at + 1 == roof.ceilings.len() { Stroke::Solid } else { Stroke::Dashed };
    let name = format!("{} {}", ceiling.name, number::with_unit(ceiling.peak, "flop/s"));
    Series { name, tone: Tone::Muted, marks: Marks::Line(stroke, line) }
}

fn measured(points: &[(&VariantRow, f64, f64)]) -> Vec<Series> {
    let of = |name: &str, tone, glyph, keep: &dyn Fn(&VariantRow) -> bool| {
        let label = |v: &VariantRow, x: f64, y: f64| {
            mark_label(&v.label, &[("operations a DRAM byte", x, "FLOP/B"), ("operations a second", y, "TFLOP/s")])
        };
        let kept = points.iter().filter(|(v, ..)| keep(v)).take(400);
        let marks = kept.map(|(v, x, y)| ChartPoint { x: *x, y: *y, label: label(v, *x, *y) }).collect();
        Series { name: name.to_owned(), tone, marks: Marks::Points(glyph, marks) }
    };
    let mut series: Vec<Series> = VariantMark::ALL
        .iter()
        .map(|(mark, name, tone, glyph)| of(name, *tone, *glyph, &|v| v.mark() == *mark))
        .collect();
    series.push(of("selected", Tone::Chosen, Glyph::Ring, &|v| v.selected));
    series.retain(|s| !matches!(&s.marks, Marks::Points(_, points) if points.is_empty()));
    series
}
