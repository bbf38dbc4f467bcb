//! Decides from builds and cases whether each variant is correct.

use super::results::Correctness;
use crate::store::Run;
use ncugate_model::{
    BuildOutcome, BuildRecord, CheckOutcome, CheckRecord, LatencyOutcome, LatencyRecord, ProfileOutcome, ShapeName,
    Tolerance, VariantId,
};
use ncugate_phase::config::Phase;
use ncugate_phase::plan::Plan;
use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, HashMap};

/// Correctness of every variant of the plan, over every shape and seed that the phase asks for. A variant that is not
/// launched at a shape has no case and no metric there, so requirements at that shape do not hold.
///
/// Cases are judged by the phase's current tolerance, not the tolerance at measurement time, so a stored run is
/// judged by today's requirements. Variants that share machine code and launches share their cases.
pub fn correctness(
    phase: &Phase,
    plan: &Plan,
    checks: &[CheckRecord],
    builds: &[BuildRecord],
) -> BTreeMap<VariantId, Correctness> {
    let tolerance = &phase.workload.tolerance;
    let mut cases: HashMap<(&VariantId, &ShapeName, u64), &CheckOutcome> = HashMap::with_capacity(checks.len());
    for check in checks {
        match cases.entry((&check.variant, &check.shape, check.seed)) {
            Entry::Vacant(entry) => drop(entry.insert(&check.outcome)),
            Entry::Occupied(mut entry) => {
                let worse = graver(entry.get(), &check.outcome, tolerance);
                entry.insert(worse);
            }
        }
    }
    let builds: HashMap<&VariantId, &BuildRecord> = builds.iter().map(|b| (&b.variant, b)).collect();
    let of = |id: &VariantId| {
        if let Some(reason) = builds.get(id).and_then(|b| not_built(&b.outcome)) {
            return Correctness::Wrong { reason };
        }
        let shares = builds.get(id).and_then(|b| b.shares.as_ref());
        let find = |shape: &ShapeName, seed: u64| {
            let own = cases.get(&(id, shape, seed));
            own.or_else(|| shares.and_then(|other| cases.get(&(other, shape, seed)))).copied()
        };
        let left_out =
            |shape: &ShapeName| builds.get(id).is_some_and(|build| build.outcome.left_out_at(shape).is_some());
        of_cases(phase, &left_out, &find)
    };
    plan.variants.iter().map(|v| (v.id.clone(), of(&v.id))).collect()
}

/// Adds the outputs of timed launches: a variant with a wrong or missing output at a shape cheats or is wrong there,
/// whatever its checks say. This applies to every variant with the same machine code.
pub fn name_cheats<'a>(
    proofs: BTreeMap<VariantId, Correctness>,
    latencies: impl IntoIterator<Item = &'a LatencyRecord>,
    builds: &[BuildRecord],
) -> BTreeMap<VariantId, Correctness> {
    let found = latencies.into_iter().filter_map(|record| {
        let fault = match &record.outcome {
            LatencyOutcome::Cheats { reason, .. } => {
                Correctness::Cheats { reason: format!("at shape '{}' {reason}", record.shape) }
            }
            LatencyOutcome::Wrong { reason, .. } => {
                let place = format!("wrong at shape '{}' on inputs of a hidden seed", record.shape);
                Correctness::Wrong { reason: format!("{place}, and again after the module was reloaded: {reason}") }
            }
            LatencyOutcome::Timed { .. } | LatencyOutcome::Failed { .. } => return None,
        };
        Some((&record.variant, fault))
    });
    with_faults(proofs, found.collect(), builds)
}

/// Does the same for a run's profiled launches, including those of deep profiles. A variant with wrong output under
/// the profiler detects profiling, so its counters do not describe its normal work. Launches without a comparison prove
/// nothing of it.
pub fn name_profiled_cheats(proofs: BTreeMap<VariantId, Correctness>, run: &Run) -> BTreeMap<VariantId, Correctness> {
    let profiles = run.profiles.iter().map(|of| (&of.variant, &of.shape, &of.outcome, &of.outputs));
    let deep = run.deep_profiles.iter().map(|of| (&of.variant, &of.shape, &of.outcome, &of.outputs));
    let found = profiles.chain(deep).filter_map(|(variant, shape, outcome, outputs)| match (outcome, outputs) {
        (_, Some(outputs)) => {
            let reason = format!("at shape '{shape}' output of a profiled launch differs: {}", outputs.wrong()?);
            Some((variant, Correctness::Cheats { reason }))
        }
        (ProfileOutcome::Profiled { .. } | ProfileOutcome::Traced { .. }, None) => {
            let reason = format!("outputs of its profiled launches at shape '{shape}' were not verified");
            Some((variant, Correctness::Unproven { reason }))
        }
        (ProfileOutcome::Failed { .. }, None) => None,
    });
    with_faults(proofs, found.collect(), &run.builds)
}

