//! Builds the job of a phase and its plan.

use super::evaluate::{
    built, calls, check_launches, check_provable, functions, hidden_seeds, job_reference, job_shape, timing,
    uncompared_seed, variant_extents,
};
use super::job::{CaseLaws, CheckCase, FunctionLanguage, JobFunction, JobKernel, JobMode, ProfiledInputs, WorkerJob};
use super::job_error::JobError;
use crate::gpu::{BufferSpec, VariantExtents};
use crate::prove::{ReferenceServer, ReferenceSpec, ShapeSpec, serve};
use crate::python_environment::PythonEnvironment;
use crate::time::AuditEffort;
use ncugate_model::{BitwiseComparison, BuiltKernel, EntrySymbols, ShapeName, VariantId};
use ncugate_phase::config::{Phase, ProgramKind, Shape, WorkloadReference};
use ncugate_phase::plan::{Plan, VariantRole, reference_answers};
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

/// The purpose of a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JobPurpose {
    Bench,
    /// Time variants that were checked before. Outputs of timed launches are still verified.
    Time,
    /// Launch under a profiler. Outputs are verified as for timed launches.
    Profile,
    /// Compare outputs bit by bit, at every shape.
    Bitwise,
    /// Launch once under compute-sanitizer, at each variant's smallest shape. Outputs are not verified.
    Sanitize,
}

impl WorkerJob {
    /// The job of bitwise comparisons, which [`Self::new`] builds without any.
    ///
    /// # Errors
    /// Those of [`Self::new`].
    pub fn bitwise(
        phase: &Phase,
        plan: &Plan,
        cubins: &BTreeMap<VariantId, BuiltKernel>,
        asked: &[BitwiseComparison],
    ) -> Result<Self, JobError> {
        let mut job = Self::new(phase, plan, cubins, JobPurpose::Bitwise)?;
        if let JobMode::Bitwise { comparisons, .. } = &mut job.mode {
            comparisons.extend_from_slice(asked);
        }
        Ok(job)
    }

    /// The job over the variants of `plan` that have a cubin in `cubins`, without external commands.
    pub fn new(
        phase: &Phase,
        plan: &Plan,
        cubins: &BTreeMap<VariantId, BuiltKernel>,
        purpose: JobPurpose,
    ) -> Result<Self, JobError> {
        let shapes =
            phase.workload.shapes.iter().map(|s| job_shape(phase, Some(plan), s)).collect::<Result<Vec<_>, _>>()?;
        let smallest_first = by_size(&shapes);
        if matches!(purpose, JobPurpose::Bench | JobPurpose::Profile | JobPurpose::Bitwise) {
            check_provable(phase)?;
        }
        let (mode, timed) = match purpose {
            JobPurpose::Bench => (JobMode::Bench(timing(phase, AuditEffort::Sweep)?), &phase.bench.shapes),
            JobPurpose::Time => (JobMode::Bench(timing(phase, AuditEffort::Verdict)?), &phase.bench.shapes),
            JobPurpose::Profile => {
                let repeats = hidden_seeds(phase, phase.profile.repeat)?;
                if repeats.is_empty() {
                    return Err(JobError::NoReference);
                }
                let warm_up = uncompared_seed(phase, &repeats)?;
                (JobMode::Profile(ProfiledInputs { repeats, warm_up, empty_launches: 2 }), &phase.profile.shapes)
            }
            JobPurpose::Bitwise => {
                let seed = hidden_seeds(phase, 1)?.first().or(phase.workload.seeds.first()).copied();
                let mode = JobMode::Bitwise { seed: seed.unwrap_or_default(), comparisons: Vec::new() };
                (mode, &smallest_first)
            }
            JobPurpose::Sanitize => {
                let seed = phase.workload.seeds.first().copied().unwrap_or_default();
                (JobMode::Sanitize { seed }, &smallest_first)
            }
        };
        let reference = match purpose {
            JobPurpose::Bench | JobPurpose::Time | JobPurpose::Profile => job_reference(phase, plan, cubins, &shapes)?,
            JobPurpose::Bitwise | JobPurpose::Sanitize => ReferenceSpec::None,
        };
        let checked = if purpose == JobPurpose::Bench { cases(phase) } else { Vec::new() };
        let mut kernels = Vec::new();
        for (variant, kernel, built) in built(plan, cubins) {
            check_launches(variant, kernel, phase)?;
            let is_launched = |shape: &ShapeName| !built.left_out.contains(shape);
            let cases = checked.iter().filter(|case| is_launched(&case.shape)).cloned().collect();
            let extents = own_extents(phase, plan, variant)?;
            kernels.push(JobKernel {
                variant: variant.clone(),
                cubin: built.cubin.clone(),
                symbols: built.symbols.clone(),
                function: None,
                programs: kernel.programs.iter().map(|program| program.compiled_as(built.launch.as_ref())).collect(),
                extents,
                cases,
                shapes: timed.iter().filter(|shape| is_launched(shape)).cloned().collect(),
                unverified: None,
            });
        }
        for (variant, function) in functions(plan, cubins) {
            let Some(BuiltKernel { cubin: file, .. }) = cubins.get(&variant.id) else { continue };
            let profiled = match (purpose, variant.standing) {
                (JobPurpose::Profile, VariantRole::Candidate) => hidden_seeds(phase, 1)?.first().copied(),
                _ => None,
            };
            let language = if function.host.is_some() { FunctionLanguage::Cpp } else { FunctionLanguage::Python };
            kernels.push(JobKernel {
                variant: variant.id.clone(),
                cubin: file.clone(),
                symbols: EntrySymbols::default(),
                function: Some(JobFunction {
                    file: file.clone(),
                    name: function.function.clone(),
                    params: variant.params.clone(),
                    language,
                    profiled,
                }),
                programs: calls(phase, function),
                extents: own_extents(phase, plan, &variant.id)?,
                cases: checked.clone(),
                shapes: timed.clone(),
                unverified: None,
            });
        }
        if purpose == JobPurpose::Sanitize {
            kernels.iter_mut().for_each(|kernel| kernel.shapes.truncate(1));
        }
        let workload = &phase.workload;
        Ok(Self {
            device: 0,
            mode,
            seeds: workload.seeds.clone(),
            laws: CaseLaws::new(workload),
            reference,
            tolerance: workload.tolerance,
            shapes,
            kernels,
            python: PythonEnvironment::of(&phase.build),
            references: reference_servers(phase),
            shared: Vec::new(),
        })
    }
}

