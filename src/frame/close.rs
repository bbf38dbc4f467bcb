//! What deep profiles counted: a table of its own, so that nothing in it can stand for a counter that a gate judged.

use super::{Counted, Quantities};
use crate::metric::Catalogue;
use crate::model::Cell;
use crate::model::ComputeCapability;
use crate::model::ShapeName;
use crate::model::VariantId;

/// The variant and shape of a row, and the variant whose measurements stand for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CloseRow {
    /// The variant.
    pub variant: VariantId,
    /// The shape.
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
    for metric in metrics {
        let cell = |row: &CloseRow| match Catalogue::embedded().definition(metric, capability) {
            Ok(definition) => counted
                .evaluate(&row.measured_as, &row.shape, &definition)
                .unwrap_or_else(|| Cell::Missing("its report has no such launch".into())),
            Err(reason) => Cell::Missing(reason.to_string().into()),
        };
        table.set_column(metric, rows.iter().map(cell).collect());
    }
    table
}
