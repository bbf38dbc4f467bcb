//! The variants of a base: the candidates of another commit, over the shapes and buffers of this phase.

use super::fault::PlanErrors;
use super::unroll::unroll_own;
use super::variants::{FunctionPlan, Method, Plan, Variant, VariantRole};
use crate::config::{BASE, Base, BaseKernels, ConfigError, ConfigErrors, GatePlan, KeyPlaces, Phase};
use ncugate_model::VariantId;
use std::path::{Path, PathBuf};

/// Flags whose next word is a file or folder for the compiler.
const READS_NEXT: [&str; 9] = [
    "-I",
    "-include",
    "-isystem",
    "--include-path",
    "--pre-include",
    "--system-include",
    "-optf",
    "--options-file",
    "-iquote",
];

/// Every variant of a phase: its own variants, then those of its base.
///
/// # Errors
/// All faults of the phase at once, or a base that cannot be measured with it.
pub fn unroll(phase: &Phase) -> Result<Plan, PlanErrors> {
    let mut plan = unroll_own(phase)?;
    if let Some(base) = &phase.base {
        let of_base = base_variants(phase, base).map_err(|reason| misfit(phase, reason))?;
        plan.variants.extend(of_base);
    }
    Ok(plan)
}

fn misfit(phase: &Phase, reason: String) -> PlanErrors {
    let place = KeyPlaces::of(&phase.text).locate("base.phase");
    let problem = ConfigError { place, message: format!("`base.phase`: {reason}"), help: None };
    PlanErrors(ConfigErrors::new(&phase.file, &phase.text, vec![problem]))
}

/// Whether an id belongs to a variant of the base: `base` if there is only one, else `base+` and its id in the base.
pub fn is_of_base(phase: &Phase, id: &VariantId) -> bool {
    phase.base.is_some() && id.0.strip_prefix(BASE).is_some_and(|rest| rest.is_empty() || rest.starts_with('+'))
}

/// Its kernels as baselines of the phase; none if it has no measurable kernel.
///
/// # Errors
/// They cannot be launched over the workload of the phase, or a name of the phase conflicts with theirs.
fn base_variants(phase: &Phase, base: &Base) -> Result<Vec<Variant>, String> {
    let BaseKernels::Of(there) = &base.kernels else { return Ok(Vec::new()) };
    let named = phase.variants.iter().chain(&phase.baselines).map(|spec| &spec.name);
    if let Some(name) = named.into_iter().find(|name| is_of_base(phase, &VariantId((*name).into()))) {
        return Err(format!("the phase has a variant `{name}`, a name reserved for the base; rename the variant"));
    }
    if there.search.is_some() && there.sweep.points.is_none() {
        return Err("its candidates come from a search, which has no fixed list".to_owned());
    }
    let there = Phase {
        workload: phase.workload.clone(),
        gates: Vec::new(),
        gate_plan: GatePlan::default(),
        baselines: Vec::new(),
        toolchains: Vec::new(),
        sms: phase.sms,
        ..(**there).clone()
    };
    let plan =
        unroll_own(&there).map_err(|errors| format!("its kernels do not fit this workload: {}", first(&errors.0)))?;
    let kernels: Vec<Variant> = plan.variants.into_iter().filter_map(|variant| moved(variant, &base.folder)).collect();
    let alone = kernels.len() == 1;
    if kernels.is_empty() {
        return Err("it has no candidate with a kernel".to_owned());
    }
    let named = |variant: Variant| {
        let id = if alone { BASE.to_owned() } else { format!("{BASE}+{}", variant.id) };
        Variant { id: VariantId(id.into()), standing: VariantRole::Baseline, ..variant }
    };
    Ok(kernels.into_iter().map(named).collect())
}

impl Plan {
    /// The variants of the base, in the order of its plan.
    pub fn base<'p>(&'p self, phase: &'p Phase) -> impl Iterator<Item = &'p Variant> {
        self.variants.iter().filter(|variant| is_of_base(phase, &variant.id))
    }
}

/// The first of several errors, without its place.
fn first(errors: &ConfigErrors) -> String {
    errors.problems().first().map_or_else(String::new, |problem| problem.message.clone())
}

/// A kernel with its files moved to another folder; none if it is not a kernel.
fn moved(variant: Variant, folder: &Path) -> Option<Variant> {
    let mut method = variant.method;
    match &mut method {
        Method::Kernel(kernel) => {
            kernel.source = below(folder, &kernel.source);
            kernel.linked = kernel.linked.iter().map(|source| below(folder, source)).collect();
            kernel.flags = moved_flags(&kernel.flags, folder);
        }
        Method::Function(FunctionPlan { file, host: Some(host), .. }) => {
            *file = below(folder, file);
            host.flags = moved_flags(&host.flags, folder);
        }
        Method::Function(_) | Method::Command(_) | Method::Captured(_) => return None,
    }
    Some(Variant { method, ..variant })
}

/// Flags with relative files and folders moved to another folder.
fn moved_flags(flags: &[String], folder: &Path) -> Vec<String> {
    let within = |path: &str| below(folder, Path::new(path)).display().to_string();
    let mut reads_next = false;
    let mut moved = Vec::with_capacity(flags.len());
    for flag in flags {
        let is_path = std::mem::replace(&mut reads_next, READS_NEXT.contains(&flag.as_str()));
        let of_option = flag.split_once('=').filter(|(option, _)| READS_NEXT.contains(option));
        moved.push(match (of_option, flag.strip_prefix("-I")) {
            _ if is_path => within(flag),
            (Some((option, path)), _) => format!("{option}={}", within(path)),
            (None, Some(path)) if !path.is_empty() => format!("-I{}", within(path)),
            (None, _) => flag.clone(),
        });
    }
    moved
}

fn below(folder: &Path, path: &Path) -> PathBuf {
    // a folder of the project itself keeps its spelling
    if folder == Path::new(".") { path.to_owned() } else { folder.join(path) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_that_flags_name_are_those_of_the_base() {
        let flags = [
            "-O3",
            "-Ikernels",
            "-I",
            "lib",
            "--include-path=x",
            "-include",
            "a.h",
            "-I/opt/x",
            "-DX=-Iy",
            "-lineinfo",
        ]
        .map(str::to_owned);
        let moved = moved_flags(&flags, Path::new("b"));
        let expected = [
            "-O3",
            "-Ib/kernels",
            "-I",
            "b/lib",
            "--include-path=b/x",
            "-include",
            "b/a.h",
            "-I/opt/x",
            "-DX=-Iy",
            "-lineinfo",
        ];
        assert_eq!(moved, expected);
    }
}
