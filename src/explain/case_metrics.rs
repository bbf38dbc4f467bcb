//! The numbers of one variant at one shape that rules look at.

use crate::frame::Quantities;
use crate::metric::id;
use crate::model::MetricId;
use crate::model::ShapeName;
use crate::model::VariantId;

/// A variant at a shape.
#[derive(Debug, Clone, Copy)]
pub struct CaseMetrics<'a> {
    /// The table.
    pub quantities: &'a Quantities,
    /// The variant.
    pub variant: &'a VariantId,
    /// The shape.
    pub shape: &'a ShapeName,
    /// Streaming multiprocessors of the GPU, where they are known.
    pub sms: Option<u32>,
}

impl CaseMetrics<'_> {
    /// A finite value, if there is one.
    pub fn value(&self, metric: MetricId) -> Option<f64> {
        self.quantities.read(self.variant, self.shape, &metric).value().filter(|v| v.is_finite())
    }

    /// Launches of an evaluation, as far as they were counted.
    pub fn launches(&self) -> u32 {
        self.quantities.steps(self.variant, self.shape, &id::DURATION).len().max(1) as u32
    }
}
