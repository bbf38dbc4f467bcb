//! Finds the references of a gate that build and launch do not decide.

use super::context::EvalContext;
use super::owner::{ResolvedOwner, resolve_owner};
use super::results::GateResult;
use ncugate_model::expr::{Owner, Quantity, Reference, Requirement};
use ncugate_model::metric::{Catalogue, LogicalMetric};
use ncugate_model::{CleanText, is_ncu_metric};
use ncugate_phase::config::BASE;
use ncugate_phase::plan::Method;

/// Metrics that depend on occupancy and on the number of multiprocessors, which the architecture alone does not
/// determine.
const OF_SMS: [&str; 2] = ["waves", "tail_fraction"];

const MEASURED: &str = "measured on a GPU";
const HOST: &str = "which of its kernels a host function launches is known after it runs";

/// A gate that cannot be judged before anything runs.
#[derive(Debug, Clone, PartialEq)]
pub struct PendingGate {
    pub name: CleanText,
    /// The unknown values that it reads.
    pub reason: String,
    /// Its result at the bound of the value that it reads, if that fails a variant.
    pub at_bound: Option<Box<GateResult>>,
}

/// The first value that a requirement reads and that is not known yet, if any.
pub fn unknown(requirement: &Requirement, context: &EvalContext<'_>) -> Option<String> {
    requirement.references().into_iter().find_map(|(reference, _)| match reference {
        Reference::Quantity(Quantity { owner, name }) => match (Catalogue::embedded().get(name), owner) {
            (Some(metric), owner) => unknown_metric(metric, context).or_else(|| unknown_owner(owner, context)),
            // Dimensions and parameters are known; ncu's own metrics are measured.
            (None, Owner::Case) => (is_ncu_metric(name) || name == "correct").then(|| MEASURED.to_owned()),
            (None, _) => Some(MEASURED.to_owned()),
        },
        Reference::Speedup { .. } => Some(MEASURED.to_owned()),
    })
}

fn unknown_metric(metric: &LogicalMetric, context: &EvalContext<'_>) -> Option<String> {
    let any = |of: fn(&Method) -> bool| context.candidates().iter().any(|at| of(&context.variant(*at).method));
    if !metric.is_static() || !any(|method| matches!(method, Method::Kernel(_))) {
        let has_built = metric.is_static() && any(Method::is_built);
        return Some(if has_built { HOST } else { MEASURED }.to_owned());
    }
    (OF_SMS.contains(&metric.name.as_str()) && context.given.sms.is_none())
        .then(|| "the GPU's number of SMs is unknown; give it with --sms".to_owned())
}

/// Why a metric of another owner is unknown: it is not a kernel of this plan.
fn unknown_owner(owner: &Owner, context: &EvalContext<'_>) -> Option<String> {
    let stored = |name: &str| context.given.stored.contains_key(name);
    let name = match resolve_owner::<usize>(owner, context.phase, stored, None) {
        _ if *owner == Owner::Case => return None,
        ResolvedOwner::Named(name) => name,
        ResolvedOwner::Nobody(_) if owner.word() == BASE => {
            return Some("measured by `ncugate run --base REF`".to_owned());
        }
        _ => owner.word(),
    };
    let variant = context.plan.variants.iter().find(|variant| variant.id.0 == name);
    let kind = match variant.map(|variant| &variant.method) {
        Some(Method::Kernel(_)) => return None,
        Some(Method::Function(function)) => format!("a {}", function.kind()),
        Some(Method::Captured(_)) => return Some(format!("'{name}' is known only from a report")),
        Some(Method::Command(_)) => "an external command".to_owned(),
        None => return Some(format!("'{name}' is known only after a measurement")),
    };
    Some(format!("'{name}' is {kind}; its launches are known only after it runs"))
}
