//! The cubins of what was built.

use crate::model::{BuildOutcome, BuildRecord, BuiltKernel, VariantId};
use std::collections::BTreeMap;

/// Cubins of the variants that were built and are wanted.
pub fn cubins(builds: &[BuildRecord], wanted: impl Fn(&BuildRecord) -> bool) -> BTreeMap<VariantId, BuiltKernel> {
    builds
        .iter()
        .filter(|build| wanted(build))
        .filter_map(|build| match &build.outcome {
            BuildOutcome::Built { cubin, launch, .. } => {
                Some((build.variant.clone(), BuiltKernel { cubin: cubin.clone(), launch: launch.clone() }))
            }
            BuildOutcome::Failed { .. } | BuildOutcome::Refused { .. } | BuildOutcome::NotNeeded => None,
        })
        .collect()
}
