//! Which variants are the same measurement: equal machine code with equal launches.

use crate::model::{BuildOutcome, BuildRecord, CompiledLaunch, VariantId};
use crate::plan::{Launch, Method, Plan};

/// The variant of `earlier` whose measurements `record` can share: the same code, grid, block, cluster, dynamic shared
/// memory and arguments at every shape.
pub fn twin(earlier: &[BuildRecord], record: &BuildRecord, plan: &Plan) -> Option<VariantId> {
    let code = code(record)?;
    let launches = launches(plan, &record.variant)?;
    earlier
        .iter()
        .filter(|other| other.shares.is_none() && self::code(other) == Some(code))
        .find(|other| self::launches(plan, &other.variant) == Some(launches))
        .map(|other| other.variant.clone())
}

/// The machine code, and how its compiler says that it is launched.
fn code(record: &BuildRecord) -> Option<(&str, Option<&CompiledLaunch>)> {
    match &record.outcome {
        BuildOutcome::Built { code_sha256, launch, .. } => Some((code_sha256, launch.as_ref())),
        BuildOutcome::Failed { .. } | BuildOutcome::Refused { .. } | BuildOutcome::NotNeeded => None,
    }
}

fn launches<'a>(plan: &'a Plan, id: &VariantId) -> Option<&'a [Launch]> {
    match &plan.variant(id)?.method {
        Method::Kernel(kernel) => Some(&kernel.launches),
        Method::Function(_) | Method::Command(_) | Method::Captured(_) => None,
    }
}
