//! Builds a phase for a GPU that may be absent.

use super::tools::device_within;
use super::{CampaignError, NoProgress, Progress, device};
use ncugate_cuda::build::{Arch, BuildError, Builder, Cache, Deduplication, IncludeScope};
use ncugate_judge::{TargetGpu, not_built};
use ncugate_model::{BuildOutcome, BuildRecord, ComputeCapability};
use ncugate_phase::config::Phase;
use ncugate_phase::plan::{Plan, Variant, reference_entry_plan};
use std::io;
use std::time::Duration;

/// Time limit of the driver when it is asked only for the number of multiprocessors.
const SHORT_PROBE: Duration = Duration::from_secs(5);
/// The default target if neither the command line nor the phase names one.
const USUAL: ComputeCapability = ComputeCapability::new(9, 0);

/// The build target and its number of multiprocessors: the requested ones, else those of the present GPU if it is of
/// that kind.
///
/// # Errors
/// This program cannot query the GPU.
pub fn target(asked: Option<Arch>, sms: Option<u32>) -> Result<(Arch, TargetGpu), CampaignError> {
    let device = match (&asked, sms) {
        // Everything is known.
        (Some(_), Some(_)) => None,
        // The target is known: a driver that is broken or hangs does not matter.
        (Some(_), None) => device_within(SHORT_PROBE).ok().and_then(Result::ok),
        (None, _) => device()?.ok(),
    };
    let arch = asked.unwrap_or_else(|| Arch::of(device.as_ref().map_or(USUAL, |device| device.compute_capability)));
    let capability = arch.capability();
    let present = device.filter(|device| device.compute_capability == capability).map(|device| device.sms);
    Ok((arch, TargetGpu { capability, sms: sms.or(present) }))
}

/// Builds every variant; a plan with only external commands needs no compiler.
///
/// # Errors
/// nvcc or its cache cannot be used. A failed build of a variant is a record.
pub fn build_for(
    plan: &Plan,
    phase: &Phase,
    arch: &Arch,
    scope: IncludeScope,
    progress: &(dyn Progress + Sync),
) -> Result<Vec<BuildRecord>, BuildError> {
    if !plan.variants.iter().any(|variant| variant.method.is_built()) {
        let record = |variant: &Variant| BuildRecord {
            variant: variant.id.clone(),
            shares: None,
            outcome: BuildOutcome::NotNeeded,
        };
        return Ok(plan.variants.iter().map(record).collect());
    }
    let cache = Cache::of_user(phase.build.cache.as_deref())?;
    progress.stage("build", plan.variants.len());
    let mut sink = |record: &BuildRecord| {
        progress.step(&record.variant.0);
        io::Result::Ok(())
    };
    let builder = Builder::finding(phase.build.nvcc.as_deref(), arch, &cache, Deduplication::Share);
    builder.including(scope).with_python_of(phase)?.build(plan, &|_| {}, &mut sink)
}

/// Why none of the candidates can be launched, if so. Such a commit is neither good nor bad.
pub fn unbuilt(records: &[&BuildRecord]) -> Option<String> {
    records.iter().map(|record| not_built(&record.outcome)).collect::<Option<Vec<_>>>()?.into_iter().next()
}

/// Why the reference entry cannot be built or launched; `None` if it can, or if the phase has no reference entry.
///
/// # Errors
/// nvcc or its cache cannot be used.
pub fn reference_problem(
    phase: &Phase,
    plan: &Plan,
    arch: &Arch,
    scope: IncludeScope,
) -> Result<Option<String>, BuildError> {
    let Some(plan) = reference_entry_plan(phase, plan) else { return Ok(None) };
    let problem = |record: BuildRecord| match record.outcome {
        BuildOutcome::Failed { message } => Some(format!("the reference entry does not build: {message}")),
        BuildOutcome::Refused { reasons, .. } => {
            Some(format!("the reference entry cannot be launched: {}", reasons.join("; ")))
        }
        BuildOutcome::Built { .. } | BuildOutcome::NotNeeded => None,
    };
    Ok(build_for(&plan, phase, arch, scope, &NoProgress)?.into_iter().find_map(problem))
}
