//! A reference entry: as a non-competing plan of one kernel, if it has a separate source, and its launches.

use super::arg::Arg;
use super::fault::{Faults, PlanErrors};
use super::launch::StepContext;
use super::program::{KernelCode, KernelLaunch, KernelPlan, ShapeProgram, Step};
use super::variants::{Method, Plan, Variant, VariantRole};
use crate::config::{Phase, Shape, Workload, WorkloadReference};
use ncugate_model::expr::{Names, Value};
use ncugate_model::{LaunchMode, VariantId};

/// The id of that kernel. No variant can have it: ids have no spaces.
pub fn reference_id() -> VariantId {
    VariantId("the reference".into())
}

/// The plan of the phase's reference entry, if it has a separate source: built with the flags of the first kernel,
/// without its macros. Launch configurations are not included.
pub fn reference_plan(phase: &Phase, plan: &Plan) -> Option<Plan> {
    let WorkloadReference::Entry { source: Some(_), .. } = &phase.workload.reference else { return None };
    reference_entry_plan(phase, plan)
}

/// The same, also for an entry in the source of the first kernel, then with its macros.
pub fn reference_entry_plan(phase: &Phase, plan: &Plan) -> Option<Plan> {
    let WorkloadReference::Entry { entry, source, .. } = &phase.workload.reference else { return None };
    let (variant, kernel) = reference_variant(phase, plan).or_else(|| kernels(plan).next())?;
    // The flags that a parameter chooses follow the kernel's own, and are no flags of the reference.
    let named = phase.variants.iter().chain(&phase.baselines).find(|spec| spec.name == variant.id.0);
    let template = named.and_then(|spec| spec.kind.kernel()).or(phase.kernel.as_ref());
    let axes = template.iter().flat_map(|kernel| &kernel.flag_axes);
    let swept: usize = axes.filter_map(|axis| axis.chosen(&variant.params)).map(|(_, flags)| flags.len()).sum();
    let flags = &kernel.flags[..kernel.flags.len().saturating_sub(swept)];
    let program = |shape: &Shape| {
        let args = reference_args(phase, shape, kernel).ok().flatten()?;
        let launch = reference_launch(entry, ([1; 3], [1; 3]), args);
        Some(ShapeProgram::new(shape.name.clone(), vec![Step::Launch(launch)]))
    };
    let is_cubin = source.as_ref().is_some_and(|source| source.extension().is_some_and(|ending| ending == "cubin"));
    let kernel = KernelPlan {
        source: source.clone().unwrap_or_else(|| kernel.source.clone()),
        linked: if source.is_some() { Vec::new() } else { kernel.linked.clone() },
        code: if is_cubin { KernelCode::Cubin } else { KernelCode::Cuda },
        flags: if is_cubin { Vec::new() } else { flags.to_vec() },
        defines: if source.is_some() { Vec::new() } else { kernel.defines.clone() },
        programs: phase.workload.shapes.iter().filter_map(program).collect(),
    };
    let method = Method::Kernel(kernel);
    Some(Plan {
        variants: vec![Variant { id: reference_id(), standing: VariantRole::Baseline, params: Vec::new(), method }],
    })
}

fn kernels(plan: &Plan) -> impl Iterator<Item = (&Variant, &KernelPlan)> {
    plan.variants.iter().filter_map(|variant| Some((variant, variant.method.kernel()?)))
}

/// The variant that is the reference entry itself, else one with its separate source: the reference is launched like it.
pub fn reference_variant<'p>(phase: &Phase, plan: &'p Plan) -> Option<(&'p Variant, &'p KernelPlan)> {
    let WorkloadReference::Entry { entry, source: Some(source), .. } = &phase.workload.reference else { return None };
    let of_source = || kernels(plan).filter(|(_, kernel)| kernel.source == *source);
    let mut entries = |(_, kernel): &(&Variant, &KernelPlan)| {
        kernel.programs.iter().flat_map(ShapeProgram::launches).any(|own| own.entry == *entry)
    };
    of_source().find(&mut entries).or_else(|| of_source().next())
}

