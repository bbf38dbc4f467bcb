//! The numbers of one variant at one shape that rules look at.

use crate::frame::Quantities;
use crate::model::MetricId;
use crate::model::ShapeName;
use crate::model::VariantId;

/// What rules know of the chip.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Chip {
    /// Streaming multiprocessors, when known.
    pub sms: Option<u32>,
}

/// A variant at a shape.
#[derive(Debug, Clone, Copy)]
pub struct Reading<'a> {
    /// The table.
    pub quantities: &'a Quantities,
    /// The variant.
    pub variant: &'a VariantId,
    /// The shape.
    pub shape: &'a ShapeName,
    /// The chip.
    pub chip: Chip,
}

impl Reading<'_> {
    /// A finite value, if there is one.
    pub fn value(&self, metric: MetricId) -> Option<f64> {
        self.quantities.read(self.variant, self.shape, &metric).value().filter(|v| v.is_finite())
    }
}
