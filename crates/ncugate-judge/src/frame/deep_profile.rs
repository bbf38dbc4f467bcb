//! What deep profiles counted: a table of its own, so that nothing in it can stand for a counter that a gate judged.

use super::profile_counters::ProfileCounters;
use super::quantities::Quantities;
use ncugate_model::metric::Catalogue;
use ncugate_model::{Cell, ComputeCapability, ShapeName, VariantId};

/// The variant and shape of a row, and the variant whose measurements stand for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeepProfileCase {
    pub variant: VariantId,
    pub shape: ShapeName,
    /// Itself, or the one it shares measurements with.
    pub measured_as: VariantId,
}

/// The table over variants that have a deep profile.
pub fn deep_quantities(
    counted: &ProfileCounters,
    rows: &[DeepProfileCase],
    metrics: &[String],
    capability: Option<ComputeCapability>,
) -> Quantities {
    let mut table = Quantities::new(rows.iter().map(|row| (row.variant.clone(), row.shape.clone())));
    for metric in metrics {
        let cells = match Catalogue::embedded().definition(metric, capability) {
            Ok(definition) => {
                let values = counted.evaluate(&definition);
                let of_row = |row: &DeepProfileCase| values.get(counted.place(&row.measured_as, &row.shape)?);
                let absent = || Cell::Missing("its report has no such launch".into());
                rows.iter().map(|row| of_row(row).map_or_else(absent, |value| value.cell.clone())).collect()
            }
            Err(reason) => vec![Cell::Missing(reason.to_string().into()); rows.len()],
        };
        table.set_column(metric, cells);
    }
    table
}
