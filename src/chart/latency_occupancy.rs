//! The objective against occupancy, with the variants that nothing beats on both.

use super::context::{Context, described, inside};
use super::spec::{Across, Axis, Chart, Glyph, LimitLine, Marks, Point, Scale, Series, Stroke, Table, Tone};
use crate::model::Verdict;
use crate::plan::Standing;
use crate::report::{GateRow, Report, VariantRow, number};

/// Points above which they are drawn as small dots without names.
const NAMED: usize = 400;

/// The chart, when occupancy and objective were measured for at least one variant.
pub fn chart(report: &Report, context: &Context) -> Option<Chart> {
    let shape = report.objective_shape;
    let occupancy = context.occupancy?;
    let points: Vec<(&VariantRow, f64, f64)> = report
        .variants
        .iter()
        .filter_map(|v| Some((v, report.value(v, shape, occupancy)?, report.value(v, shape, &context.objective)?)))
        .collect();
    let (points, beyond) = within(points);
    if points.is_empty() {
        return None;
    }
    let (x_title, x_unit) = described(report, occupancy);
    let (y_title, y_unit) = described(report, &context.objective);
    let front = context.front.clone();
    let best = front.last().map_or_else(String::new, |(x, y)| {
        format!(" The front ends at {} and {}.", number::with_unit(*x, x_unit), number::with_unit(*y, y_unit))
    });
    Some(Chart {
        id: "latency-occupancy".to_owned(),
        title: format!("{y_title} against {}", inside(x_title)),
        note: format!(
            "The line joins the variants that no other beats on both; where it is flat, more occupancy buys nothing.{}",
            super::context::off_the_scale(&beyond)
        ),
        x: Axis::new(x_title, x_unit, Scale::Linear),
        y: Axis::new(y_title, y_unit, Scale::Linear),
        series: series(&points, front),
        limits: limits(report, occupancy, &context.objective),
        alt: format!("{} points at shape {}.{best}", points.len(), report.shapes[shape]),
        table: Table::new(
            ["variant", x_title, y_title],
            points.iter().map(|(v, x, y)| vec![v.label.clone(), number::plain(*x), number::plain(*y)]),
        ),
    })
}

/// Points without the baselines that lie so far from every candidate that they would flatten the picture.
#[expect(clippy::type_complexity, reason = "two lists, told apart by name at the one call")]
fn within(points: Vec<(&VariantRow, f64, f64)>) -> (Vec<(&VariantRow, f64, f64)>, Vec<(&VariantRow, f64)>) {
    let candidates = points.iter().filter(|(v, ..)| v.standing == Standing::Candidate);
    let highest = candidates.map(|p| p.2).fold(f64::NEG_INFINITY, f64::max);
    let far = |v: &VariantRow, y: f64| {
        v.standing == Standing::Baseline && highest.is_finite() && y > highest * super::context::FAR
    };
    let beyond = points.iter().filter(|(v, _, y)| far(v, *y)).map(|(v, _, y)| (*v, *y)).collect();
    (points.into_iter().filter(|(v, _, y)| !far(v, *y)).collect(), beyond)
}

fn series(points: &[(&VariantRow, f64, f64)], front: Vec<(f64, f64)>) -> Vec<Series> {
    let many = points.len() > NAMED;
    let kept = |keep: &dyn Fn(&VariantRow) -> bool| -> Vec<Point> {
        let point = |(v, x, y): &(&VariantRow, f64, f64)| {
            let label = format!("{}: {} and {}", v.label, number::plain(*x), number::plain(*y));
            Point { x: *x, y: *y, label }
        };
        points.iter().filter(|(v, ..)| keep(v)).map(point).collect()
    };
    let candidate = |v: &VariantRow| v.standing == Standing::Candidate;
    let passes = |v: &VariantRow| candidate(v) && v.verdict == Verdict::Pass;
    let fails = |v: &VariantRow| candidate(v) && v.verdict != Verdict::Pass;
    let of =
        |name: &str, tone, glyph, points| Series { name: name.to_owned(), tone, marks: Marks::Points(glyph, points) };
    let (good, bad) = if many { (Glyph::Dot, Glyph::Dot) } else { (Glyph::Disc, Glyph::Cross) };
    let line = Marks::Line(Stroke::Solid, front);
    let mut series = vec![
        Series { name: "Pareto front".to_owned(), tone: Tone::Muted, marks: line },
        of("stopped by a gate", Tone::Bad, bad, kept(&fails)),
        of("holds every gate", Tone::Good, good, kept(&passes)),
        of("baseline", Tone::Baseline, Glyph::Diamond, kept(&|v| !candidate(v))),
        of("selected", Tone::Chosen, Glyph::Ring, kept(&|v| v.selected)),
    ];
    series.retain(|s| !matches!(&s.marks, Marks::Points(_, points) if points.is_empty()));
    series
}

fn limits(report: &Report, x: &str, y: &str) -> Vec<LimitLine> {
    let line = |gate: &GateRow| {
        let across = match gate.metric.as_deref()? {
            metric if metric == x => Across::X,
            metric if metric == y => Across::Y,
            _ => return None,
        };
        Some(LimitLine { across, value: gate.limit.as_ref()?.value, label: gate.require.clone() })
    };
    report.gates.iter().filter_map(line).collect()
}
