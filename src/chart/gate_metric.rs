//! Each gated metric with its limit, over the variants from best to last.

use super::context::{Context, described, inside};
use super::spec::{Across, Axis, Chart, Glyph, LimitLine, Marks, Point, Scale, Series, Stroke, Table, Tone, quartiles};
use crate::model::Verdict;
use crate::report::{GateRow, Report, VariantRow, number};

/// Variants above which groups of them are summarised.
const SEPARATE: usize = 200;
/// Groups of variants in a summary.
const GROUPS: usize = 50;

/// Shapes of one gate that are charted.
const SHAPES: usize = 4;

/// A chart for every gate on a metric and shape; the first gate of a metric names the limit, the others add lines.
pub fn charts(report: &Report, context: &Context) -> Vec<Chart> {
    let mut charts: Vec<Chart> = Vec::new();
    for gate in &report.gates {
        let Some(metric) = gate.metric.as_deref() else { continue };
        for place in places(report, gate) {
            let id = match place.shape == report.objective_shape {
                true => format!("gate-{}", slug(metric)),
                false => format!("gate-{}-{}", slug(metric), slug(report.shapes.get(place.shape).map_or("", |s| s))),
            };
            if let Some(known) = charts.iter_mut().find(|c| c.id == id) {
                known.limits.extend(limit(gate, place));
            } else {
                charts.extend(chart(report, context, (gate, place), metric, id));
            }
        }
    }
    charts
}

/// A shape that a gate is judged at, and its limit there.
#[derive(Clone, Copy)]
struct Place {
    /// Index of the shape.
    shape: usize,
    limit: Option<f64>,
}

/// Where a gate is judged, the objective's shape first; there alone where it was judged nowhere.
fn places(report: &Report, gate: &GateRow) -> Vec<Place> {
    let place = |(name, limit): &(String, number::Number)| {
        Some(Place { shape: report.shapes.iter().position(|s| s == name)?, limit: Some(limit.value) })
    };
    let mut places: Vec<Place> = gate.limits.iter().filter_map(place).collect();
    if places.is_empty() {
        places.push(Place { shape: report.objective_shape, limit: gate.limit.as_ref().map(|l| l.value) });
    }
    places.sort_by_key(|p| p.shape != report.objective_shape);
    places.truncate(SHAPES);
    places
}

fn chart(
    report: &Report,
    context: &Context,
    (gate, place): (&GateRow, Place),
    metric: &str,
    id: String,
) -> Option<Chart> {
    let shape = place.shape;
    let shape_name = report.shapes.get(shape).map_or("", String::as_str);
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
        title: match shape == report.objective_shape {
            true => title.to_owned(),
            false => format!("{title} at shape {shape_name}"),
        },
        note: match gate.limits.len() {
            0 | 1 => format!("{} over the correct variants, best first.", gate.require),
            _ => format!(
                "{} at shape {shape_name} over the correct variants, best first; a mark tells whether the gate holds at \
                 all its shapes.",
                gate.require
            ),
        },
        x: Axis::new(&format!("rank by {}", inside(described(report, &context.objective).0)), "", Scale::Count),
        y: Axis::new(title, unit, if least >= 0.0 { Scale::Zero } else { Scale::Linear }),
        series,
        limits: limit(gate, place).into_iter().collect(),
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

fn limit(gate: &GateRow, place: Place) -> Option<LimitLine> {
    Some(LimitLine { across: Across::Y, value: place.limit?, label: gate.require.clone() })
}

/// A metric's name as part of a file name.
fn slug(name: &str) -> String {
    let kept: String =
        name.chars().map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' }).collect();
    kept.chars().take(60).collect()
}
