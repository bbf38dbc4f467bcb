//! Each gated metric with its limit, over the variants from best to last.

use super::charted_run::{ChartedRun, GateResult, VariantRow};
use super::spec::{
    Chart, ChartAxis, ChartPoint, ChartTable, Glyph, LimitLine, LineAxis, Marks, Scale, Series, Stroke, Tone,
    five_numbers,
};
use ncugate_model::number::text::inside;
use ncugate_model::number::{self, Number};
use ncugate_model::{ShapeName, Verdict};

/// Above this number of variants, groups of them are summarised.
const SEPARATE: usize = 200;
/// Groups of variants in a summary.
const GROUPS: usize = 50;

/// Most shapes of one gate that are charted.
const SHAPES: usize = 4;

/// A chart for every gate on a metric and shape; the first gate of a metric names the limit, the others add lines.
pub fn charts(run: &ChartedRun<'_>) -> Vec<Chart> {
    let mut charts: Vec<Chart> = Vec::new();
    for gate in run.gates {
        let Some(metric) = &gate.metric else { continue };
        for place in places(run, gate) {
            let id = match place.shape == run.objective_shape {
                true => format!("gate-{}", slug(metric)),
                false => format!("gate-{}-{}", slug(metric), slug(run.shape_name(place.shape))),
            };
            if let Some(known) = charts.iter_mut().find(|c| c.id == id) {
                known.limits.extend(limit(gate, place));
            } else {
                charts.extend(chart(run, (gate, place), metric, id));
            }
        }
    }
    charts
}

/// A shape at which a gate is judged, and its limit there.
#[derive(Clone, Copy)]
struct Place {
    /// Index of the shape.
    shape: usize,
    limit: Option<f64>,
}

/// The shapes of a gate's judgement, the objective's shape first; only the objective's shape if it was judged nowhere.
fn places(run: &ChartedRun<'_>, gate: &GateResult) -> Vec<Place> {
    let place = |(name, limit): &(ShapeName, Number)| {
        Some(Place { shape: run.shapes.iter().position(|s| name.0 == s.name)?, limit: Some(limit.value) })
    };
    let mut places: Vec<Place> = gate.summary.limits.iter().filter_map(place).collect();
    if places.is_empty() {
        places.push(Place { shape: run.objective_shape, limit: gate.summary.limit.as_ref().map(|limit| limit.value) });
    }
    places.sort_by_key(|p| p.shape != run.objective_shape);
    places.truncate(SHAPES);
    places
}

fn chart(run: &ChartedRun<'_>, (gate, place): (&GateResult, Place), metric: &str, id: String) -> Option<Chart> {
    let shape = place.shape;
    let shape_name = run.shape_name(shape);
    let at = run.gates.iter().position(|g| g.name == gate.name)?;
    let points: Vec<(&VariantRow, usize, f64)> =
        run.variants.iter().filter_map(|v| Some((v, v.rank?, run.value(v, shape, metric)?))).collect();
    if points.is_empty() {
        return None;
    }
    let (title, unit) = run.described(metric);
    let series = if points.len() > SEPARATE { summary(&points) } else { separate(&points, at) };
    let values: Vec<f64> = points.iter().map(|p| p.2).collect();
    let [least, _, median, _, most] = five_numbers(&values)?;
    Some(Chart {
        id,
        title: match shape == run.objective_shape {
            true => title.to_owned(),
            false => format!("{title} at shape {shape_name}"),
        },
        note: match gate.summary.limits.len() {
            0 | 1 => format!("{} over the correct variants, best first.", gate.require),
            _ => format!(
                "{} at shape {shape_name} over the correct variants, best first; a mark shows whether the gate holds at \
                 all its shapes.",
                gate.require
            ),
        },
        x: ChartAxis::new(&format!("rank by {}", inside(run.described(run.objective).0)), "", Scale::Count),
        y: ChartAxis::new(title, unit, if least >= 0.0 { Scale::Zero } else { Scale::Linear }),
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
        table: ChartTable::new(
            ["rank", "variant", title],
            points.iter().map(|(v, rank, y)| vec![rank.to_string(), v.label.to_string(), number::plain(*y)]),
        ),
    })
}

fn separate(points: &[(&VariantRow, usize, f64)], gate: usize) -> Vec<Series> {
    let verdict = |v: &VariantRow| v.compared(gate).map(|c| c.verdict);
    let of = |name: &str, tone, glyph, keep: &dyn Fn(&VariantRow) -> bool| {
        let point = |(v, rank, y): &(&VariantRow, usize, f64)| ChartPoint {
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
        of("inconclusive", Tone::Open, Glyph::Triangle, &|v| verdict(v) == Some(Verdict::Inconclusive)),
        of("not judged", Tone::Muted, Glyph::Dot, &|v| verdict(v).is_none()),
        of("selected", Tone::Chosen, Glyph::Ring, &|v| v.selected),
    ];
    series.retain(|s| !matches!(&s.marks, Marks::Points(_, points) if points.is_empty()));
    series
}

/// Minimum, median and maximum of groups of neighbours by rank.
fn summary(points: &[(&VariantRow, usize, f64)]) -> Vec<Series> {
    let size = points.len().div_ceil(GROUPS);
    let groups: Vec<(f64, [f64; 5])> = points
        .chunks(size)
        .filter_map(|group| {
            let values: Vec<f64> = group.iter().map(|p| p.2).collect();
            Some((group[group.len() / 2].1 as f64, five_numbers(&values)?))
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

fn limit(gate: &GateResult, place: Place) -> Option<LimitLine> {
    Some(LimitLine { across: LineAxis::Y, value: place.limit?, label: gate.require.to_string() })
}

/// A metric's name as part of a file name.
fn slug(name: &str) -> String {
    let kept: String =
        name.chars().map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' }).collect();
    kept.chars().take(60).collect()
}
