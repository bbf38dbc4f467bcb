//! Sorts the variants of a plan by the work that they need.

use super::arch::Arch;
use super::nvcc::CompileUnit;
use indexmap::{IndexMap, IndexSet};
use ncugate_model::{BuildOutcome, KernelName};
use ncugate_phase::config::CodeForm;
use ncugate_phase::plan::{FunctionPlan, HostCode, KernelCode, KernelPlan, Method, Plan, Variant, unsupported_launch};

/// The units to compile, each with its variants and their indices in the plan.
pub(super) type Units<'a> = IndexMap<CompileUnit, Vec<PlannedKernel<'a>>>;

/// A unit with the kernels that it is compiled for.
pub(super) type UnitWork<'a> = (CompileUnit, Vec<PlannedKernel<'a>>);

/// A kernel and its index in the plan.
pub(super) type PlannedKernel<'p> = (usize, &'p KernelPlan);

/// The variants of a plan, sorted by the work that they need.
#[derive(Default)]
pub(super) struct BuildWork<'p> {
    /// Outcomes of variants that need no compilation.
    pub known: Vec<(usize, BuildOutcome)>,
    pub units: Units<'p>,
    /// Kernels that are given as machine code.
    pub cubins: Vec<PlannedKernel<'p>>,
    pub python: Vec<PlannedKernel<'p>>,
    pub hosts: Vec<PlannedHost<'p>>,
}

/// Host code to build, and its index in the plan.
pub(super) struct PlannedHost<'p> {
    pub index: usize,
    pub function: &'p FunctionPlan,
    pub host: &'p HostCode,
}

/// The work of the variants for which `is_member` holds.
pub(super) fn sorted<'p>(plan: &'p Plan, arch: &Arch, is_member: impl Fn(&Variant) -> bool) -> BuildWork<'p> {
    let mut sorted = BuildWork::default();
    for (index, variant) in plan.variants.iter().enumerate().filter(|(_, variant)| is_member(variant)) {
        match &variant.method {
            Method::Function(function @ FunctionPlan { host: Some(host), .. }) => {
                sorted.hosts.push(PlannedHost { index, function, host });
            }
            Method::Function(_) | Method::Command(_) | Method::Captured(_) => {
                sorted.known.push((index, BuildOutcome::NotNeeded))
            }
            Method::Kernel(kernel) => {
                if let Some(reason) = unsupported_launch(arch.capability(), &kernel.programs) {
                    sorted.known.push((index, BuildOutcome::Refused { reasons: vec![reason], resources: None }));
                    continue;
                }
                match &kernel.code {
                    KernelCode::Cuda => sorted.units.entry(unit(kernel, CodeForm::Cuda)).or_default(),
                    KernelCode::Ptx => sorted.units.entry(unit(kernel, CodeForm::Ptx)).or_default(),
                    KernelCode::Cubin => &mut sorted.cubins,
                    KernelCode::Python(_) => &mut sorted.python,
                }
                .push((index, kernel));
            }
        }
    }
    sorted
}

/// nvcc's flag for code that is linked.
const RELOCATABLE: &str = "-rdc=true";

fn unit(kernel: &KernelPlan, code: CodeForm) -> CompileUnit {
    let entries = kernel.entries();
    let mut flags = kernel.flags.clone();
    if !kernel.linked.is_empty() {
        flags.push(RELOCATABLE.to_owned());
    }
    let constants: IndexSet<&String> = kernel.launches().filter_map(|launch| launch.shared_constant.as_ref()).collect();
    let is_asked =
        code == CodeForm::Cuda && (!constants.is_empty() || entries.iter().any(|entry| is_expression(entry)));
    CompileUnit {
        source: kernel.source.clone(),
        linked: kernel.linked.clone(),
        code,
        flags,
        defines: kernel.defines.clone(),
        constants: constants.into_iter().cloned().collect(),
        entries: if is_asked { entries.into_iter().map(str::to_owned).collect() } else { Vec::new() },
    }
}

/// Whether only the compiler knows the symbol of an entry: a template instance, or an overload with its parameters.
pub(super) fn is_expression(entry: &str) -> bool {
    !entry.starts_with("_Z") && (KernelName::parse(entry).is_instance() || KernelName::signature(entry).is_some())
}