/// Replaces the result of the checks with the fault; if a variant has several faults, cheating takes precedence.
fn with_faults(
    mut proofs: BTreeMap<VariantId, Correctness>,
    found: Vec<(&VariantId, Correctness)>,
    builds: &[BuildRecord],
) -> BTreeMap<VariantId, Correctness> {
    let mut faults: HashMap<&VariantId, Correctness> = HashMap::new();
    for (variant, fault) in found {
        let graver = matches!(fault, Correctness::Cheats { .. });
        if graver || !faults.contains_key(variant) {
            faults.insert(variant, fault);
        }
    }
    let shares: HashMap<&VariantId, &VariantId> =
        builds.iter().filter_map(|build| Some((&build.variant, build.shares.as_ref()?))).collect();
    for (variant, proof) in &mut proofs {
        let own = faults.get(variant);
        let found = own.or_else(|| shares.get(variant).and_then(|other| faults.get(other)));
        if let Some(fault) = found {
            proof.replace_by(fault.clone());
        }
    }
    proofs
}

/// The worse of two records of one case under the tolerance: a case that was ever wrong stays wrong.
fn graver<'a>(a: &'a CheckOutcome, b: &'a CheckOutcome, tolerance: &Tolerance) -> &'a CheckOutcome {
    let gravity = |outcome: &CheckOutcome| match outcome.judged_by(tolerance) {
        CheckOutcome::Skipped { .. } => 0,
        CheckOutcome::Correct { .. } => 1,
        CheckOutcome::Wrong { .. } | CheckOutcome::Crashed { .. } => 2,
    };
    if gravity(b) > gravity(a) { b } else { a }
}

/// Why a variant cannot be launched, in words; `None` if it can.
pub fn not_built(outcome: &BuildOutcome) -> Option<String> {
    match outcome {
        BuildOutcome::Failed { message } => {
            let line = message.lines().find(|l| l.contains("error")).or_else(|| message.lines().next());
            Some(format!("does not build: {}", line.unwrap_or("the compiler gave no reason").trim()))
        }
        BuildOutcome::Refused { reasons, .. } => Some(format!("cannot be launched: {}", reasons.join("; "))),
        BuildOutcome::Built { .. } | BuildOutcome::NotNeeded => None,
    }
}

/// Correctness over the shapes at which a variant is launched.
fn of_cases<'a>(
    phase: &Phase,
    left_out: &dyn Fn(&ShapeName) -> bool,
    find: &dyn Fn(&ShapeName, u64) -> Option<&'a CheckOutcome>,
) -> Correctness {
    let (mut proven, mut max_abs, mut unproven) = (0, 0.0_f64, None);
    for shape in phase.workload.shapes.iter().filter(|shape| !left_out(&shape.name)) {
        for &seed in &phase.workload.seeds {
            let case = format_args!("at shape '{}', seed {seed}", shape.name).to_string();
            match find(&shape.name, seed).map(|outcome| outcome.judged_by(&phase.workload.tolerance)) {
                Some(CheckOutcome::Correct { differences }) => {
                    proven += 1;
                    max_abs = max_abs.max(differences.max_abs);
                }
                Some(CheckOutcome::Wrong { reason, .. }) => {
                    return Correctness::Wrong { reason: format!("wrong {case}: {reason}") };
                }
                Some(CheckOutcome::Crashed { reason }) => {
                    return Correctness::Wrong { reason: format!("crashed {case}: {reason}") };
                }
                Some(CheckOutcome::Skipped { reason }) => {
                    unproven.get_or_insert_with(|| format!("not checked {case}: {reason}"));
                }
                None => {
                    unproven.get_or_insert_with(|| format!("not checked {case}"));
                }
            }
        }
    }
    match unproven {
        Some(reason) => Correctness::Unproven { reason },
        None if proven == 0 => Correctness::Unproven { reason: "the phase has no correctness case".to_owned() },
        None => Correctness::Proven { cases: proven, max_abs },
    }
}
