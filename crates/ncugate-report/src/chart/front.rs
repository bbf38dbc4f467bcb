//! The Pareto front over several objectives: a panel for each objective after the first, against the first.

use super::spec::{Chart, ChartAxis, ChartPoint, ChartTable, Glyph, Marks, Panel, Scale, Series, Tone, mark_label};
use ncugate_model::number;

#[derive(Debug, Clone, PartialEq)]
pub struct FrontObjective {
    pub title: String,
    pub unit: String,
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

/// The chart of the marked lines; none without a line or with fewer than two objectives.
pub fn draw(objectives: &[FrontObjective], lines: &[FrontLine]) -> Option<Chart> {
    let (front, beaten): (Vec<&FrontLine>, Vec<&FrontLine>) = lines.iter().partition(|line| line.on_front);
    let (first, others) = objectives.split_first()?;
    if others.is_empty() || front.is_empty() {
        return None;
    }
    let panel = |(at, other): (usize, &FrontObjective)| {
        let points = |lines: &[&FrontLine]| {
            let point = |line: &&FrontLine| {
                let (x, y) = (*line.values.get(at + 1)?, *line.values.first()?);
                let label = mark_label(&line.label, &[(&first.title, y, &first.unit), (&other.title, x, &other.unit)]);
                Some(ChartPoint { x, y, label })
            };
            lines.iter().filter_map(point).collect()
        };
        let axis = |objective: &FrontObjective| ChartAxis::new(&objective.title, &objective.unit, Scale::Linear);
        let beaten = Marks::Points(Glyph::Dot, points(&beaten));
        let front = Marks::Points(Glyph::Disc, points(&front));
        let series = vec![
            Series::new("another is better", Tone::Muted, beaten),
            Series::new("no other is better in all", Tone::Chosen, front),
        ];
        Panel::new(axis(other), axis(first), series)
    };
    let titles: Vec<&str> = objectives.iter().map(|objective| objective.title.as_str()).collect();
    let counted = format!("{} of {} variants are on the front over {}.", front.len(), lines.len(), titles.join(", "));
    let cells = front.iter().map(|line| {
        let values =
            line.values.iter().zip(objectives).map(|(value, objective)| number::with_unit(*value, &objective.unit));
        vec![line.label.clone(), values.collect::<Vec<String>>().join(", ")]
    });
    Some(Chart {
        id: "front".to_owned(),
        title: format!("Which variants are best over {} objectives together?", objectives.len()),
        note: counted.clone(),
        alt: counted,
        table: ChartTable::new(["on the front", "its values"], cells),
        panels: others.iter().enumerate().map(panel).collect(),
    })
}
