//! Fills and copies of programs, which ncu does not count: their contribution to a metric, if known.

use ncugate_model::metric::{Catalogue, Definition, TransferCost, TransferEffect};
use ncugate_model::quantities::Bounds;
use ncugate_phase::plan::StepTraffic;

/// The effect of fills and copies on a metric.
#[derive(Debug, Clone, Copy)]
pub(super) struct Transfers {
    effect: TransferEffect,
    /// The smallest and the largest possible value of the metric.
    range: (f64, f64),
}

impl Transfers {
    pub fn of(metric: &str, definition: &Definition) -> Self {
        let catalogue = Catalogue::embedded();
        Self { effect: catalogue.transfer_effect(definition), range: catalogue.range(metric) }
    }

    /// The bounds of the metric for a program with these fills and copies, from its value over the launches; `None`
    /// if they do not affect it.
    pub fn bounds(self, steps: &StepTraffic, value: f64) -> Option<Bounds> {
        let (least, most) = self.range;
        let (low, high, added) = match (self.effect, self.added(steps)) {
            (TransferEffect::Nothing, _) => return None,
            (TransferEffect::AtMost(_), Some(added)) => (value, value + added, added),
            (TransferEffect::AtMost(_) | TransferEffect::Unknown, _) => (value, most.max(value), 0.0),
            (TransferEffect::Anything, _) => (least.min(value), most.max(value), 0.0),
        };
        Some(Bounds { low, high, added, steps: Some(steps.steps.as_str().into()) })
    }

    /// The largest contribution of fills and copies, if known.
    fn added(self, steps: &StepTraffic) -> Option<f64> {
        let TransferEffect::AtMost(TransferCost { read, written }) = self.effect else { return None };
        Some(steps.read? * read + steps.written? * written)
    }
}
