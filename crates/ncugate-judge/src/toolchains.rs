//! Whether candidates that are correct as the first toolchain builds them are correct by every other.

use super::context::EvalContext;
use super::results::Correctness;
use ncugate_model::Verdict;
use ncugate_phase::plan::VariantRole;

/// The requirement of a phase with several toolchains: its verdict and its reason; none without them. Candidates that the
/// first toolchain does not prove correct have no part in it.
pub fn requirement(context: &EvalContext<'_>) -> Option<(Verdict, String)> {
    let first = context.phase.toolchains.first()?;
    let candidates = context.plan.variants.iter().enumerate().filter(|(_, v)| v.standing == VariantRole::Candidate);
    let pairs = candidates.filter_map(|(at, variant)| {
        let (toolchain, counterpart) = variant.counterpart(context.phase)?;
        let (verdict, reason) = match (context.correctness(context.find(&counterpart)?), context.correctness(at)) {
            (Correctness::Wrong { .. } | Correctness::Cheats { .. } | Correctness::Unchecked { .. }, _) => return None,
            (Correctness::Unproven { reason }, _) => {
                let reason = format!("toolchains: {counterpart} is not proven by '{}': {reason}", first.name);
                return Some((Verdict::Inconclusive, reason));
            }
            (_, Correctness::Proven { .. }) => (Verdict::Pass, String::new()),
            (_, Correctness::Wrong { reason } | Correctness::Cheats { reason }) => (Verdict::Fail, reason.clone()),
            (_, Correctness::Unproven { reason } | Correctness::Unchecked { reason }) => {
                (Verdict::Inconclusive, reason.clone())
            }
        };
        Some((
            verdict,
            format!("toolchain '{toolchain}': {counterpart} is correct by '{}', but here: {reason}", first.name),
        ))
    });
    let pairs: Vec<(Verdict, String)> = pairs.collect();
    let verdict = Verdict::all(pairs.iter().map(|(verdict, _)| *verdict));
    let mut same = pairs.into_iter().filter(|(own, _)| *own == verdict).map(|(_, reason)| reason);
    let none = || format!("toolchains: no candidate is correct by '{}', so nothing was compared", first.name);
    let reason = same.next().unwrap_or_else(none);
    let more = same.count();
    let others = if more > 0 { format!(", and {more} more") } else { String::new() };
    Some((verdict, format!("{reason}{others}")))
}
