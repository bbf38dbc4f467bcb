//! The Pareto front over several objectives. Each variant is a line through its values; variants that no other
//! dominates are highlighted.

use super::charted_run::Better;
use super::spec::{Chart, ChartAxis, ChartPoint, ChartTable, Glyph, Marks, Scale, Series, Stroke, Tone, mark_label};
use ncugate_model::number;

/// Most lines drawn for dominated variants.
const BEATEN: usize = 80;

/// Rows of a chart from one axis to the next, which keep lines distinguishable.
const APART: usize = 3;

/// Axes below each other, with room between them: the name of each, and below it its range.
fn axes(names: impl Iterator<Item = (String, String)>) -> Scale {
    let mut rows: Vec<String> = names.flat_map(|(name, range)| [name, range, String::new()]).collect();
    rows.pop();
    Scale::Names(rows)
}

const fn row_of(axis: usize) -> f64 {
    (axis * APART) as f64
}

#[derive(Debug, Clone, PartialEq)]
pub struct FrontObjective {
    pub title: String,
    pub unit: String,
    /// Direction of improvement; [`Better::Context`] counts as higher.
    pub better: Better,
}

/// A variant with a value for each objective.
#[derive(Debug, Clone, PartialEq)]
pub struct FrontLine {
    pub label: String,
    /// Its values, aligned with the objectives.
    pub values: Vec<f64>,
    /// Whether no other variant is at least as good in all objectives and better in one.
    pub on_front: bool,
}

fn gain(objective: &FrontObjective, value: f64) -> f64 {
    if objective.better == Better::Lower { -value } else { value }
}

/// The chart of the marked lines; none without a line or with fewer than two objectives.
pub fn draw(objectives: &[FrontObjective], lines: &[FrontLine]) -> Option<Chart> {
    let (front, beaten): (Vec<&FrontLine>, Vec<&FrontLine>) = lines.iter().partition(|line| line.on_front);
    if objectives.len() < 2 || front.is_empty() {
        return None;
    }
    let ends: Vec<(f64, f64)> = (0..objectives.len()).map(|at| ends(lines, at, &objectives[at])).collect();
    let points = |line: &FrontLine| -> Vec<(f64, f64)> {
        let place = |(row, (value, (best, worst))): (usize, (&f64, &(f64, f64)))| {
            (if best == worst { 0.0 } else { (value - best) / (worst - best) }, row_of(row))
        };
        line.values.iter().zip(&ends).enumerate().map(place).collect()
    };
    let drawn = |line: &FrontLine, tone: Tone, stroke: Stroke| Series {
        name: String::new(),
        tone,
        marks: Marks::Line(stroke, points(line)),
    };
    let step = beaten.len().div_ceil(BEATEN).max(1);
    let mut series: Vec<Series> =
        beaten.iter().step_by(step).map(|line| drawn(line, Tone::Muted, Stroke::Thin)).collect();
    series.extend(front.iter().map(|line| drawn(line, Tone::Chosen, Stroke::Solid)));
    let marks = |line: &FrontLine| -> Vec<ChartPoint> {
        let label = |at: usize| {
            let value = line.values.get(at).copied().unwrap_or(f64::NAN);
            mark_label(&line.label, &[(&objectives[at].title, value, &objectives[at].unit)])
        };
        points(line).into_iter().enumerate().map(|(at, (x, y))| ChartPoint { x, y, label: label(at) }).collect()
    };
    let glyphs = front.iter().flat_map(|line| marks(line)).collect();
    series.push(Series {
        name: "no other is better in all".to_owned(),
        tone: Tone::Chosen,
        marks: Marks::Points(Glyph::Disc, glyphs),
    });
    let row = |(objective, (best, worst)): (&FrontObjective, &(f64, f64))| {
        let said = |value: f64| number::in_sentence(value, &objective.unit);
        (objective.title.clone(), format!("{} to {}", said(*best), said(*worst)))
    };
    let titles: Vec<&str> = objectives.iter().map(|objective| objective.title.as_str()).collect();
    let said = format!("{} of {} variants are on the front over {}", front.len(), lines.len(), titles.join(", "));
    let cells = front.iter().map(|line| {
        let values =
            line.values.iter().zip(objectives).map(|(value, objective)| number::with_unit(*value, &objective.unit));
        vec![line.label.clone(), values.collect::<Vec<String>>().join(", ")]
    });
    Some(Chart {
        id: "front".to_owned(),
        title: format!("Which variants are best over {} objectives together?", objectives.len()),
        note: format!("{said}. On each row the best value is on the left."),
        x: ChartAxis::new("from the best to the worst", "", Scale::Zero),
        y: ChartAxis::new("objective", "", axes(objectives.iter().zip(&ends).map(row))),
        series,
        limits: Vec::new(),
        alt: format!("{said}."),
        table: ChartTable::new(["on the front", "its values"], cells),
    })
}

/// The best and the worst value of an objective.
fn ends(lines: &[FrontLine], at: usize, objective: &FrontObjective) -> (f64, f64) {
    let values = || lines.iter().filter_map(|line| line.values.get(at).copied());
    let by_gain = |a: &f64, b: &f64| gain(objective, *a).total_cmp(&gain(objective, *b));
    (values().max_by(by_gain).unwrap_or(0.0), values().min_by(by_gain).unwrap_or(0.0))
}
