//! The cubins of what was built.

use crate::model::{BuildOutcome, BuildRecord, BuiltKernel, VariantId};
use crate::plan::{Method, Plan};
use std::collections::BTreeMap;

/// What the worker runs of the variants that are wanted: cubins of kernels that were built, and files of functions.
pub fn cubins(
    plan: &Plan,
    builds: &[BuildRecord],
    wanted: impl Fn(&BuildRecord) -> bool,
) -> BTreeMap<VariantId, BuiltKernel> {
    let function = |id: &VariantId| match &plan.variant(id)?.method {
        Method::Function(function) => Some(BuiltKernel { cubin: function.file.clone(), launch: None }),
        Method::Kernel(_) | Method::Command(_) | Method::Captured(_) => None,
    };
    builds
        .iter()
        .filter(|build| wanted(build))
        .filter_map(|build| match &build.outcome {
            BuildOutcome::Built { cubin, launch, .. } => {
                Some((build.variant.clone(), BuiltKernel { cubin: cubin.clone(), launch: launch.clone() }))
            }
            BuildOutcome::NotNeeded => Some((build.variant.clone(), function(&build.variant)?)),
            BuildOutcome::Failed { .. } | BuildOutcome::Refused { .. } => None,
        })
        .collect()
}
