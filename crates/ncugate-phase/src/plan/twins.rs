//! Finds variants that are the same measurement: equal machine code with equal launches.

use super::{Method, Plan, ShapeProgram, Step, reference_values};
use crate::config::Workload;
use ncugate_model::digest::sha256;
use ncugate_model::expr::Value;
use ncugate_model::{BuildOutcome, BuildRecord, CompiledLaunch, VariantId};

/// The variant of `earlier` whose measurements `record` can share: at every shape, it has the same code, the same launch
/// configurations and arguments, the same fills and copies, and the same expected outputs. Entry names are not compared,
/// only their code.
pub fn twin(
    earlier: &[BuildRecord],
    record: &BuildRecord,
    plan: &Plan,
    workload: Option<&Workload>,
) -> Option<VariantId> {
    let code = code(record)?;
    let programs = |id| Some((programs(plan, id)?, answer(plan, id, workload)));
    let own = programs(&record.variant)?;
    earlier
        .iter()
        .filter(|other| other.shares.is_none() && self::code(other) == Some(code))
        .find(|other| programs(&other.variant).as_ref() == Some(&own))
        .map(|other| other.variant.clone())
}

/// A hash that is equal for variants that are the same measurement, also across plans; none if nothing was built.
pub fn code_hash(record: &BuildRecord, plan: &Plan, workload: &Workload) -> Option<String> {
    let mut text = serde_json::to_vec(&(code(record)?, programs(plan, &record.variant)?)).ok()?;
    let answer = answer(plan, &record.variant, Some(workload));
    if !answer.is_empty() {
        text.extend(serde_json::to_vec(&answer).ok()?);
    }
    Some(sha256(&text))
}

/// The values of the parameters on which a variant's expected outputs depend.
fn answer(plan: &Plan, id: &VariantId, workload: Option<&Workload>) -> Vec<(String, Value)> {
    workload.zip(plan.variant(id)).map_or_else(Vec::new, |(workload, variant)| reference_values(workload, variant))
}

/// The machine code, and the launch configuration that its compiler reports.
fn code(record: &BuildRecord) -> Option<(&str, Option<&CompiledLaunch>)> {
    match &record.outcome {
        BuildOutcome::Built { code_sha256, launch, .. } => Some((code_sha256, launch.as_ref())),
        BuildOutcome::Failed { .. } | BuildOutcome::Refused { .. } | BuildOutcome::NotNeeded => None,
    }
}

/// The programs of a kernel. An entry has its position among the launched ones for its name; the first has none.
fn programs(plan: &Plan, id: &VariantId) -> Option<Vec<ShapeProgram>> {
    let (mut programs, entries) = match &plan.variant(id)?.method {
        Method::Kernel(kernel) => (kernel.programs.clone(), kernel.entries()),
        Method::Function(_) | Method::Command(_) | Method::Captured(_) => return None,
    };
    for step in programs.iter_mut().flat_map(|program| &mut program.steps) {
        if let Step::Launch(launch) = step {
            let at = entries.iter().position(|entry| *entry == launch.entry).filter(|at| *at > 0);
            launch.entry = at.map_or_else(String::new, |at| at.to_string());
        }
    }
    Some(programs)
}
