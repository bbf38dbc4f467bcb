//! Checks a phase before anything is launched: preconditions, builds, and gates that build and launch decide.

use super::correctness::not_built;
use super::static_facts::{FACTS, facts};
use super::{Context, PreconditionResult, StaticCheck, preconditions, static_check};
use crate::frame::{ProfileCounters, TableInputs, quantities, required_metrics};
use crate::store::{Fingerprint, Manifest, Run};
use jiff::Timestamp;
use jiff::civil::Date;
use ncugate_model::{BuildRecord, ComputeCapability, Quantities, Verdict};
use ncugate_phase::config::Phase;
use ncugate_phase::plan::Plan;

/// The target GPU.
#[derive(Debug, Clone, Copy)]
pub struct TargetGpu {
    pub capability: ComputeCapability,
    /// Number of its multiprocessors, if known.
    pub sms: Option<u32>,
}

/// Facts of build, launch and chip for every variant and shape, for those of the given metrics that they determine.
pub fn static_facts(
    phase: &Phase,
    plan: &Plan,
    builds: Vec<BuildRecord>,
    target: TargetGpu,
    metrics: &[String],
) -> Quantities {
    let run = built_run(phase, plan, builds);
    let counted = ProfileCounters::default();
    let TargetGpu { capability, sms } = target;
    quantities(&TableInputs { phase, plan, run: &run, counted: &counted, capability: Some(capability), sms }, metrics)
}

/// Judges the gates that build and launch alone decide.
pub fn static_gates(
    phase: &Phase,
    plan: &Plan,
    builds: Vec<BuildRecord>,
    target: TargetGpu,
    today: Date,
) -> StaticCheck {
    let refused = builds.iter().filter(|build| not_built(&build.outcome).is_some());
    let refused = refused.map(|build| build.variant.clone()).collect();
    let TargetGpu { capability, sms } = target;
    let mut metrics = required_metrics::metrics(phase);
    metrics.retain(|name| !FACTS.contains(&name.as_str()));
    metrics.extend(FACTS.map(str::to_owned));
    let table = static_facts(phase, plan, builds, target, &metrics);
    let context = Context { sms, ..Context::new(Some(capability), today) };
    let facts = facts(plan, &table, (&phase.objective.shape, &phase.workload.shapes));
    StaticCheck { facts, ..static_check(phase, plan, &table, &refused, &context) }
}

/// A run that contains only builds.
pub(super) fn built_run(phase: &Phase, plan: &Plan, builds: Vec<BuildRecord>) -> Run {
    Run::new(Manifest::new(phase, Fingerprint::default(), Timestamp::UNIX_EPOCH), phase, plan, builds)
}

/// Gates that fail whatever is measured, and variants that cannot be launched, a sentence each.
pub fn known_failures(
    phase: &Phase,
    plan: &Plan,
    builds: &[BuildRecord],
    target: TargetGpu,
    today: Date,
) -> Vec<String> {
    let out = |record: &BuildRecord| Some(format!("{} {}", record.variant, not_built(&record.outcome)?));
    let gates = static_gates(phase, plan, builds.to_vec(), target, today);
    builds.iter().filter_map(out).chain(gates.failures()).chain(gates.left()).collect()
}

/// A precondition that does not hold, if any: then nothing is built. A failed precondition comes before an
/// inconclusive one, such as a condition on an unknown GPU.
pub fn unmet(phase: &Phase, gpu: Option<ComputeCapability>) -> Option<PreconditionResult> {
    let mut results = preconditions(phase, gpu);
    let first = |verdict| results.iter().position(|result| result.verdict == verdict);
    let at = first(Verdict::Fail).or_else(|| first(Verdict::Inconclusive))?;
    Some(results.swap_remove(at))
}
