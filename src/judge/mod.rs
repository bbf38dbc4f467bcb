//! Requirements and their verdicts. Pure: judges what was measured, measures nothing.
//!
//! Fail closed: whatever is missing, not finite, empty or not comparable is inconclusive with a reason, never a pass.
//!
//! A requirement comes parsed out of the config. It is compiled once (`compiled`): its references become operands, which
//! are bound to columns and to other variants (`bind`, `operand`, `owner`). A bound gate judges variants one by one
//! (`bound_gate`), by resampling where samples vary (`resample`) and launch by launch (`launches`); a case's outcome
//! is a `case_outcome`. A scope says whom a gate picks and how their verdicts make one (`scope`, `evaluator`,
//! `gate_verdict`). What is known before anything runs is judged by `static_check`. Tiers, stages, fallback and waivers
//! are made of gates, and `phase_verdict` of all of them; what is said is in `messages`, what comes out in `results`.

mod bind;
mod bound_gate;
mod case_outcome;
mod compiled;
mod context;
mod correctness;
mod evaluator;
mod fallback;
mod gate_verdict;
mod launches;
mod messages;
mod operand;
mod owner;
mod phase_verdict;
mod precondition;
mod resample;
mod results;
mod scope;
mod shortfall;
mod stages;
mod static_check;
mod tally;
#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests;
mod tiers;
mod unresolved;
mod waiver;

pub use context::{Context, Noise, Stored};
pub use correctness::correctness;
pub use phase_verdict::judge;
pub use precondition::preconditions;
pub use results::{
    Case, Correctness, FallbackResult, GateResult, InconclusiveKind, Judgement, PreconditionResult, Selection,
    Shortfall, StageResult, TierResult, VariantResult,
};
pub use static_check::{StaticCheck, Unjudged, static_check};
pub use unresolved::unresolved;
