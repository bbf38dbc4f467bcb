//! Gates judged before anything runs: by what follows from build, launch and the chip's limits.

use super::bound_gate::BoundGate;
use super::context::{Context, EvalContext, Proof};
use super::evaluator::{Candidates, GateEvaluator};
use super::owner::{ResolvedOwner, resolve_owner};
use super::results::GateResult;
use super::scope::ScopeRule;
use super::together::Together;
use crate::config::{BASE, Phase};
use crate::expr::{Owner, Quantity, Reference};
use crate::frame::Quantities;
use crate::metric::{Catalogue, Metric};
use crate::model::{VariantId, is_ncu_metric};
use crate::plan::{Method, Plan};
use std::collections::{BTreeMap, BTreeSet};

/// Metrics that follow from occupancy and from how many multiprocessors the GPU has, which does not follow from the architecture.
const OF_SMS: [&str; 2] = ["waves", "tail_fraction"];

/// What is known of a phase's gates before anything runs.
#[derive(Debug, Default)]
pub struct StaticCheck {
    /// Gates that build, launch and chip decide, in the order of the file.
    pub judged: Vec<GateResult>,
    /// The others.
    pub unjudged: Vec<Unjudged>,
    /// Why no variant can hold all required gates together, where that is known already.
    pub impossible: Option<String>,
    /// Required gates that fewer than half of the candidates can hold, a sentence each.
    pub narrow: Vec<String>,
}

/// A gate that cannot be judged before anything runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unjudged {
    /// Its name.
    pub name: String,
    /// What it reads that is not known yet.
    pub reason: String,
}

/// Judges the gates that build and launch alone decide, before anything runs; says of the others what they wait for.
/// `refused` are the variants that cannot be built or launched.
///
/// A gate on the selected variant is asked of any: if no candidate can hold it, the selected one will not. Then all of them
/// are asked together, for the selected variant has to hold each: two gates that different candidates hold are held by none.
pub fn static_check(
    phase: &Phase,
    plan: &Plan,
    quantities: &Quantities,
    refused: &BTreeSet<VariantId>,
    given: &Context<'_>,
) -> StaticCheck {
    let context = EvalContext::new(phase, plan, quantities, &BTreeMap::new(), given, Proof::NotYet);
    let all = context.candidates();
    let candidates = Candidates::new(&context, &all);
    let evaluator = GateEvaluator { context: &context };
    let mut found = StaticCheck::default();
    let mut together = Together::new(&context, &all, refused);
    for gate in &phase.gates {
        let bound = BoundGate::new(gate, &context, None);
        match unknown(&bound, &context) {
            Some(reason) => found.unjudged.push(Unjudged { name: gate.name.clone(), reason }),
            None => {
                together.ask(&bound);
                let rule = ScopeRule::of(&gate.on).before_measuring();
                found.judged.push(evaluator.bound(&bound, rule, &candidates, None).result);
            }
        }
    }
    let tiers = &phase.gate_plan.tiers;
    let required = tiers.iter().rposition(|tier| tier.required).map_or(0, |last| last + 1);
    for gate in tiers.iter().take(required).flat_map(|tier| &tier.gates) {
        let bound = BoundGate::new(gate, &context, None);
        if unknown(&bound, &context).is_none() {
            together.ask(&bound);
        }
    }
    found.impossible = together.impossible();
    found.narrow = together.narrow();
    found
}

/// What a gate looks at that is not known yet, if there is something.
fn unknown(bound: &BoundGate<'_>, context: &EvalContext<'_>) -> Option<String> {
    bound.references().iter().find_map(|reference| match reference {
        Reference::Quantity(Quantity { owner, name }) => match (Catalogue::embedded().get(name), owner) {
            (Some(metric), Owner::Case) => unknown_metric(metric, context),
            (Some(metric), owner) => unknown_metric(metric, context).or_else(|| unknown_owner(owner, context)),
            // A dimension or a parameter is known; a name of ncu's own is counted.
            (None, Owner::Case) => (is_ncu_metric(name) || name == "correct").then(measured),
            (None, _) => Some(measured()),
        },
        Reference::Speedup { .. } => Some(measured()),
    })
}

fn measured() -> String {
    "measured on a GPU".to_owned()
}

fn unknown_metric(metric: &Metric, context: &EvalContext<'_>) -> Option<String> {
    let is_kernel = |at: &usize| matches!(context.variant(*at).method, Method::Kernel(_));
    if !metric.is_static() || !context.candidates().iter().any(is_kernel) {
        return Some(measured());
    }
    (OF_SMS.contains(&metric.name.as_str()) && context.given.sms.is_none())
        .then(|| "the GPU's number of multiprocessors is not known; give it with --sms".to_owned())
}

/// Why nothing is known of another whose metric is asked for: it is not a kernel of this plan.
fn unknown_owner(owner: &Owner, context: &EvalContext<'_>) -> Option<String> {
    let stored = |name: &str| context.given.stored.contains_key(name);
    let name = match resolve_owner::<usize>(owner, context.phase, stored, None) {
        ResolvedOwner::Named(name) => name,
        ResolvedOwner::Nobody(_) if owner.word() == BASE => {
            return Some("measured by `ncugate run --base REF`".to_owned());
        }
        ResolvedOwner::PreviousStage(_) | ResolvedOwner::Stored(_) | ResolvedOwner::Nobody(_) | ResolvedOwner::Base => {
            owner.word()
        }
    };
    match context.plan.variants.iter().find(|variant| variant.id.0 == name).map(|variant| &variant.method) {
        Some(Method::Kernel(_)) => None,
        Some(Method::Function(_)) => {
            Some(format!("'{name}' is a Python function; its launches are known only after it ran"))
        }
        Some(Method::Captured(_)) => Some(format!("'{name}' is known only from a report")),
        Some(Method::Command(_)) => {
            Some(format!("'{name}' is an external command; its launches are known only after it ran"))
        }
        None => Some(format!("'{name}' is known only after it is measured")),
    }
}
