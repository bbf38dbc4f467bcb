//! The counters of deep profiles, in a separate table so that gates cannot read them.

use super::profile_counters::ProfileCounters;
use super::quantities::Quantities;
use ncugate_model::metric::Catalogue;
use ncugate_model::{Cell, ComputeCapability, ShapeName, VariantId};

/// A row: its variant and shape, and the variant whose measurements it uses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeepProfileCase {
    pub variant: VariantId,
    pub shape: ShapeName,
    /// The variant itself, or the one whose measurements it shares.
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
