//! Binds references to operands: resolves owners, finds columns, and computes values that do not depend on the
//! variant.

use super::base_choice::base_in;
use super::context::{EvalContext, ProofPolicy, finite};
use super::operand::{Absence, FixedValue, Operand, Rounds, SPEED, Timing, timed};
use super::owner::{ResolvedOwner, resolve_owner};
use super::results::Correctness;
use ncugate_model::expr::{ExprError, Owner, Quantity, Reference, Requirement, Value};
use ncugate_model::metric::Catalogue;
use ncugate_model::{Quantities, ShapeName, VariantId};
use ncugate_phase::config::Scalar;
use ncugate_phase::plan::is_of_base;

/// Binds references at these shapes; `previous` is the last accepted stage.
pub fn bind<'a>(
    references: &[Reference],
    context: &EvalContext<'a>,
    shapes: &[ShapeName],
    previous: Option<usize>,
) -> Vec<Operand<'a>> {
    let binder = Binder { context, shapes, previous };
    references.iter().map(|reference| binder.operand(reference)).collect()
}

/// The variants of this run that each comparison of a requirement compares with, by index; `None` for stored runs.
/// Comparisons with nothing but numbers are left out.
pub fn compared(
    requirement: &Requirement,
    context: &EvalContext<'_>,
    previous: Option<usize>,
) -> Vec<Vec<Option<usize>>> {
    let binder = Binder { context, shapes: &[], previous };
    let target = |reference: &Reference| match binder.target(reference.owner()) {
        Ok(Target::Planned(at)) => Some(at),
        Ok(Target::Stored(..)) | Err(_) => None,
    };
    let others = |references: Vec<&Reference>| -> Vec<Option<usize>> {
        references.into_iter().filter(|reference| *reference.owner() != Owner::Case).map(target).collect()
    };
    requirement.comparisons().into_iter().map(others).filter(|others| !others.is_empty()).collect()
}

struct Binder<'b, 'a> {
    context: &'b EvalContext<'a>,
    shapes: &'b [ShapeName],
    previous: Option<usize>,
}

/// The target of an owner's name.
enum Target<'a> {
    Planned(usize),
    Stored(&'a Quantities, VariantId),
}

