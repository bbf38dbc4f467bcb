//! Kernels of reports under the ceilings of the chip. The caller names the points.

use super::roofline::ceiling;
use super::spec::{Chart, ChartAxis, ChartPoint, ChartTable, Glyph, Marks, Scale, Series, Tone, mark_label};
use crate::explain::Roofline;
use ncugate_model::number;

/// Points with a label and a separate series; the rest are drawn as dots.
const NAMED: usize = 6;

/// The chart, if the roofline has kernels; `label` gives the name of a point by its position.
pub fn kernel_roofline(roof: &Roofline, label: &dyn Fn(&str) -> String) -> Option<Chart> {
    let points: Vec<ChartPoint> = roof
        .points
        .iter()
        .map(|point| {
            let (x, y) = (point.intensity, point.performance / 1e12);
            let name = label(&point.variant.0);
            let label =
                mark_label(&name, &[("operations a DRAM byte", x, "FLOP/B"), ("operations a second", y, "TFLOP/s")]);
            ChartPoint { x, y, label }
        })
        .collect();
    let lowest = points.iter().map(|p| p.x).fold(f64::INFINITY, f64::min);
    let highest = points.iter().map(|p| p.x).fold(0.0, f64::max);
    if !lowest.is_finite() || lowest <= 0.0 {
        return None;
    }
    let mut series: Vec<Series> =
        roof.ceilings.iter().enumerate().map(|(at, c)| ceiling(roof, at, c, (lowest, highest))).collect();
    for (at, point) in points.iter().take(NAMED).enumerate() {
        let name = roof.points.get(at).map_or_else(String::new, |point| label(&point.variant.0));
        series.push(Series { name, tone: Tone::Nth(at), marks: Marks::Points(Glyph::Disc, vec![point.clone()]) });
    }
    if points.len() > NAMED {
        let rest = points.iter().skip(NAMED).cloned().collect();
        series.push(Series {
            name: "other kernels".to_owned(),
            tone: Tone::Muted,
            marks: Marks::Points(Glyph::Dot, rest),
        });
    }
    let attained = roof.points.iter().map(|point| {
        vec![
            label(&point.variant.0),
            number::plain(point.intensity),
            number::plain(point.performance / 1e12),
            number::plain(point.attained_pct),
        ]
    });
    let best = roof.points.first().map_or_else(String::new, |point| {
        format!("{} reaches {:.0} % of its roof. ", label(&point.variant.0), point.attained_pct)
    });
    Some(Chart {
        id: "roofline".to_owned(),
        title: "Roofline".to_owned(),
        note: format!(
            "{best}Ceilings: {} of device memory and the compute peaks named, at the clocks that ran. Times are durations \
             under ncu; operations are those that were counted.",
            number::with_unit(roof.bandwidth, "byte/s")
        ),
        x: ChartAxis::new("operations a DRAM byte", "FLOP/B", Scale::Log),
        y: ChartAxis::new("operations a second", "TFLOP/s", Scale::Log),
        series,
        limits: Vec::new(),
        alt: format!("{} under {} ceilings.", number::counted(points.len(), "kernel"), roof.ceilings.len()),
        table: ChartTable::new(["kernel", "FLOP/B", "TFLOP/s", "% of the roof"], attained),
    })
}
