//! A reference entry with a source of its own, as a plan of one kernel that competes with nothing.

use super::variant::{KernelCode, KernelPlan, Method, Plan, Standing, Variant};
use crate::config::{Phase, WorkloadReference};
use crate::model::VariantId;

/// The id of that kernel. No variant can have it: ids have no spaces.
pub fn reference_id() -> VariantId {
    VariantId("the reference".to_owned())
}

/// The plan of the phase's reference entry, where it has a source of its own: built with the flags of the first kernel, without
/// its macros, and launched with its arguments.
pub fn reference_plan(phase: &Phase, plan: &Plan) -> Option<Plan> {
    let WorkloadReference::Entry { source: Some(_), .. } = &phase.workload.reference else { return None };
    reference_entry_plan(phase, plan)
}

/// The same of an entry that is in the source of the first kernel too, then with its macros.
pub fn reference_entry_plan(phase: &Phase, plan: &Plan) -> Option<Plan> {
    let WorkloadReference::Entry { entry, source, .. } = &phase.workload.reference else { return None };
    let kernel = plan.variants.iter().find_map(|variant| match &variant.method {
        Method::Kernel(kernel) => Some(kernel),
        Method::Function(_) | Method::Command(_) | Method::Captured(_) => None,
    })?;
    let kernel = KernelPlan {
        source: source.clone().unwrap_or_else(|| kernel.source.clone()),
        code: KernelCode::Cuda,
        entry: entry.clone(),
        flags: kernel.flags.clone(),
        defines: if source.is_some() { Vec::new() } else { kernel.defines.clone() },
        launches: kernel.launches.clone(),
    };
    let method = Method::Kernel(kernel);
    Some(Plan {
        variants: vec![Variant { id: reference_id(), standing: Standing::Baseline, params: Vec::new(), method }],
    })
}
