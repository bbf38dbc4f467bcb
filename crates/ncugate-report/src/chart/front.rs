//! The Pareto front over several objectives. Each variant is a line through its values; variants that no other
//! dominates are highlighted.

use super::charted_run::{Better, ChartedRun, VariantRow};
use super::spec::{Chart, ChartAxis, ChartPoint, ChartTable, Glyph, Marks, Scale, Series, Stroke, Tone};
use ncugate_model::number;

/// Most objectives that a page chooses.
const OBJECTIVES: usize = 5;
/// Fewest objectives; two are drawn as points in a plane.
const FEWEST: usize = 3;
/// Metrics of correctness, which is not a trade-off.
const PROOF: [&str; 3] = ["correct", "max_abs", "rel_l2"];
/// Most lines drawn for dominated variants.
const BEATEN: usize = 80;

/// Rows of a chart from one axis to the next, which keep lines distinguishable.
const APART: usize = 3;

/// Axes below each other, with room between them: the name of each, and below it its range.
pub fn axes(names: impl Iterator<Item = (String, String)>) -> Scale {
    let mut rows: Vec<String> = names.flat_map(|(name, range)| [name, range, String::new()]).collect();
    rows.pop();
    Scale::Names(rows)
}

pub const fn row_of(axis: usize) -> f64 {
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

/// The chart of a run over its objective and the metrics of its gates that have a better direction and differ between
/// variants.
pub fn chart(run: &ChartedRun<'_>) -> Option<Chart> {
    let ranked: Vec<_> = run.variants.iter().filter(|variant| variant.rank.is_some()).collect();
    let of = |metric: &str| -> Vec<Option<f64>> {
        let value = |v: &&&VariantRow| run.value(v, run.objective_shape, metric).filter(|value| value.is_finite());
        ranked.iter().map(|variant| value(&variant)).collect()
    };
    let mut names: Vec<&str> = vec![run.objective];
    for name in run.gates.iter().filter_map(|gate| gate.metric.as_deref()) {
        let directed = run.metric(name).is_some_and(|metric| metric.better != Better::Context);
        if directed && !names.contains(&name) && !PROOF.contains(&name) && differ(&of(name)) {
            names.push(name);
        }
    }
    names.truncate(OBJECTIVES);
    if names.len() < FEWEST {
        return None;
    }
    let objectives: Vec<FrontObjective> = names
        .iter()
        .map(|name| {
            let (title, unit) = run.described(name);
            let better = run.metric(name).map_or(Better::Context, |metric| metric.better);
            FrontObjective { title: title.to_owned(), unit: unit.to_owned(), better }
        })
        .collect();
    let columns: Vec<Vec<Option<f64>>> = names.iter().map(|name| of(name)).collect();
    let line = |(at, variant): (usize, &&VariantRow)| {
        let values = columns.iter().map(|column| column.get(at).copied().flatten()).collect::<Option<Vec<f64>>>()?;
        Some(FrontLine { label: variant.label.to_string(), values, on_front: false })
    };
    let mut lines: Vec<FrontLine> = ranked.iter().enumerate().filter_map(line).collect();
    mark(&mut lines, &objectives);
    draw(&objectives, &lines)
}

/// Whether at least two values are known and differ.
fn differ(values: &[Option<f64>]) -> bool {
    let mut known = values.iter().flatten();
    known.next().is_some_and(|first| known.any(|value| value != first))
}

fn gain(objective: &FrontObjective, value: f64) -> f64 {
    if objective.better == Better::Lower { -value } else { value }
}

fn mark(lines: &mut [FrontLine], objectives: &[FrontObjective]) {
    let gains: Vec<Vec<f64>> = lines
        .iter()
        .map(|line| objectives.iter().zip(&line.values).map(|(objective, value)| gain(objective, *value)).collect())
        .collect();
    let beats = |a: &[f64], b: &[f64]| a.iter().zip(b).all(|(a, b)| a >= b) && a.iter().zip(b).any(|(a, b)| a > b);
    // Best first: any variant that dominates another comes before it.
    let mut order: Vec<usize> = (0..lines.len()).collect();
    let by_gains = |a: &usize, b: &usize| {
        let pairs = gains[*b].iter().zip(&gains[*a]);
        pairs.map(|(b, a)| b.total_cmp(a)).find(|order| order.is_ne()).unwrap_or(std::cmp::Ordering::Equal)
    };
    order.sort_by(by_gains);
    let mut front: Vec<usize> = Vec::new();
    for at in order {
        if !front.iter().any(|other| beats(&gains[*other], &gains[at])) {
            front.push(at);
            lines[at].on_front = true;
        }
    }
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
    series.extend(front.iter().map(|line| drawn(line, Tone::Good, Stroke::Solid)));
    let marks = |line: &FrontLine| -> Vec<ChartPoint> {
        let label = |at: usize| {
            let value = line.values.get(at).copied().unwrap_or(f64::NAN);
            format!("{}: {} {}", line.label, objectives[at].title, number::in_sentence(value, &objectives[at].unit))
        };
        points(line).into_iter().enumerate().map(|(at, (x, y))| ChartPoint { x, y, label: label(at) }).collect()
    };
    let glyphs = front.iter().flat_map(|line| marks(line)).collect();
    series.push(Series {
        name: "no other is better in all".to_owned(),
        tone: Tone::Good,
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
        title: format!("The front over {} objectives", objectives.len()),
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
