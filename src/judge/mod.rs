//! Requirements and their verdicts. Pure: judges what was measured, measures nothing.
//!
//! Fail closed: whatever is missing, not finite, empty or not comparable is inconclusive with a reason, never a pass.
//!
//! A gate is compiled once ([`test`]) with its names as slots ([`reference`]), the slots are bound to columns and other
//! variants ([`slot`]), a panel judges variants one by one ([`panel`]) and launch by launch ([`launches`]), and verdicts are put together over shapes and
//! variants ([`verdict`]). A [`Session`] does all of it for a run: decodes what it measured once, finds the stored runs that it is compared
//! with ([`reference_runs`]), and judges again when more was measured. What can be told before anything runs is told by [`ahead`]. Tiers, stages, fallback and waivers are made of gates.

mod ahead;
mod clock;
mod correctness;
mod error;
mod fallback;
mod foreign;
mod ground;
mod judgement;
mod launches;
mod measurements;
mod outcome;
mod panel;
mod phase;
mod phase_run;
pub mod reference_runs;
mod sentence;
mod session;
mod slot;
mod stages;
mod static_gates;
mod test;
#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests;
mod tiers;
mod unresolved;
mod verdict;
mod waiver;

pub use ahead::{Ahead, Unjudged, ahead};
pub use clock::Clock;
pub use correctness::correctness;
pub use error::JudgeError;
pub use foreign::{foreign_run, paths};
pub use ground::{Context, Noise, Stored};
pub use judgement::{
    Case, Correctness, Doubt, FallbackResult, GateResult, Judgement, PreconditionResult, Selection, StageResult, Stop,
    TierResult, VariantResult,
};
pub use measurements::{Growth, Measurements};
pub use phase::{judge, preconditions};
pub use phase_run::{Evidence, PhaseRun};
pub use session::Session;
pub use static_gates::{TargetGpu, known_failures, static_gates, unmet};
pub use unresolved::unresolved;
