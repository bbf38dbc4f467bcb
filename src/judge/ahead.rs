//! Gates judged before anything runs: by what build, launch and the chip's limits tell.

use super::ground::{Context, Ground, Proof};
use super::judgement::GateResult;
use super::panel::Panel;
use super::test::environment;
use crate::config::Gate;
use crate::config::Phase;
use crate::expr::reference::Reference;
use crate::frame::Quantities;
use crate::judge::phase::{Bench, Chosen};
use crate::metric::{Catalogue, Metric};
use crate::model::Scope;
use crate::plan::{Method, Plan};
use std::collections::BTreeMap;

/// The metric that follows from occupancy and from how many multiprocessors the GPU has, which no architecture tells.
const WAVES: &str = "waves";

/// What can be told of a phase's gates before anything runs.
#[derive(Debug, Default)]
pub struct Ahead {
    /// Gates that build, launch and chip decide, in the order of the file.
    pub judged: Vec<GateResult>,
    /// The others.
    pub unjudged: Vec<Unjudged>,
}

/// A gate that cannot be judged ahead.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unjudged {
    /// Its name.
    pub name: String,
    /// What it looks at that nobody knows yet.
    pub reason: String,
}

/// Judges the gates that build and launch alone decide, before anything runs; says of the others what they wait for.
///
/// A gate on the selected variant is asked of any: if no candidate can hold it, the selected one will not.
pub fn ahead(phase: &Phase, plan: &Plan, quantities: &Quantities, context: &Context<'_>) -> Ahead {
    let environment = environment();
    let ground = Ground::new(phase, plan, quantities, &BTreeMap::new(), context, Proof::Ahead);
    let candidates = ground.candidates();
    let bench = Bench { ground: &ground, environment: &environment };
    let chosen = Chosen { selected: None, variants: &candidates, previous: None };
    let mut told = Ahead::default();
    for gate in &phase.gates {
        match unknown(&Panel::new(gate, &ground, &environment, None), &ground) {
            Some(reason) => told.unjudged.push(Unjudged { name: gate.name.clone(), reason }),
            None => told.judged.push(bench.gate(&asked(gate), &chosen, None).result),
        }
    }
    told
}

fn asked(gate: &Gate) -> Gate {
    match gate.on {
        Scope::Selected => Gate { on: Scope::Any, ..gate.clone() },
        Scope::Each | Scope::Any | Scope::Matching(_) => gate.clone(),
    }
}

/// What a gate looks at that is not known yet, if there is something.
fn unknown(panel: &Panel<'_>, ground: &Ground<'_>) -> Option<String> {
    let references = panel.references();
    if references.is_empty() {
        return Some("it looks at nothing that is built".to_owned());
    }
    references.iter().find_map(|reference| match reference {
        Reference::Own(name) => match Catalogue::embedded().get(name) {
            Some(metric) => unknown_metric(metric, ground),
            // A dimension or a parameter is known; a name of ncu's own is counted.
            None => (name.contains("__") || name == "correct").then(measured),
        },
        Reference::Of { owner, metric } => match Catalogue::embedded().get(metric) {
            Some(metric) => unknown_metric(metric, ground).or_else(|| unknown_owner(owner, ground)),
            None => Some(measured()),
        },
        Reference::Speedup { .. } => Some(measured()),
    })
}

fn measured() -> String {
    "measured on a GPU".to_owned()
}

fn unknown_metric(metric: &Metric, ground: &Ground<'_>) -> Option<String> {
    if !metric.is_static() {
        return Some(measured());
    }
    (metric.name == WAVES && ground.context.sms.is_none())
        .then(|| "how many multiprocessors the GPU has is not known; --sms says it".to_owned())
}

/// Why nothing is known of another whose metric is asked for: it is no kernel of this plan.
fn unknown_owner(owner: &str, ground: &Ground<'_>) -> Option<String> {
    let name = match (owner, ground.phase.baselines.first()) {
        ("baseline", Some(first)) => first.name.as_str(),
        _ => owner,
    };
    match ground.plan.variants.iter().find(|variant| variant.id.0 == name).map(|variant| &variant.method) {
        Some(Method::Kernel(_)) => None,
        Some(Method::Command(_)) => Some(format!("'{name}' is an external command, known by what it launches")),
        None => Some(format!("'{name}' is known once it was measured")),
    }
}
