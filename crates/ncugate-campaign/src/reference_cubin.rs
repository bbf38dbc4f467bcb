//! Builds the reference entry if it has a separate source.

use super::cubins::cubins;
use super::error::CampaignError;
use super::tools::Tools;
use ncugate_cuda::build::{Builder, Cache, Deduplication};
use ncugate_model::{BuildOutcome, BuiltKernel, VariantId};
use ncugate_phase::config::Phase;
use ncugate_phase::plan::{Plan, reference_plan};
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

/// A built reference entry and its inputs.
#[derive(Debug, Default)]
pub struct ReferenceCubin {
    /// Its cubin by the id that stands for it; empty if no entry has a separate source.
    pub cubin: BTreeMap<VariantId, BuiltKernel>,
    /// Files that the compiler read, with their SHA-256.
    pub files: BTreeMap<PathBuf, String>,
    /// Paths without a file that it would have read instead of another.
    pub absent: BTreeSet<PathBuf>,
}

/// Builds the reference entry if it has a separate source.
///
/// # Errors
/// It does not build, or the compiler cannot be used.
pub fn reference_cubin(phase: &Phase, plan: &Plan, tools: &Tools) -> Result<ReferenceCubin, CampaignError> {
    let Some(plan) = reference_plan(phase, plan) else { return Ok(ReferenceCubin::default()) };
    let (arch, cache) = (tools.arch(phase)?, Cache::of_user(phase.build.cache.as_deref())?);
    let builder = Builder::new(&tools.nvcc, &arch, &cache, Deduplication::Each).with_python_of(phase)?;
    let builds = builder.build(&plan, &|_| {}, &mut |_| Ok(()))?;
    match builds.iter().find_map(|build| failure(&build.outcome)) {
        Some(message) => Err(CampaignError::Reference { message }),
        None => Ok(ReferenceCubin {
            cubin: cubins(&plan, &builds, |_| true),
            files: builder.files_read(),
            absent: builder.absent_files(),
        }),
    }
}

/// Why a build failed.
fn failure(outcome: &BuildOutcome) -> Option<String> {
    match outcome {
        BuildOutcome::Failed { message } => Some(message.clone()),
        BuildOutcome::Refused { reasons, .. } => Some(reasons.join("; ")),
        BuildOutcome::Built { .. } | BuildOutcome::NotNeeded => None,
    }
}
