//! Two interacting parameters: the objective for each pair of their values.

use super::charted_run::{ChartedRun, Interaction, Separation};
use super::spec::{Chart, ChartAxis, ChartTable, Marks, Scale, Series, ShareColumn, Tone};
use ncugate_model::number;

const CELLS: usize = 400;

/// The chart of the strongest interaction that is clear and was measured in every cell.
pub fn chart(run: &ChartedRun<'_>) -> Option<Chart> {
    let found = run.sweep?.interactions.iter().find(|found| is_drawn(found))?;
    let ratios: Vec<Vec<f64>> = found.cells.iter().map(|row| row.iter().flatten().copied().collect()).collect();
    let worst = ratios.iter().flatten().copied().fold(1.0, f64::max);
    let cells = ratios.iter().enumerate().flat_map(|(row, ratios)| {
        ratios.iter().enumerate().map(move |(at, ratio)| ShareColumn {
            row,
            from: at as f64 - 0.5,
            to: at as f64 + 0.5,
            fail: if worst > 1.0 { (ratio - 1.0) / (worst - 1.0) } else { 0.0 },
            unknown: 0.0,
            label: String::new(),
        })
    });
    let (title, _) = run.described(run.objective);
    let mut cells: Vec<ShareColumn> = cells.collect();
    for cell in &mut cells {
        let (row, at) = (found.rows.get(cell.row)?, (cell.from + 0.5) as usize);
        let ratio = ratios.get(cell.row)?.get(at)?;
        let (over, column) = (number::change(*ratio), found.columns.get(at)?);
        cell.label = format!("{} = {row}, {} = {column}: {title} {over} over the best", found.first, found.second);
    }
    let said = format!(
        "{} from {} to {} changes the effect of {} by {} % ({} to {})",
        found.second,
        found.ends[1][0],
        found.ends[1][1],
        found.first,
        number::short(found.change.by),
        number::short(found.change.low),
        number::short(found.change.high)
    );
    let rows = found.rows.iter().zip(&ratios).flat_map(|(row, ratios)| {
        found.columns.iter().zip(ratios).map(|(column, ratio)| vec![row.clone(), column.clone(), number::plain(*ratio)])
    });
    Some(Chart {
        id: "interactions".to_owned(),
        title: format!("Which values of {} and {} go together?", found.first, found.second),
        note: format!("{said}. The fuller a cell, the farther it is from the best."),
        x: ChartAxis::new(&found.second, "", Scale::Names(found.columns.clone())),
        y: ChartAxis::new(&found.first, "", Scale::Names(found.rows.clone())),
        series: vec![Series { name: String::new(), tone: Tone::Chosen, marks: Marks::Columns(cells) }],
        limits: Vec::new(),
        alt: format!("{title} over the best, for each pair of values. {said}."),
        table: ChartTable::new([found.first.as_str(), found.second.as_str(), "over the best"], rows),
    })
}

fn is_drawn(found: &Interaction) -> bool {
    let whole = found.cells.iter().all(|row| row.iter().all(Option::is_some));
    let cells = found.rows.len() * found.columns.len();
    found.change.separation == Separation::Clear && whole && cells <= CELLS
}
