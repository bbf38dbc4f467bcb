//! Finds the tools that the builds of a plan need, before anything slow starts.

use super::arch::Arch;
use super::build_work::sorted;
use super::cache::Cache;
use super::error::BuildError;
use super::nvcc::Nvcc;
use super::package_headers::PackageHeaders;
use super::python::prove_compilers;
use crate::python_environment::PythonEnvironment;
use ncugate_phase::config::{Phase, ProgramKind, WorkloadReference};
use ncugate_phase::plan::Plan;

/// Finds nvcc, the Python, its compilers and the packages with headers, as far as the plan and its reference need them.
///
/// # Errors
/// All tools that are missing, in one error.
pub fn prove_tools(phase: &Phase, plan: &Plan, arch: &Arch) -> Result<(), BuildError> {
    let work = sorted(plan, arch);
    let (python, include) = (PythonEnvironment::of(&phase.build), &phase.build.include);
    let mut missing = Vec::new();
    if !work.units.is_empty() || !work.hosts.is_empty() || !include.is_empty() {
        missing.extend(Nvcc::find(phase.build.nvcc.as_deref()).err());
    }
    if !work.python.is_empty() || !include.is_empty() {
        let cache = Cache::of_user(phase.build.cache.as_deref())?;
        if !work.python.is_empty() {
            missing.extend(prove_compilers(&python, &cache).err());
        }
        if !include.is_empty() {
            missing.extend(PackageHeaders::find(include, &python, &cache).err());
        }
    } else if let WorkloadReference::Program(reference) = &phase.workload.reference
        && matches!(reference.program, ProgramKind::Python { .. })
        && which::which(&python.program).is_err()
    {
        missing.push(BuildError::NoPython { python: python.program });
    }
    match missing.len() {
        0 | 1 => missing.pop().map_or(Ok(()), Err),
        _ if missing.iter().any(|error| matches!(error, BuildError::Interrupted)) => Err(BuildError::Interrupted),
        _ => Err(BuildError::Several(missing)),
    }
}
