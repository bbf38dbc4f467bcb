//! The counters of deep profiles, in a separate table so that gates cannot read them.

use super::profile_counters::ProfileCounters;
use ncugate_model::metric::Catalogue;
use ncugate_model::quantities::{CellDetails, MetricCells};
use ncugate_model::{Cell, ComputeCapability, Quantities, ShapeName, VariantId};

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
    for (at, row) in rows.iter().enumerate() {
        let place = counted.place(&row.measured_as, &row.shape);
        if let Some(kernels) = place.and_then(|place| counted.launches(place)) {
            table.set_launches(at, kernels);
        }
    }
    for metric in metrics {
        let column = match Catalogue::embedded().definition(metric, capability) {
            Ok(definition) => {
                let values = counted.evaluate(&definition);
                let absent = || Cell::Missing("its report has no such launch".into());
                let mut column = MetricCells::default();
                for row in rows {
                    let value = counted.place(&row.measured_as, &row.shape).and_then(|place| values.get(place));
                    let steps = value.map_or_else(Vec::new, |value| value.steps.clone());
                    let cell = value.map_or_else(absent, |value| value.cell.clone());
                    column.push(cell, CellDetails { steps, ..CellDetails::default() });
                }
                column
            }
            Err(reason) => vec![Cell::Missing(reason.to_string().into()); rows.len()].into_iter().collect(),
        };
        table.set(metric, column);
    }
    table
}
