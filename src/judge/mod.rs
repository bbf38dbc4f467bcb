//! Requirements and their verdicts. Pure: judges what was measured, measures nothing.
//!
//! Fail closed: whatever is missing, not finite, empty or not comparable is inconclusive with a reason, never a pass.

mod bind;
mod bound_gate;
mod case_outcome;
mod cautions;
mod clock;
mod compiled;
mod context;
mod correctness;
mod error;
mod evaluator;
mod fallback;
mod foreign;
mod gate_verdict;
mod grounds;
mod launches;
mod limits;
mod measurements;
mod messages;
mod operand;
mod owner;
mod phase_run;
mod phase_verdict;
mod precondition;
pub mod reference_runs;
mod resample;
mod results;
mod scope;
mod session;
mod shortfall;
mod stages;
mod static_check;
mod static_gates;
mod tally;
#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests;
mod tiers;
mod together;
mod unresolved;
mod waiver;

pub use cautions::loosened;
pub use clock::Clock;
pub use context::{Context, Noise, Stored};
pub use correctness::correctness;
pub use error::JudgeError;
pub use foreign::{foreign_run, paths};
pub use limits::unlikely_limits;
pub use measurements::{Growth, Measurements};
pub use phase_run::{Evidence, PhaseRun};
pub use phase_verdict::judge;
pub use precondition::preconditions;
pub use results::{
    Case, Correctness, FallbackResult, GateResult, InconclusiveKind, Judgement, PreconditionResult, SelectedVariant,
    Shortfall, StageResult, TierResult, VariantResult,
};
pub use session::Session;
pub use static_check::{StaticCheck, Unjudged, static_check};
pub use static_gates::{TargetGpu, known_failures, static_gates, unmet};
pub use unresolved::unresolved;
