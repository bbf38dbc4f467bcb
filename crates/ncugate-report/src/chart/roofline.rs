//! Work per second against work per byte, under the ceilings of the chip: of the variants of a run, or of the kernels of
//! a report.

use super::charted_run::{ChartedRun, VariantRow, marked};
use super::spec::{
    Chart, ChartAxis, ChartPoint, ChartTable, Glyph, LineAxis, Marks, Panel, Scale, Series, Stroke, Tone, mark_label,
};
use ncu_explain::Ceiling;
use ncugate_model::number;
use std::collections::HashMap;

/// Most points drawn; the table holds more.
const DRAWN: usize = 400;
/// Titles and units of the axes.
const AXES: [(&str, &str); 2] =
    [("operations per byte of device memory", "FLOP/B"), ("operations per second", "TFLOP/s")];

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

/// The peak of device memory.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MemoryRoof {
    /// Bytes per second.
    pub rate: f64,
    /// Whether it is that of clock and bus, not of ncu's counter.
    pub is_by_data_sheet: bool,
}

/// The chart of a run, if DRAM bytes and the chip's peaks were measured.
///
/// Work per second uses the undisturbed latency, not the duration under the profiler.
pub fn chart(run: &ChartedRun<'_>) -> Option<Chart> {
    let roof = run.roofline.as_ref()?;
    let rows: HashMap<&str, &VariantRow> = run.variants.iter().map(|v| (v.id.as_str(), v)).collect();
    let placed = roof.points.iter().filter_map(|point| {
        let variant = *rows.get(point.variant.0.as_str())?;
        Some((variant, drawn(&variant.label, point.intensity, point.performance, None)))
    });
    let points: Vec<(&VariantRow, ChartPoint)> = placed.collect();
    let cells = |(v, point): &(&VariantRow, ChartPoint)| {
        vec![v.label.to_string(), number::plain(point.x), number::plain(point.y)]
    };
    let shown = &points[..points.len().min(DRAWN)];
    let memory = MemoryRoof { rate: roof.bandwidth, is_by_data_sheet: roof.is_bandwidth_by_data_sheet };
    under(memory, &roof.ceilings, marked(shown, DRAWN), |ceilings, panel| Chart {
        id: "roofline".to_owned(),
        title: "Roofline: does memory or arithmetic limit the variants?".to_owned(),
        note: ceilings,
        alt: format!("{} variants under {} ceilings.", points.len(), roof.ceilings.len()),
        table: ChartTable::new(["variant", "FLOP/B", "TFLOP/s"], points.iter().map(cells)),
        panels: vec![panel],
    })
}

/// The chart of a report, with one point for each kernel and precision; none without points or ceilings. A ceiling has the
/// name of its precision. The first `own` points are those of the longest kernel.
pub fn kernel_roofline(
    memory: MemoryRoof,
    mut ceilings: Vec<Ceiling>,
    longest: &str,
    (own, points): (usize, &[KernelPoint]),
) -> Option<Chart> {
    ceilings.sort_by(|a, b| a.peak.total_cmp(&b.peak));
    let mark = |point: &KernelPoint| {
        let name = format!("{}, {}", point.kernel, point.precision);
        drawn(&name, point.intensity, point.rate, point.attained)
    };
    let others = Marks::Points(Glyph::Disc, points[own..].iter().take(DRAWN).map(mark).collect());
    let mut series = vec![Series::new("other kernels", Tone::Muted, others)];
    series.extend(points[..own].iter().enumerate().map(|(at, point)| {
        let name = format!("{longest}, {}", point.precision);
        Series::new(name, Tone::Nth(at), Marks::Points(Glyph::nth(at), vec![mark(point)]))
    }));
    let cells = |point: &KernelPoint| {
        vec![
            point.kernel.clone(),
            point.precision.to_owned(),
            number::plain(point.intensity),
            number::plain(point.rate / 1e12),
            point.attained.map_or_else(|| "peak not known".to_owned(), number::plain),
        ]
    };
    let first = match points[..own].iter().find_map(|point| Some((point.precision, point.attained?))) {
        Some((precision, attained)) => {
            format!("{longest} reaches {} of its {precision} roof. ", number::share(attained))
        }
        None if own == 0 => format!("{longest}, the longest kernel, lacks the counters of a point. "),
        None => String::new(),
    };
    under(memory, &ceilings, series, |note, panel| Chart {
        id: "roofline".to_owned(),
        title: "Roofline".to_owned(),
        note: first + &note,
        alt: format!(
            "{} under {}.",
            number::counted(points.len(), "point"),
            number::counted(ceilings.len(), "ceiling")
        ),
        table: ChartTable::new(["kernel", "precision", "FLOP/B", "TFLOP/s", "% of the roof"], points.iter().map(cells)),
        panels: vec![panel],
    })
}

fn drawn(name: &str, intensity: f64, rate: f64, attained: Option<f64>) -> ChartPoint {
    let [x, y] = [intensity, rate / 1e12];
    let mut values = vec![(AXES[0].0, x, AXES[0].1), (AXES[1].0, y, AXES[1].1)];
    values.extend(attained.map(|share| ("share of the roof", share, "%")));
    ChartPoint { x, y, label: mark_label(name, &values) }
}

/// The chart that `chart` makes of what the ceilings are and of the panel; none without points or ceilings. A ceiling is
/// memory's slope up to the ridge, then the peak; the highest is solid.
fn under(
    memory: MemoryRoof,
    ceilings: &[Ceiling],
    points: Vec<Series>,
    chart: impl FnOnce(String, Panel) -> Chart,
) -> Option<Chart> {
    let intensities: Vec<f64> = points.iter().flat_map(|series| series.marks.values(LineAxis::X)).collect();
    let (lowest, highest) = (
        ceilings.iter().map(|c| c.ridge).chain(intensities.iter().copied()).fold(f64::INFINITY, f64::min),
        intensities.iter().copied().fold(0.0, f64::max),
    );
    if intensities.is_empty() || ceilings.is_empty() {
        return None;
    }
    let ceiling = |(at, ceiling): (usize, &Ceiling)| {
        let (left, peak) = (lowest / 4.0, ceiling.peak / 1e12);
        let right = highest.max(ceiling.ridge) * 4.0;
        let line = vec![(left, left * memory.rate / 1e12), (ceiling.ridge, peak), (right, peak)];
        let stroke = if at + 1 == ceilings.len() { Stroke::Solid } else { Stroke::Dashed };
        let name = format!("{} {}", ceiling.name, number::with_unit(ceiling.peak, "flop/s"));
        Series::new(name, Tone::Muted, Marks::Line(stroke, line))
    };
    let series = ceilings.iter().enumerate().map(ceiling).chain(points).collect();
    let [x, y] = AXES.map(|(title, unit)| ChartAxis::new(title, unit, Scale::Log));
    let note = format!(
        "The ceilings are {} of device memory{} and the compute peaks, at the clocks of the launches. Left of a ridge point \
         memory bandwidth is the limit, right of it arithmetic.",
        number::with_unit(memory.rate, "byte/s"),
        if memory.is_by_data_sheet { " (by its clock and bus, not counted)" } else { "" }
    );
    Some(chart(note, Panel::new(x, y, series)))
}
