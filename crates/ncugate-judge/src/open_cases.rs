//! Selects the cases that more rounds may settle: timed cases that noise leaves open, and the cases they are compared
//! with.

use super::base_choice::base_of;
use super::confirmation_scope::is_timed;
use super::owner::{ResolvedOwner, resolve_owner};
use super::results::{GateResult, InconclusiveKind, Judgement};
use ncugate_model::expr::Owner;
use ncugate_model::{Level, Scope, ShapeName, VariantId, Verdict};
use ncugate_phase::config::Phase;
use std::collections::BTreeSet;

/// Variants and shapes to time for more rounds, so that required latency gates left open by noise may be decided.
///
/// `stored` are names that refer to stored runs, which cannot be re-timed.
pub fn unresolved(phase: &Phase, judgement: &Judgement, stored: &[&str]) -> BTreeSet<(VariantId, ShapeName)> {
    let mut cases = BTreeSet::new();
    let mut previous: Option<&VariantId> = None;
    let tiers = judgement.tiers.iter().filter(|tier| tier.required).flat_map(|tier| &tier.gates);
    let fallback = judgement.fallback.iter().flat_map(|fallback| &fallback.gates);
    for gate in judgement.gates.iter().chain(tiers).chain(fallback) {
        note(phase, judgement, gate, None, stored, &mut cases);
    }
    for stage in &judgement.stages {
        for gate in &stage.gates {
            note(phase, judgement, gate, previous, stored, &mut cases);
        }
        if stage.accepted {
            previous = stage.variant.as_ref();
        }
    }
    cases
}

fn note(
    phase: &Phase,
    judgement: &Judgement,
    gate: &GateResult,
    previous: Option<&VariantId>,
    stored: &[&str],
    cases: &mut BTreeSet<(VariantId, ShapeName)>,
) {
    // of several candidates of `any`, one that fails decides nothing
    let failed = gate.summary.counts.fail > 0 && gate.on != Scope::Any;
    if gate.level != Level::Required || gate.verdict == Verdict::Pass || gate.waived.is_some() || failed {
        return;
    }
    let reads = gate.require.reads();
    if !is_timed(&reads) {
        return;
    }
    let noisy = gate.cases.iter().filter(|case| case.outcome.inconclusive == Some(InconclusiveKind::Noise));
    for case in noisy {
        let shape = &case.shape;
        cases.insert((case.variant.clone(), shape.clone()));
        let others = reads.owners().filter_map(|owner| variant(phase, judgement, owner, previous, stored));
        cases.extend(others.map(|other| (other, shape.clone())));
    }
}

/// The variant of this run that an owner refers to.
pub(super) fn variant(
    phase: &Phase,
    judgement: &Judgement,
    owner: &Owner,
    previous: Option<&VariantId>,
    stored: &[&str],
) -> Option<VariantId> {
    let name = match resolve_owner(owner, phase, |name| stored.contains(&name), previous) {
        ResolvedOwner::PreviousStage(id) => return Some(id.clone()),
        ResolvedOwner::Stored(_) | ResolvedOwner::Nobody(_) => return None,
        ResolvedOwner::Base => return base_of(phase, judgement),
        ResolvedOwner::Named(name) => name,
    };
    let stage = judgement.stages.iter().find(|stage| stage.name == name).and_then(|stage| stage.variant.clone());
    let planned = judgement.variants.iter().find(|result| result.variant.0 == name).map(|r| r.variant.clone());
    planned.or(stage)
}
