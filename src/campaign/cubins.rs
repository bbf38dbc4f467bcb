//! The cubins of what was built.

use crate::model::{BuildOutcome, BuildRecord, VariantId};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// Cubins of the variants that were built and are wanted.
pub fn cubins(builds: &[BuildRecord], wanted: impl Fn(&BuildRecord) -> bool) -> BTreeMap<VariantId, PathBuf> {
    builds
        .iter()
        .filter(|build| wanted(build))
        .filter_map(|build| match &build.outcome {
            BuildOutcome::Built { cubin, .. } => Some((build.variant.clone(), cubin.clone())),
            BuildOutcome::Failed { .. } | BuildOutcome::Refused { .. } | BuildOutcome::NotNeeded => None,
        })
        .collect()
}
