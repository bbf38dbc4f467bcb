//! Kernels of a report under the ceilings of the chip, one point for each kernel and precision.

use super::roofline::ceiling;
use super::spec::{Chart, ChartAxis, ChartPoint, ChartTable, Glyph, Marks, Scale, Series, Tone, mark_label};
use crate::explain::{Ceiling, Roofline};
use ncugate_model::number;

/// Most points drawn; the table holds more.
const DRAWN: usize = 400;
const GLYPHS: [Glyph; 5] = [Glyph::Disc, Glyph::Diamond, Glyph::Triangle, Glyph::Cross, Glyph::Dot];

/// A kernel's work in one precision.
#[derive(Debug, Clone, PartialEq)]
pub struct KernelPoint {
    /// The kernel's short name.
    pub kernel: String,
    /// `FP32`, `FP16 tensor`.
    pub precision: &'static str,
    /// Operations per byte of device memory.
    pub intensity: f64,
    /// Operations per second.
    pub rate: f64,
    /// Percent of the roof of the precision at this intensity, if the peak is known.
    pub attained: Option<f64>,
}

/// The chart; none without points or ceilings. `bandwidth` is the peak of device memory in bytes per second, and a
/// ceiling has the name of its precision.
pub fn kernel_roofline(bandwidth: f64, mut ceilings: Vec<Ceiling>, points: &[KernelPoint]) -> Option<Chart> {
    let lowest = points.iter().map(|point| point.intensity).fold(f64::INFINITY, f64::min);
    let highest = points.iter().map(|point| point.intensity).fold(0.0, f64::max);
    if points.is_empty() || ceilings.is_empty() {
        return None;
    }
    ceilings.sort_by(|a, b| a.peak.total_cmp(&b.peak));
    let roof = Roofline { bandwidth, ceilings, points: Vec::new() };
    let mut series: Vec<Series> =
        roof.ceilings.iter().enumerate().map(|(at, c)| ceiling(&roof, at, c, (lowest, highest))).collect();
    let mut precisions: Vec<&str> = Vec::new();
    for point in points {
        if !precisions.contains(&point.precision) {
            precisions.push(point.precision);
        }
    }
    for (at, precision) in precisions.iter().enumerate() {
        let of = points.iter().filter(|point| point.precision == *precision).take(DRAWN).map(drawn).collect();
        let glyph = GLYPHS.get(at % GLYPHS.len()).copied().unwrap_or(Glyph::Disc);
        let name = format!("kernels, {precision}");
        series.push(Series { name, tone: Tone::Nth(at), marks: Marks::Points(glyph, of) });
    }
    let rows = points.iter().map(|point| {
        vec![
            point.kernel.clone(),
            point.precision.to_owned(),
            number::plain(point.intensity),
            number::plain(point.rate / 1e12),
            point.attained.map_or_else(|| "peak not known".to_owned(), number::plain),
        ]
    });
    let first = points.iter().find_map(|point| Some((point, point.attained?)));
    let first = first.map_or_else(String::new, |(point, attained)| {
        let (kernel, precision) = (&point.kernel, point.precision);
        format!("{kernel} reaches {} of its {precision} roof. ", number::share(attained))
    });
    Some(Chart {
        id: "roofline".to_owned(),
        title: "Roofline".to_owned(),
        note: format!(
            "{first}The ceilings are {} of device memory and the compute peaks, at the clocks of the launches. Left of \
             a ridge point memory bandwidth is the limit, right of it arithmetic.",
            number::with_unit(roof.bandwidth, "byte/s")
        ),
        x: ChartAxis::new("operations per byte of device memory", "FLOP/B", Scale::Log),
        y: ChartAxis::new("operations per second", "TFLOP/s", Scale::Log),
        series,
        limits: Vec::new(),
        alt: format!(
            "{} under {}.",
            number::counted(points.len(), "point"),
            number::counted(roof.ceilings.len(), "ceiling")
        ),
        table: ChartTable::new(["kernel", "precision", "FLOP/B", "TFLOP/s", "% of the roof"], rows),
    })
}

fn drawn(point: &KernelPoint) -> ChartPoint {
    let KernelPoint { kernel, precision, intensity, rate, attained } = point;
    let (x, y) = (*intensity, rate / 1e12);
    let mut values =
        vec![("operations per byte of device memory", x, "FLOP/B"), ("operations per second", y, "TFLOP/s")];
    values.extend(attained.map(|share| ("share of the roof", share, "%")));
    let label = mark_label(&format!("{kernel}, {precision}"), &values);
    ChartPoint { x, y, label }
}
