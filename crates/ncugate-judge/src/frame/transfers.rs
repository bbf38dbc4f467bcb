//! Fills and copies of programs, which ncu does not count: what they add to a metric, or that it is not known.

use super::quantities::Bounds;
use ncugate_model::metric::{Catalogue, Definition, TransferCost, TransferEffect};
use ncugate_phase::plan::StepTraffic;

/// How fills and copies bear on a metric.
#[derive(Debug, Clone, Copy)]
pub(super) struct Transfers {
    effect: TransferEffect,
    /// The least and the most that the metric can be.
    range: (f64, f64),
}

impl Transfers {
    pub fn of(metric: &str, definition: &Definition) -> Self {
        let catalogue = Catalogue::embedded();
        Self { effect: catalogue.transfer_effect(definition), range: catalogue.range(metric) }
    }

    /// Where the metric of a program with these fills and copies is, by its value over the launches; none if they do not bear
    /// on it.
    pub fn bounds(self, steps: &StepTraffic, value: f64) -> Option<Bounds> {
        let (least, most) = self.range;
        let (low, high, added) = match (self.effect, self.added(steps)) {
            (TransferEffect::Nothing, _) => return None,
            (TransferEffect::AtMost(_), Some(added)) => (value, value + added, added),
            (TransferEffect::AtMost(_) | TransferEffect::Unknown, _) => (value, most.max(value), 0.0),
            (TransferEffect::Anything, _) => (least.min(value), most.max(value), 0.0),
        };
        Some(Bounds { low, high, added, steps: steps.steps.as_str().into() })
    }

    /// What fills and copies add at most; none if that is not known.
    fn added(self, steps: &StepTraffic) -> Option<f64> {
        let TransferEffect::AtMost(TransferCost { read, written }) = self.effect else { return None };
        Some(steps.read? * read + steps.written? * written)
    }
}