/// Names of the shapes, those with the smallest buffers first.
fn by_size(shapes: &[ShapeSpec]) -> Vec<ShapeName> {
    let mut sorted: Vec<&ShapeSpec> = shapes.iter().collect();
    sorted.sort_by_key(|shape| shape.buffers.iter().map(BufferSpec::bytes).sum::<usize>());
    sorted.into_iter().map(|shape| shape.name.clone()).collect()
}

/// Interpreters that import the reference and the checks of a phase, once per process and file. They are started now if they do
/// not run yet.
pub fn reference_servers(phase: &Phase) -> Vec<ReferenceServer> {
    let python = PythonEnvironment::of(&phase.build);
    let reference = match &phase.workload.reference {
        WorkloadReference::Program(program) => Some(program),
        _ => None,
    };
    let programs = reference.into_iter().chain(phase.workload.checks.iter().map(|check| &check.program));
    let files = programs.filter_map(|program| match &program.program {
        ProgramKind::Python { file, .. } => Some(file),
        ProgramKind::Command { .. } => None,
    });
    let files: BTreeSet<&PathBuf> = files.collect();
    files.into_iter().filter_map(|file| serve(&python, file)).collect()
}

/// The extents of a variant at each shape; empty if no buffer differs between variants.
fn own_extents(phase: &Phase, plan: &Plan, id: &VariantId) -> Result<Vec<(ShapeName, VariantExtents)>, JobError> {
    let Some(variant) = plan.variant(id) else { return Ok(Vec::new()) };
    let answers = reference_answers(phase, plan);
    let shapes = phase.workload.shapes.iter();
    let own = shapes.map(|shape| Ok((shape.name.clone(), variant_extents(phase, variant, shape, &answers)?)));
    let own = own.collect::<Result<Vec<_>, JobError>>()?;
    Ok(own.into_iter().filter(|(_, extents)| *extents != VariantExtents::default()).collect())
}

/// Every correctness case of a phase, shape by shape.
pub fn cases(phase: &Phase) -> Vec<CheckCase> {
    let of_shape = |shape: &Shape| {
        let name = shape.name.clone();
        phase.workload.seeds.iter().map(move |&seed| CheckCase { shape: name.clone(), seed })
    };
    phase.workload.shapes.iter().flat_map(of_shape).collect()
}

#[cfg(test)]
mod tests;
