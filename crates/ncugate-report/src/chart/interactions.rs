//! Two interacting parameters: the objective for each pair of their values.

use super::charted_run::{ChartedRun, Interaction, Separation};
use super::spec::{Chart, ChartAxis, ChartTable, Marks, Scale, Series, ShareColumn, Tone};
use ncugate_model::number;

const CELLS: usize = 400;

/// The chart of the strongest interaction that is clear and was measured in every cell.
pub fn chart(run: &ChartedRun<'_>) -> Option<Chart> {
    let found = run.sweep.as_ref()?.interactions.iter().find(|found| is_drawn(found))?;
    let ratios: Vec<Vec<f64>> = found.cells.iter().map(|row| row.iter().flatten().copied().collect()).collect();
    let worst = ratios.iter().flatten().copied().fold(1.0, f64::max);
    let cells = ratios.iter().enumerate().flat_map(|(row, ratios)| {
        ratios.iter().enumerate().map(move |(at, ratio)| ShareColumn {
            row,
            from: at as f64 + 0.5,
            to: at as f64 + 1.5,
            fail: if worst > 1.0 { (ratio - 1.0) / (worst - 1.0) } else { 0.0 },
            unknown: 0.0,
            label: String::new(),
        })
    });
    let mut cells: Vec<ShareColumn> = cells.collect();
    for cell in &mut cells {
        let (row, at) = (found.rows.get(cell.row)?, cell.from as usize);
        let ratio = ratios.get(cell.row)?.get(at)?;
        let over = number::change(*ratio);
        cell.label = format!("{} = {row}, {} = {}: {over}", found.first, found.second, found.columns.get(at)?);
    }
    let (title, _) = run.described(run.objective);
    let said = format!(
        "{} from {} to {} changes the effect of {} by {} % ({} to {})",
        found.second,
        found.ends[1][0],
        found.ends[1][1],
        found.first,
        number::short(found.change.percent),
        number::short(found.change.low),
        number::short(found.change.high)
    );
    let rows = found.rows.iter().zip(&ratios).flat_map(|(row, ratios)| {
        found.columns.iter().zip(ratios).map(|(column, ratio)| vec![row.clone(), column.clone(), number::plain(*ratio)])
    });
    Some(Chart {
        id: "interactions".to_owned(),
        title: format!("{} and {} together", found.first, found.second),
        note: format!(
            "{said}. The fuller a cell, the farther it is from the best; columns are {} in order.",
            found.columns.join(", ")
        ),
        x: ChartAxis::new(&found.second, "", Scale::Count),
        y: ChartAxis::new(
            &found.first,
            "",
            Scale::Names(found.rows.iter().map(|row| format!("{} = {row}", found.first)).collect()),
        ),
        series: vec![Series { name: String::new(), tone: Tone::Bad, marks: Marks::Columns(cells) }],
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
