//! Recognizes a kernel with the same machine code and launch as the stored run or base in the comparison.

use super::bound_gate::{BoundGate, Sides};
use super::case_outcome::{CaseOutcome, holds, margin};
use super::operand::Operand;
use ncugate_model::Verdict;
use ncugate_model::expr::{Owner, Reference, Value};

impl BoundGate<'_> {
    /// The verdict if the stored run or base had the same machine code and launch. Whatever the clock says, nothing
    /// changed, so the requirement holds if it holds for an unchanged kernel. `None` if the code differs or is
    /// unknown, or if the limit does not hold for an unchanged kernel.
    pub(super) fn unchanged(&self, sides: &Sides<'_>, shape: usize) -> Option<CaseOutcome> {
        let own = self.context.quantities.sampling_at(sides.row?)?.code.as_ref()?;
        let mut equal = sides.values.to_vec();
        let mut stored = 0;
        for (at, timed) in sides.samples.timed.iter().enumerate() {
            if timed.other.is_none() {
                continue;
            }
            let fixed = self.operands[at].fixed(shape)?;
            if fixed.code.as_ref() != Some(own) {
                return None;
            }
            stored += 1;
            equal[at] = match &self.operands[at] {
                Operand::Speedup { .. } => Value::Float(1.0),
                _ => Value::Float(self.same_metric(at, sides)?),
            };
        }
        let (left, right) = (sides.left.number(&equal).ok()?, sides.right.number(&equal).ok()?);
        (stored > 0 && holds(sides.comparison, left, right)).then(|| CaseOutcome {
            measured: Some(left),
            limit: Some(right),
            margin: Some(margin(sides.comparison, left, right)),
            ..CaseOutcome::bare(Verdict::Pass, Some("no change: the same machine code and launch".into()))
        })
    }

    /// The variant's own value of the metric that an operand reads from another owner.
    fn same_metric(&self, at: usize, sides: &Sides<'_>) -> Option<f64> {
        let Reference::Quantity(asked) = &self.references()[at] else { return None };
        let same = |reference: &Reference| matches!(reference, Reference::Quantity(own) if own.owner == Owner::Case && own.name == asked.name);
        let own = self.references().iter().position(same)?;
        sides.values[own].number()
    }
}
