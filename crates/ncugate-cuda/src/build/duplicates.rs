//! Which variants are the same measurement: equal machine code with equal launches.

use ncugate_model::digest::sha256;
use ncugate_model::{BuildOutcome, BuildRecord, CompiledLaunch, VariantId};
use ncugate_phase::plan::{KernelLaunch, Method, Plan, ShapeProgram, Step};

/// The variant of `earlier` whose measurements `record` can share: the same code, launched the same way with the same
/// arguments, and the same fills and copies, at every shape. Names of entries are not compared: their code is.
pub fn twin(earlier: &[BuildRecord], record: &BuildRecord, plan: &Plan) -> Option<VariantId> {
    let code = code(record)?;
    let programs = programs(plan, &record.variant)?;
    earlier
        .iter()
        .filter(|other| other.shares.is_none() && self::code(other) == Some(code))
        .find(|other| self::programs(plan, &other.variant).is_some_and(|theirs| have_equal_programs(theirs, programs)))
        .map(|other| other.variant.clone())
}

/// A hash of what makes two variants one measurement, which tells variants of different plans apart; none where nothing was built.
pub fn code_hash(record: &BuildRecord, plan: &Plan) -> Option<String> {
    let mut programs = programs(plan, &record.variant)?.to_vec();
    for step in programs.iter_mut().flat_map(|program| &mut program.steps) {
        if let Step::Launch(launch) = step {
            launch.entry.clear();
        }
    }
    let text = serde_json::to_vec(&(code(record)?, programs)).ok()?;
    Some(sha256(&text))
}

/// The machine code, and how its compiler says that it is launched.
fn code(record: &BuildRecord) -> Option<(&str, Option<&CompiledLaunch>)> {
    match &record.outcome {
        BuildOutcome::Built { code_sha256, launch, .. } => Some((code_sha256, launch.as_ref())),
        BuildOutcome::Failed { .. } | BuildOutcome::Refused { .. } | BuildOutcome::NotNeeded => None,
    }
}

fn programs<'a>(plan: &'a Plan, id: &VariantId) -> Option<&'a [ShapeProgram]> {
    match &plan.variant(id)?.method {
        Method::Kernel(kernel) => Some(&kernel.programs),
        Method::Function(_) | Method::Command(_) | Method::Captured(_) => None,
    }
}

fn have_equal_programs(a: &[ShapeProgram], b: &[ShapeProgram]) -> bool {
    let program = |(a, b): (&ShapeProgram, &ShapeProgram)| {
        a.shape == b.shape
            && a.symbols == b.symbols
            && a.left_out == b.left_out
            && a.steps.len() == b.steps.len()
            && a.steps.iter().zip(&b.steps).all(|(a, b)| same(a, b))
    };
    a.len() == b.len() && a.iter().zip(b).all(program)
}

fn same(a: &Step, b: &Step) -> bool {
    match (a, b) {
        (Step::Launch(a), Step::Launch(b)) => *a == KernelLaunch { entry: a.entry.clone(), ..b.clone() },
        (a, b) => a == b,
    }
}
