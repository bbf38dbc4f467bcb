//! The range of an axis.

use crate::chart::spec::{Chart, LineAxis, Marks, Scale};

/// Largest magnitude on an axis; its reciprocal is the smallest. Beyond it, the difference or the ratio of two ends may
/// overflow. Values outside are drawn at the end of the axis.
pub const FARTHEST: f64 = 1e300;
/// Least relative difference of two values that are distinguishable on an axis.
const APART: f64 = 1e-9;

/// Ends of an axis of a chart: finite, the first below the second, both positive on a logarithmic axis.
pub fn ends(chart: &Chart, across: LineAxis) -> (f64, f64) {
    let (low, high) = least_and_greatest(chart, across);
    match scale(chart, across) {
        Scale::Log | Scale::Extents(_) => ((low / 1.15).max(1.0 / FARTHEST), (high * 1.15).min(FARTHEST)),
        Scale::Zero => (low.min(0.0), if high > 0.0 { high * 1.06 } else { 1.0 }),
        Scale::Names(names) => (-0.5, names.len().max(1) as f64 - 0.5),
        Scale::Linear | Scale::Count => {
            let differ = high - low > low.abs().max(high.abs()) * APART;
            let pad = if differ { (high - low) * 0.06 } else { high.abs().max(1.0) * 0.1 };
            let floor = low - pad;
            (if low >= 0.0 { floor.max(0.0) } else { floor }, high + pad)
        }
    }
}

/// The scale of an axis.
pub fn scale(chart: &Chart, across: LineAxis) -> &Scale {
    match across {
        LineAxis::X => &chart.x.scale,
        LineAxis::Y => &chart.y.scale,
    }
}

/// Minimum and maximum along an axis, limits included; 0.1 to 1 without values.
fn least_and_greatest(chart: &Chart, across: LineAxis) -> (f64, f64) {
    let least = match scale(chart, across) {
        Scale::Log | Scale::Extents(_) => 1.0 / FARTHEST,
        Scale::Linear | Scale::Zero | Scale::Count | Scale::Names(_) => -FARTHEST,
    };
    let positive = least > 0.0;
    let shown = values(chart, across).into_iter().filter(|v| v.is_finite() && (!positive || *v > 0.0));
    let clamped = shown.map(|v| v.clamp(least, FARTHEST));
    let (low, high) = clamped.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), v| (low.min(v), high.max(v)));
    if low.is_finite() { (low, high) } else { (0.1, 1.0) }
}

fn values(chart: &Chart, across: LineAxis) -> Vec<f64> {
    let mut values: Vec<f64> = chart.limits.iter().filter(|l| l.across == across).map(|l| l.value).collect();
    for series in &chart.series {
        match (&series.marks, across) {
            (Marks::Points(_, points), LineAxis::X) => values.extend(points.iter().map(|p| p.x)),
            (Marks::Points(_, points), LineAxis::Y) => values.extend(points.iter().map(|p| p.y)),
            (Marks::Line(_, points), LineAxis::X) => values.extend(points.iter().map(|p| p.0)),
            (Marks::Line(_, points), LineAxis::Y) => values.extend(points.iter().map(|p| p.1)),
            (Marks::Bars(bars), LineAxis::X) => values.extend(bars.iter().flat_map(|b| [b.from, b.to])),
            (Marks::Boxes(boxes), LineAxis::X) => values.extend(boxes.iter().flat_map(|b| b.quartiles)),
            (Marks::Columns(columns), LineAxis::X) => values.extend(columns.iter().flat_map(|c| [c.from, c.to])),
            (Marks::Bars(_) | Marks::Boxes(_) | Marks::Columns(_), LineAxis::Y) => {}
        }
    }
    values
}
