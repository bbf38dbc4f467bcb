//! A kernel whose machine code and launch are those of the stored run, or of the base, that it is compared with.

use super::bound_gate::{BoundGate, Sides};
use super::case_outcome::{CaseOutcome, holds, margin};
use super::operand::Operand;
use ncugate_model::Verdict;
use ncugate_model::expr::{Owner, Reference, Value};

impl BoundGate<'_> {
    /// The verdict where a stored run or the base had the same machine code and the same launch: nothing changed, whatever the clock
    /// says, so what is required of an unchanged kernel holds. None where the code differs or is not known, and where the
    /// limit does not hold for an unchanged kernel.
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

    /// What the variant itself has of the metric that an operand reads of another.
    fn same_metric(&self, at: usize, sides: &Sides<'_>) -> Option<f64> {
        let Reference::Quantity(asked) = &self.references()[at] else { return None };
        let same = |reference: &Reference| matches!(reference, Reference::Quantity(own) if own.owner == Owner::Case && own.name == asked.name);
        let own = self.references().iter().position(same)?;
        sides.values[own].number()
    }
}
