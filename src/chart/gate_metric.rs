//! Each gated metric with its limit, over the variants from best to last.

use super::context::{Context, described, inside};
use super::spec::{Across, Axis, Chart, Glyph, LimitLine, Marks, Point, Scale, Series, Stroke, Table, Tone, quartiles};
use crate::gate::Verdict;
use crate::report::{GateRow, Report, VariantRow, number};

/// Variants above which groups of them are summarised.
const SEPARATE: usize = 200;
/// Groups of variants in a summary.
const GROUPS: usize = 50;

/// A chart for every gate on a metric; the first gate of a metric names the limit, the others add lines.
pub fn charts(report: &Report, context: &Context) -> Vec<Chart> {
    let mut charts: Vec<Chart> = Vec::new();
    for gate in &report.gates {
        let Some(metric) = gate.metric.as_deref() else { continue };
        let id = format!("gate-{}", slug(metric));
        if let Some(known) = charts.iter_mut().find(|c| c.id == id) {
            known.limits.extend(limit(gate));
        } else {
            charts.extend(chart(report, context, gate, metric, id));
        }
    }
    charts
}

fn chart(report: &Report, context: &Context, gate: &GateRow, metric: &str, id: String) -> Option<Chart> {
    let shape = report.objective_shape;
    let at = report.gates.iter().position(|g| g.name == gate.name)?;
    let points: Vec<(&VariantRow, usize, f64)> =
        report.variants.iter().filter_map(|v| Some((v, v.rank?, report.value(v, shape, metric)?))).collect();
    if points.is_empty() {
        return None;
    }
    let (title, unit) = described(report, metric);
    let series = if points.len() > SEPARATE { summary(&points) } else { separate(&points, at) };
    let values: Vec<f64> = points.iter().map(|p| p.2).collect();
    let [least, _, median, _, most] = quartiles(&values)?;
    Some(Chart {
        id,
        title: title.to_owned(),
        note: format!("{} over the correct variants, best first.", gate.require),
        x: Axis::new(&format!("rank by {}", inside(described(report, &context.objective).0)), "", Scale::Linear),
        y: Axis::new(title, unit, if least >= 0.0 { Scale::Zero } else { Scale::Linear }),
        series,
        limits: limit(gate).into_iter().collect(),
        alt: format!(
            "{} variants from {} to {}, median {}; required: {}.",
            points.len(),
            number::plain(least),
            number::with_unit(most, unit),
            number::plain(median),
            gate.require
        ),
        table: Table::new(
            ["rank", "variant", title],
            points.iter().map(|(v, rank, y)| vec![rank.to_string(), v.label.clone(), number::plain(*y)]),
        ),
    })
}

fn separate(points: &[(&VariantRow, usize, f64)], gate: usize) -> Vec<Series> {
    let verdict = |v: &VariantRow| v.gates.get(gate).and_then(Option::as_ref).map(|c| c.verdict);
    let of = |name: &str, tone, glyph, keep: &dyn Fn(&VariantRow) -> bool| {
        let point = |(v, rank, y): &(&VariantRow, usize, f64)| Point {
            x: *rank as f64,
            y: *y,
            label: format!("{}: {}", v.label, number::plain(*y)),
        };
        let marks = points.iter().filter(|(v, ..)| keep(v)).map(point).collect();
        Series { name: name.to_owned(), tone, marks: Marks::Points(glyph, marks) }
    };
    let mut series = vec![
        of("fails", Tone::Bad, Glyph::Cross, &|v| verdict(v) == Some(Verdict::Fail)),
        of("holds", Tone::Good, Glyph::Disc, &|v| verdict(v) == Some(Verdict::Pass)),
        of("not judged", Tone::Muted, Glyph::Triangle, &|v| matches!(verdict(v), None | Some(Verdict::Inconclusive))),
        of("selected", Tone::Chosen, Glyph::Ring, &|v| v.selected),
    ];
    series.retain(|s| !matches!(&s.marks, Marks::Points(_, points) if points.is_empty()));
    series
}

/// Least, median and greatest of groups of neighbours by rank.
fn summary(points: &[(&VariantRow, usize, f64)]) -> Vec<Series> {
    let size = points.len().div_ceil(GROUPS);
    let groups: Vec<(f64, [f64; 5])> = points
        .chunks(size)
        .filter_map(|group| {
            let values: Vec<f64> = group.iter().map(|p| p.2).collect();
            Some((group[group.len() / 2].1 as f64, quartiles(&values)?))
        })
        .collect();
    let line = |name: &str, tone, stroke, at: usize| Series {
        name: format!("{name} of {size} neighbours"),
        tone,
        marks: Marks::Line(stroke, groups.iter().map(|(rank, q)| (*rank, q[at])).collect()),
    };
    vec![
        line("greatest", Tone::Muted, Stroke::Dashed, 4),
        line("median", Tone::Good, Stroke::Solid, 2),
        line("least", Tone::Muted, Stroke::Dashed, 0),
    ]
}

fn limit(gate: &GateRow) -> Option<LimitLine> {
    Some(LimitLine { across: Across::Y, value: gate.limit.as_ref()?.value, label: gate.require.clone() })
}

/// A metric's name as part of a file name.
fn slug(name: &str) -> String {
    let kept: String =
        name.chars().map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' }).collect();
    kept.chars().take(60).collect()
}