/// An ordinary launch of a reference entry.
pub fn reference_launch(entry: &str, (grid, block): ([u32; 3], [u32; 3]), args: Vec<Arg>) -> KernelLaunch {
    KernelLaunch {
        entry: entry.to_owned(),
        grid,
        block,
        cluster: [1; 3],
        dynamic_shared: 0,
        shared_constant: None,
        dynamic_arrays: Vec::new(),
        mode: LaunchMode::Ordinary,
        carveout: None,
        l2_window: None,
        args,
    }
}

/// The launch arguments of the reference entry at a shape: its own `args`, else those of the first launch of
/// `kernel`; none if the kernel has no launch there.
///
/// # Errors
/// An argument is neither a buffer, a scalar nor a dimension, or cannot be passed.
pub fn reference_args(phase: &Phase, shape: &Shape, kernel: &KernelPlan) -> Result<Option<Vec<Arg>>, PlanErrors> {
    let WorkloadReference::Entry { args, .. } = &phase.workload.reference else { return Ok(None) };
    if args.is_empty() {
        let first = kernel.program(&shape.name).and_then(|program| program.launches().next());
        return Ok(first.map(|launch| launch.args.clone()));
    }
    let mut faults = Faults::default();
    own_args(phase, shape, args, &mut faults).map_or_else(|| Err(faults.into_errors(phase)), |args| Ok(Some(args)))
}

/// Records faults in the reference entry's own arguments.
pub fn check_reference_args(phase: &Phase, faults: &mut Faults) {
    if let WorkloadReference::Entry { args, .. } = &phase.workload.reference {
        for shape in &phase.workload.shapes {
            own_args(phase, shape, args, faults);
        }
    }
}

fn own_args(phase: &Phase, shape: &Shape, args: &[String], faults: &mut Faults) -> Option<Vec<Arg>> {
    let scope: Names = shape.scope();
    let launching = StepContext {
        tensor_maps: &[],
        key: &|key| format!("workload.reference.{key}"),
        workload: &phase.workload,
        shape,
        scope: &scope,
        subject: &format!("shape {}", shape.name),
    };
    launching.args(args, faults)
}
/// Reports variants without a parameter that the reference takes. External commands have their own answers.
pub fn check_reference_params(phase: &Phase, plan: &Plan, faults: &mut Faults) {
    for variant in plan.variants.iter().filter(|variant| has_reference(variant)) {
        let missing =
            phase.workload.reference_params().iter().find(|name| !variant.params.iter().any(|(own, _)| own == *name));
        if let Some(name) = missing {
            let message = format!("has `{name}`, which this variant does not have");
            faults.add(
                "workload.reference.params",
                message,
                "give it with `params`",
                &format!("variant {}", variant.id),
            );
        }
    }
}

/// The distinct values of the parameters that the reference takes, in the order of the variants; one without values if it
/// takes none.
pub fn reference_answers(phase: &Phase, plan: &Plan) -> Vec<Vec<(String, Value)>> {
    let mut answers = Vec::new();
    for values in
        plan.variants.iter().filter(|variant| has_reference(variant)).map(|v| reference_values(&phase.workload, v))
    {
        if !answers.contains(&values) {
            answers.push(values);
        }
    }
    if answers.is_empty() { vec![Vec::new()] } else { answers }
}

/// The values of the parameters that the reference takes, in a variant.
pub fn reference_values(workload: &Workload, variant: &Variant) -> Vec<(String, Value)> {
    let own = |name: &String| variant.params.iter().find(|(own, _)| own == name).cloned();
    workload.reference_params().iter().filter_map(own).collect()
}

const fn has_reference(variant: &Variant) -> bool {
    matches!(variant.method, Method::Kernel(_) | Method::Function(_))
}
