//! Each gated metric with its limit, over the variants from best to last: a panel for each metric and shape.

use super::charted_run::{ChartedRun, GateResult, VariantRow};
use super::spec::{
    Chart, ChartAxis, ChartPoint, ChartTable, Glyph, LimitLine, LineAxis, Marks, Panel, Scale, Series, Stroke, Tone,
    five_numbers, mark_label,
};
use ncugate_model::number::text::inside;
use ncugate_model::number::{self, Number};
use ncugate_model::{ShapeName, Verdict};
use std::collections::BTreeSet;

/// Above this number of variants, groups of them are summarised.
const SEPARATE: usize = 200;
/// Groups of variants in a summary.
const GROUPS: usize = 50;

/// Most shapes of one gate that are charted.
const SHAPES: usize = 4;

/// A gated metric at a shape.
struct GatePanel<'r> {
    metric: &'r str,
    shape: usize,
    /// The gate whose verdicts the marks show.
    gate: usize,
    /// The ranked variants that have a value.
    points: Vec<RankedValue<'r>>,
    panel: Panel,
}

/// A variant, its rank and its value.
type RankedValue<'r> = (&'r VariantRow, usize, f64);

/// The panels, if a gate reads a metric and several variants are ranked: of one, the table of gates says as much. The
/// first gate of a metric decides the marks, the others add limits.
pub fn chart(run: &ChartedRun<'_>) -> Option<Chart> {
    if run.variants.iter().filter(|variant| variant.rank.is_some()).count() < 2 {
        return None;
    }
    let mut panels: Vec<GatePanel<'_>> = Vec::new();
    for (at, gate) in run.gates.iter().enumerate() {
        let Some(metric) = &gate.metric else { continue };
        for place in places(run, gate) {
            match panels.iter_mut().find(|known| known.metric == metric.as_str() && known.shape == place.shape) {
                Some(known) => known.panel.limits.extend(limit(gate, place)),
                None => panels.push(panel(run, at, place, metric)),
            }
        }
    }
    let empty = panels.extract_if(.., |panel| panel.points.is_empty());
    let mut empty: BTreeSet<&str> = empty.map(|panel| panel.metric).collect();
    empty.retain(|metric| panels.iter().all(|panel| panel.metric != *metric));
    let empty: Vec<&str> = empty.into_iter().map(|metric| run.described(metric).0).collect();
    let first = panels.first()?;
    let said: Vec<String> = panels.iter().map(|panel| panel.said(run)).collect();
    let groups = if first.points.len() > SEPARATE { "in groups of neighbours" } else { "the best on the left" };
    let without = if empty.is_empty() { String::new() } else { format!(" Without a value: {}.", empty.join(", ")) };
    Some(Chart {
        id: "gate-metrics".to_owned(),
        title: "How far is each variant from the limits?".to_owned(),
        note: format!("Correct variants by rank, {groups}. Dashed: the limit.{without}"),
        alt: format!("{}.", said.join("; ")),
        table: table(run, &panels),
        panels: panels.into_iter().map(|panel| panel.panel).collect(),
    })
}

/// A row for each variant and shape, so that the table has as many columns as there are metrics.
fn table(run: &ChartedRun<'_>, panels: &[GatePanel<'_>]) -> ChartTable {
    let shapes: BTreeSet<usize> = panels.iter().map(|panel| panel.shape).collect();
    let mut metrics: Vec<&str> = Vec::new();
    for panel in panels {
        if !metrics.contains(&panel.metric) {
            metrics.push(panel.metric);
        }
    }
    let ranked = run.variants.iter().filter_map(|variant| Some((variant, variant.rank?)));
    let cells = ranked.flat_map(|(variant, rank)| shapes.iter().map(move |shape| (variant, rank, *shape)));
    let rows = cells.map(|(variant, rank, shape)| {
        let value = |metric: &&str| run.value(variant, shape, metric).map_or_else(|| "n/a".to_owned(), number::plain);
        let names = [rank.to_string(), variant.label.to_string(), run.shape_name(shape).to_owned()];
        names.into_iter().chain(metrics.iter().map(value)).collect()
    });
    let caption = |metric: &&str| {
        let (title, unit) = run.described(metric);
        ChartAxis::new(title, unit, Scale::Linear).caption()
    };
    let names = ["rank", "variant", "shape"].map(str::to_owned);
    ChartTable::new(names.into_iter().chain(metrics.iter().map(caption)), rows)
}

