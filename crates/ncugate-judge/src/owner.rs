//! Resolves the owner of a quantity.

use ncugate_model::expr::Owner;
use ncugate_phase::config::{BASE, Phase};

/// The target of an owner's name; `P` is the last accepted stage.
#[derive(Debug, PartialEq, Eq)]
pub enum ResolvedOwner<'o, P> {
    /// The last accepted stage.
    PreviousStage(&'o P),
    /// The stored run of that name.
    Stored(&'o str),
    /// The variant, baseline or stage of that name.
    Named(&'o str),
    /// The base of the run.
    Base,
    Nobody(String),
}

/// Resolves an owner. The last accepted stage takes precedence over a stored run, and a stored run over the phase's
/// declarations.
pub fn resolve_owner<'o, P>(
    owner: &'o Owner,
    phase: &'o Phase,
    is_stored: impl Fn(&str) -> bool,
    previous: Option<&'o P>,
) -> ResolvedOwner<'o, P> {
    match (owner, previous) {
        (Owner::Previous, Some(previous)) => return ResolvedOwner::PreviousStage(previous),
        _ if is_stored(owner.word()) => return ResolvedOwner::Stored(owner.word()),
        _ => {}
    }
    match (owner, phase.baselines.first()) {
        (Owner::Baseline, Some(first)) => ResolvedOwner::Named(&first.name),
        (Owner::Baseline, None) => ResolvedOwner::Nobody("the phase has no baseline, and none is stored".to_owned()),
        (Owner::Previous, _) if !phase.gate_plan.stages.is_empty() => {
            ResolvedOwner::Nobody("no stage was accepted before, so there is no 'previous'".to_owned())
        }
        (Owner::Previous | Owner::Best, _) => ResolvedOwner::Nobody(format!("no stored run for '{}'", owner.word())),
        (Owner::Case, _) => ResolvedOwner::Nobody("the judged variant cannot be compared with itself".to_owned()),
        (Owner::Named(name), _) if name == BASE && phase.base.is_some() => ResolvedOwner::Base,
        (Owner::Named(name), _) if name == BASE && !declares(phase, name) => {
            ResolvedOwner::Nobody("no base was measured: `ncugate run --base REF` measures one".to_owned())
        }
        (Owner::Named(name), _) => ResolvedOwner::Named(name),
    }
}

/// Whether the phase has a variant or a stage with that name.
fn declares(phase: &Phase, name: &str) -> bool {
    let mut variants = phase.variants.iter().chain(&phase.baselines);
    variants.any(|spec| spec.name == name) || phase.gate_plan.stages.iter().any(|stage| stage.name == name)
}
