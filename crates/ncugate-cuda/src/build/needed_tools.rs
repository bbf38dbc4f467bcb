//! Finds the tools that the builds of a plan need, before anything slow starts.

use super::arch::Arch;
use super::build_work::sorted;
use super::cache::Cache;
use super::error::BuildError;
use super::nvcc::Nvcc;
use super::package_headers::PackageHeaders;
use super::python::prove_compilers;
use crate::python_environment::PythonEnvironment;
use ncugate_phase::config::{BuildSettings, Phase, ProgramKind, WorkloadReference};
use ncugate_phase::plan::Plan;

/// Finds nvcc, the Python, its compilers and the packages with headers, as far as the plan and its reference need them.
///
/// # Errors
/// All tools that are missing, in one error.
pub fn prove_tools(phase: &Phase, plan: &Plan, arch: &Arch) -> Result<(), BuildError> {
    let work = sorted(plan, arch, |_| true);
    let (python, include) = (PythonEnvironment::of(&phase.build), &phase.build.include);
    let mut missing = Vec::new();
    if !work.units.is_empty() || !work.hosts.is_empty() || !include.is_empty() || !phase.toolchains.is_empty() {
        missing.extend(first_nvcc(phase).err());
    }
    if !work.python.is_empty() || !include.is_empty() {
        let cache = Cache::of_user(phase.build.cache.as_deref())?;
        for (name, build) in environments(phase) {
            let python = PythonEnvironment::of(&build);
            let named = |error: BuildError| error.of_toolchain(name, "python");
            if !work.python.is_empty() {
                missing.extend(prove_compilers(&python, &cache).map_err(named).err());
            }
            if !include.is_empty() {
                missing.extend(PackageHeaders::find(include, &python, &cache).map_err(named).err());
            }
        }
    } else if let WorkloadReference::Program(reference) = &phase.workload.reference
        && matches!(reference.program, ProgramKind::Python { .. })
        && which::which(&python.program).is_err()
    {
        missing.push(BuildError::NoPython { python: python.program });
    }
    all_found(missing)
}

/// The nvcc of the phase; if it has toolchains, that of the first.
///
/// # Errors
/// It, or the nvcc of a toolchain, is missing.
pub fn first_nvcc(phase: &Phase) -> Result<Nvcc, BuildError> {
    let find = |(name, build): (Option<&str>, BuildSettings)| {
        Nvcc::find(build.nvcc.as_deref()).map_err(|error| error.of_toolchain(name, "nvcc"))
    };
    let (mut found, mut missing) = (Vec::new(), Vec::new());
    for nvcc in environments(phase).into_iter().map(find) {
        nvcc.map_or_else(|error| missing.push(error), |nvcc| found.push(nvcc));
    }
    all_found(missing)?;
    found.into_iter().next().map_or_else(|| Nvcc::find(None), Ok)
}

/// The settings of each toolchain with its name; those of the phase if it has none.
fn environments(phase: &Phase) -> Vec<(Option<&str>, BuildSettings)> {
    match phase.toolchains.is_empty() {
        true => vec![(None, phase.build.clone())],
        false => phase.toolchains.iter().map(|own| (Some(own.name.as_str()), phase.build.of(own))).collect(),
    }
}

fn all_found(mut missing: Vec<BuildError>) -> Result<(), BuildError> {
    match missing.len() {
        0 | 1 => missing.pop().map_or(Ok(()), Err),
        _ if missing.iter().any(|error| matches!(error, BuildError::Interrupted)) => Err(BuildError::Interrupted),
        _ => Err(BuildError::Several(missing)),
    }
}