impl GatePanel<'_> {
    /// `Registers from 40 to 96, required: registers <= 64`
    fn said(&self, run: &ChartedRun<'_>) -> String {
        let values: Vec<f64> = self.points.iter().map(|point| point.2).collect();
        let unit = run.described(self.metric).1;
        let range = match five_numbers(&values) {
            Some([least, .., most]) => {
                format!("from {} to {}", number::in_sentence(least, unit), number::in_sentence(most, unit))
            }
            None => "without a value".to_owned(),
        };
        format!("{} {range}, required: {}", self.panel.y.label, run.gates[self.gate].require)
    }
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

fn panel<'r>(run: &ChartedRun<'r>, at: usize, place: Place, metric: &'r str) -> GatePanel<'r> {
    let gate = &run.gates[at];
    let shape = place.shape;
    let ranked = run.variants.iter().filter_map(|variant| Some((variant, variant.rank?)));
    let points: Vec<RankedValue<'_>> =
        ranked.filter_map(|(variant, rank)| Some((variant, rank, run.value(variant, shape, metric)?))).collect();
    let (title, unit) = run.described(metric);
    let title = match shape == run.objective_shape {
        true => title.to_owned(),
        false => format!("{title} at shape {}", run.shape_name(shape)),
    };
    let series = match points.len() {
        0 => Vec::new(),
        few if few <= SEPARATE => separate(&points, at, &title, unit),
        _ => summary(&points),
    };
    let least = points.iter().map(|point| point.2).fold(f64::INFINITY, f64::min);
    let x = ChartAxis::new(&format!("rank by {}", inside(run.described(run.objective).0)), "", Scale::Count);
    let y = ChartAxis::new(&title, unit, if least >= 0.0 { Scale::Zero } else { Scale::Linear });
    let panel = Panel { limits: limit(gate, place).into_iter().collect(), ..Panel::new(x, y, series) };
    GatePanel { metric, shape, gate: at, points, panel }
}

fn separate(points: &[RankedValue<'_>], gate: usize, title: &str, unit: &str) -> Vec<Series> {
    let verdict = |v: &VariantRow| v.compared(gate).map(|c| c.verdict);
    let of = |name: &str, tone, glyph, keep: &dyn Fn(&VariantRow) -> bool| {
        let point = |(v, rank, y): &RankedValue<'_>| ChartPoint {
            x: *rank as f64,
            y: *y,
            label: mark_label(&v.label, &[(title, *y, unit)]),
        };
        let marks = points.iter().filter(|(v, ..)| keep(v)).map(point).collect();
        Series::new(name, tone, Marks::Points(glyph, marks))
    };
    vec![
        of("fail", Tone::Bad, Glyph::Cross, &|v| verdict(v) == Some(Verdict::Fail)),
        of("pass", Tone::Good, Glyph::Disc, &|v| verdict(v) == Some(Verdict::Pass)),
        of("inconclusive", Tone::Open, Glyph::Triangle, &|v| verdict(v) == Some(Verdict::Inconclusive)),
        of("not judged", Tone::Muted, Glyph::Dot, &|v| verdict(v).is_none()),
        of("selected", Tone::Chosen, Glyph::Ring, &|v| v.selected),
    ]
}

/// Minimum, median and maximum of groups of neighbours by rank.
fn summary(points: &[RankedValue<'_>]) -> Vec<Series> {
    let size = points.len().div_ceil(GROUPS);
    let groups: Vec<(f64, [f64; 5])> = points
        .chunks(size)
        .filter_map(|group| {
            let values: Vec<f64> = group.iter().map(|p| p.2).collect();
            Some((group[group.len() / 2].1 as f64, five_numbers(&values)?))
        })
        .collect();
    let line = |name: &str, tone, stroke, at: usize| {
        let marks = Marks::Line(stroke, groups.iter().map(|(rank, q)| (*rank, q[at])).collect());
        Series::new(format!("{name} of {size} neighbours"), tone, marks)
    };
    vec![
        line("greatest", Tone::Muted, Stroke::Dashed, 4),
        line("median", Tone::Chosen, Stroke::Solid, 2),
        line("least", Tone::Muted, Stroke::Dashed, 0),
    ]
}

fn limit(gate: &GateResult, place: Place) -> Option<LimitLine> {
    Some(LimitLine { across: LineAxis::Y, value: place.limit?, label: gate.require.to_string() })
}
