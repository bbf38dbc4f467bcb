//! Times of chosen variants: from the confirmation if there is one, because its samples took no part in the choice.
//! Gates judge the same times, so a sentence next to a gate has the same numbers. Tables of all variants have the times
//! of the sweep.

use ncugate_judge::SampleOrigin;
use ncugate_judge::reference_runs::confirmed;
use ncugate_model::{Quantities, ShapeName, VariantId};
use std::sync::Arc;

/// A metric of a variant at a shape: from the confirmation if the variant was re-timed, else from the sweep.
pub fn value(quantities: &Quantities, variant: &VariantId, shape: &ShapeName, metric: &str) -> Option<f64> {
    match fresh(quantities, variant, shape) {
        Some(_) => confirmed(quantities, variant, shape, metric),
        None => quantities.read(variant, shape, metric).value(),
    }
}

/// A metric of two variants at a shape, by samples of one kind: from the confirmation if both were re-timed, else from
/// the sweep.
pub fn pair(
    quantities: &Quantities,
    (one, other): (&VariantId, &VariantId),
    shape: &ShapeName,
    metric: &str,
) -> Option<(f64, f64)> {
    let both = fresh(quantities, one, shape).and(fresh(quantities, other, shape)).is_some();
    let read = |id| match both {
        true => confirmed(quantities, id, shape, metric),
        false => quantities.read(id, shape, metric).value(),
    };
    Some((read(one)?, read(other)?))
}

/// Samples of two variants at a shape, of one kind as in [`pair`].
pub fn samples<'q>(
    quantities: &'q Quantities,
    (one, other): (&VariantId, &VariantId),
    shape: &ShapeName,
) -> Option<(&'q [f64], &'q [f64])> {
    let both = fresh(quantities, one, shape).zip(fresh(quantities, other, shape));
    let (ours, theirs) = both.or_else(|| quantities.samples(one, shape).zip(quantities.samples(other, shape)))?;
    Some((ours, theirs))
}

/// The samples that give the times of a variant at a shape.
pub fn origin(quantities: &Quantities, variant: &VariantId, shape: &ShapeName) -> SampleOrigin {
    let fresh = fresh(quantities, variant, shape);
    fresh.map_or(SampleOrigin::Sweep, |_| SampleOrigin::Confirmation)
}

/// Samples of the confirmation, in microseconds.
pub fn fresh<'q>(quantities: &'q Quantities, variant: &VariantId, shape: &ShapeName) -> Option<&'q Arc<[f64]>> {
    let sampling = quantities.sampling_at(quantities.row(variant, shape)?)?;
    sampling.fresh.as_ref()?.samples.as_ref().ok()
}
