//! The cubins of built variants.

use ncugate_model::{BuildOutcome, BuildRecord, BuiltKernel, EntrySymbols, VariantId};
use ncugate_phase::plan::{Method, Plan};
use std::collections::BTreeMap;

/// Files that the worker runs for the wanted variants: cubins of built kernels, and files of functions.
pub fn cubins(
    plan: &Plan,
    builds: &[BuildRecord],
    wanted: impl Fn(&BuildRecord) -> bool,
) -> BTreeMap<VariantId, BuiltKernel> {
    let function = |id: &VariantId| match &plan.variant(id)?.method {
        Method::Function(function) => Some(BuiltKernel {
            cubin: function.file.clone(),
            symbols: EntrySymbols::default(),
            launch: None,
            left_out: Vec::new(),
        }),
        Method::Kernel(_) | Method::Command(_) | Method::Captured(_) => None,
    };
    builds
        .iter()
        .filter(|build| wanted(build))
        .filter_map(|build| match &build.outcome {
            BuildOutcome::Built { cubin, symbols, launch, left_out, .. } => {
                let left_out = left_out.iter().map(|out| out.shape.clone()).collect();
                let (cubin, symbols, launch) = (cubin.clone(), symbols.clone(), launch.clone());
                Some((build.variant.clone(), BuiltKernel { cubin, symbols, launch, left_out }))
            }
            BuildOutcome::NotNeeded => Some((build.variant.clone(), function(&build.variant)?)),
            BuildOutcome::Failed { .. } | BuildOutcome::Refused { .. } => None,
        })
        .collect()
}
