//! Fills and copies of programs on the columns of counters: what they add, or that it is not known.

use super::cells::MetricCells;
use super::quantities::{Bounds, CellBounds};
use crate::metric::{Catalogue, Definition, TransferCost, TransferEffect};
use crate::model::Cell;
use crate::plan::StepTraffic;
use std::collections::HashMap;

/// The fills and copies of rows.
pub(super) type RowTraffic = HashMap<usize, StepTraffic>;

/// Adds the most that fills and copies move to the cells that it can be added to; and where the value of every cell is that they
/// bear on.
pub(super) fn with_transfers(
    metric: &str,
    definition: &Definition,
    traffic: &RowTraffic,
    cells: MetricCells,
) -> (MetricCells, CellBounds) {
    let catalogue = Catalogue::embedded();
    let effect = catalogue.transfer_effect(definition);
    if traffic.is_empty() || effect == TransferEffect::Nothing {
        return (cells, CellBounds::new());
    }
    let (least, most) = catalogue.range(metric);
    let mut bounds = CellBounds::new();
    let with = |(row, cell): (usize, Cell)| {
        let (Some(steps), Some(value)) = (traffic.get(&row), cell.value()) else { return cell };
        let (low, high, added) = match (effect, added(effect, steps)) {
            (TransferEffect::Nothing, _) => return cell,
            (TransferEffect::AtMost(_), Some(added)) => (value, value + added, added),
            (TransferEffect::AtMost(_) | TransferEffect::Unknown, _) => (value, most.max(value), 0.0),
            (TransferEffect::Anything, _) => (least.min(value), most.max(value), 0.0),
        };
        bounds.insert(row, Bounds { low, high, added, steps: steps.steps.as_str().into() });
        Cell::Value(value + added)
    };
    let cells = cells.iter().enumerate().map(with).collect();
    (cells, bounds)
}

/// What fills and copies add at most; none if that is not known.
fn added(effect: TransferEffect, steps: &StepTraffic) -> Option<f64> {
    let TransferEffect::AtMost(TransferCost { read, written }) = effect else { return None };
    Some(steps.read? * read + steps.written? * written)
}
