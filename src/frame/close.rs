//! What deep profiles counted: a table of its own, so that nothing in it can stand for a counter that a gate judged.

use super::cells::MetricCells;
use super::counted::Counted;
use super::quantities::Quantities;
use crate::metric::Catalogue;
use crate::model::{Cell, ComputeCapability, ShapeName, VariantId};

/// The variant and shape of a row, and the variant whose measurements stand for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CloseRow {
    pub variant: VariantId,
    pub shape: ShapeName,
    /// Itself, or the one it shares measurements with.
    pub measured_as: VariantId,
}

/// The table over variants that have a deep profile.
pub fn close_quantities(
    counted: &Counted,
    rows: &[CloseRow],
    metrics: &[String],
    capability: Option<ComputeCapability>,
) -> Quantities {
    let mut table = Quantities::new(rows.iter().map(|row| (row.variant.clone(), row.shape.clone())));
    let places = counted.places(rows.iter().map(|row| (&row.measured_as, &row.shape)));
    for metric in metrics {
        let cells: MetricCells = match Catalogue::embedded().definition(metric, capability) {
            Ok(definition) => {
                counted.evaluate(&definition).cells.gather(&places, |_| "its report has no such launch".to_owned())
            }
            Err(reason) => rows.iter().map(|_| Cell::Missing(reason.to_string().into())).collect(),
        };
        table.set_cells(metric, &cells);
    }
    table
}
