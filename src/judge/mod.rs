//! Requirements and their verdicts. Pure: judges what was measured, measures nothing.
//!
//! Fail closed: whatever is missing, not finite, empty or not comparable is inconclusive with a reason, never a pass.
//!
//! A gate is compiled once ([`test`]) with its names as slots ([`reference`]), the slots are bound to columns and other
//! variants ([`slot`]), a panel judges variants one by one ([`panel`]) and launch by launch ([`launches`]), and verdicts are put together over shapes and
//! variants ([`verdict`]). What can be told before anything runs is told by [`ahead`]. Tiers, stages, fallback and waivers are made of gates.

mod ahead;
mod correctness;
mod fallback;
mod ground;
mod judgement;
mod launches;
mod outcome;
mod panel;
mod phase;
mod sentence;
mod slot;
mod stages;
mod test;
#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests;
mod tiers;
mod unresolved;
mod verdict;
mod waiver;

pub use ahead::{Ahead, Unjudged, ahead};
pub use correctness::correctness;
pub use ground::{Context, Noise, Stored};
pub use judgement::{
    Case, Correctness, Doubt, FallbackResult, GateResult, Judgement, PreconditionResult, Selection, StageResult, Stop,
    TierResult, VariantResult,
};
pub use phase::{judge, preconditions};
pub use unresolved::unresolved;