impl<'a> Binder<'_, 'a> {
    fn operand(&self, reference: &Reference) -> Operand<'a> {
        match reference {
            Reference::Quantity(Quantity { owner: Owner::Case, name }) => self.own_operand(name),
            Reference::Quantity(Quantity { owner, name }) => Operand::Fixed(self.of(owner, name)),
            Reference::Speedup { over } => {
                Operand::Speedup { over: self.of(over, SPEED), cells: self.context.quantities.column(SPEED) }
            }
        }
    }

    fn own_operand(&self, name: &str) -> Operand<'a> {
        let cells = self.context.quantities.column(name);
        if name == "correct" {
            return Operand::Correct;
        }
        if cells.is_some() || Catalogue::embedded().knows(name) {
            return Operand::Column { cells, timing: Timing::of(name) };
        }
        if self.shapes.iter().any(|shape| self.context.dimension(shape, name).is_some()) {
            let of = |shape| self.context.dimension(shape, name).map(Value::Int);
            return Operand::Fixed(self.shapes.iter().map(|s| fixed(of(s), name)).collect());
        }
        if let "cc" | "dtype" = name {
            let value = |shape| if name == "cc" { self.context.cc() } else { self.context.dtype(shape) };
            return Operand::Fixed(self.shapes.iter().map(|shape| fixed(value(shape), name)).collect());
        }
        match self.context.phase.workload.scalars.iter().find(|scalar| scalar.name == name) {
            Some(scalar) => self.scalar(scalar),
            None => Operand::Param(name.to_owned()),
        }
    }

    /// A scalar that depends only on dimensions is computed once.
    fn scalar(&self, scalar: &'a Scalar) -> Operand<'a> {
        let of = |shape: &ShapeName| match scalar_value(self.context, scalar, shape, &[]) {
            Err(ExprError::Unknown { .. }) => None,
            value => {
                let value = value.map(Value::Float).map_err(|e| Absence::from(e.to_string()));
                Some(FixedValue::untimed(value))
            }
        };
        self.shapes.iter().map(of).collect::<Option<_>>().map_or(Operand::Scalar(scalar), Operand::Fixed)
    }

    fn of(&self, owner: &Owner, metric: &str) -> Vec<FixedValue> {
        match self.target(owner) {
            Ok(target) => self.shapes.iter().map(|shape| self.read(&target, owner, shape, metric)).collect(),
            Err(reason) => self.shapes.iter().map(|_| FixedValue::untimed(Err(reason.clone()))).collect(),
        }
    }

    fn target(&self, owner: &Owner) -> Result<Target<'a>, Absence> {
        let (phase, given) = (self.context.phase, self.context.given);
        let stored = |name: &str| given.stored.contains_key(name) || given.absent.contains_key(name);
        match resolve_owner(owner, phase, stored, self.previous.as_ref()) {
            ResolvedOwner::PreviousStage(at) => Ok(Target::Planned(*at)),
            ResolvedOwner::Stored(name) => match (given.stored.get(name), given.absent.get(name)) {
                (Some(stored), _) => Ok(Target::Stored(stored.quantities, stored.variant.clone())),
                (None, Some(reason)) => Err(reason.as_str().into()),
                (None, None) => Err(format!("no stored run for '{name}'").into()),
            },
            ResolvedOwner::Named(name) => self.planned(name),
            ResolvedOwner::Base => self.planned(&self.context.variant(base_in(self.context)?).id.0),
            ResolvedOwner::Nobody(reason) => Err(reason.into()),
        }
    }

    /// A variant of the plan, or the variant that represents a stage, if it is proven correct.
    fn planned(&self, name: &str) -> Result<Target<'a>, Absence> {
        let context = self.context;
        let at = context.find(&VariantId(name.into())).or_else(|| self.stage(name));
        let at = at.ok_or_else(|| format!("'{name}' is neither a measured variant, nor a stage, nor a stored run"))?;
        match (context.correctness(at), context.proof) {
            (Correctness::Proven { .. } | Correctness::Unchecked { .. }, _)
            | (Correctness::Unproven { .. }, ProofPolicy::NotYet) => Ok(Target::Planned(at)),
            (Correctness::Wrong { reason } | Correctness::Unproven { reason }, _) => {
                Err(format!("'{name}' is not proven correct: {reason}").into())
            }
            (Correctness::Cheats { reason }, _) => Err(format!("'{name}' cheats: {reason}").into()),
        }
    }

    /// The variant that represents a stage.
    fn stage(&self, name: &str) -> Option<usize> {
        let stage = self.context.phase.gate_plan.stages.iter().find(|s| s.name == name)?;
        let variants = self.context.matching(&stage.variant).ok()?;
        self.context.ranked(&variants).first().copied()
    }

    fn read(&self, target: &Target<'a>, owner: &Owner, shape: &ShapeName, metric: &str) -> FixedValue {
        let (quantities, id, rounds) = match target {
            Target::Planned(at) => (self.context.quantities, &self.context.variant(*at).id, Rounds::Own),
            Target::Stored(quantities, id) => (*quantities, id, Rounds::Stored),
        };
        let doubt = match rounds {
            Rounds::Own => self.context.doubt_of(metric, id, shape),
            Rounds::Stored => None,
        };
        let value = finite(&quantities.read(id, shape, metric)).map(Value::Float);
        let value =
            value.and_then(|value| doubt.map_or(Ok(value), |doubt| Err(doubt.sentence(&format!(" of '{id}'")).into())));
        let row = quantities.row(id, shape);
        let timed = Timing::of(metric).zip(row).and_then(|(timing, row)| timed(quantities, row, timing, rounds));
        let (column, sampling) = (quantities.column(metric), row.and_then(|row| quantities.sampling_at(row)));
        FixedValue {
            value: value.map_err(|reason| format!("{}.{metric}: {reason}", owner.word()).into()),
            timed,
            spread: column.zip(row).and_then(|(column, row)| column.repeats(row)).cloned(),
            bounds: column.zip(row).and_then(|(column, row)| column.bounds(row)).cloned(),
            row: row.filter(|_| rounds == Rounds::Own),
            // Variants of the same phase are compared by time, even if their code is equal.
            code: sampling
                .filter(|_| rounds == Rounds::Stored || is_of_base(self.context.phase, id))
                .and_then(|sampling| sampling.code.clone()),
        }
    }
}

/// Value of a scalar at a shape, for a variant with these parameters.
pub fn scalar_value(
    context: &EvalContext<'_>,
    scalar: &Scalar,
    shape: &ShapeName,
    params: &[(String, Value)],
) -> Result<f64, ExprError> {
    let dims = context.dimensions(shape).iter().map(|(name, extent)| (name.clone(), Value::Int(*extent)));
    scalar.value.eval_number(&dims.chain(params.iter().cloned()).collect())
}

fn fixed(value: Option<Value>, name: &str) -> FixedValue {
    FixedValue::untimed(value.ok_or_else(|| format!("'{name}' is unknown here").into()))
}
