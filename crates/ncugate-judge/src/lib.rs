//! Runs on disk, the table of what they measured, and the verdicts over it.
//!
//! Fail closed: a missing, infinite, empty or incomparable value is inconclusive with a reason, never a pass.
//!
//! Deliberately absent: the GPU, measuring.

pub mod frame;
pub mod store;

mod base_choice;
mod bind;
mod bound_gate;
mod case_outcome;
mod case_samples;
mod cautions;
mod clock;
mod compiled;
mod context;
mod contradiction;
mod correctness;
mod counter_spread;
mod error;
mod evaluator;
mod fallback;
mod foreign;
mod gate_verdict;
mod grounds;
pub mod kernel_ratchet;
mod launches;
mod limits;
mod measurements;
mod messages;
mod operand;
mod owner;
mod phase_run;
mod phase_verdict;
mod precondition;
mod reach;
pub mod reference_runs;
mod resample;
mod results;
mod scope;
mod session;
mod shortfall;
mod stages;
mod static_check;
mod static_facts;
mod static_gates;
mod static_groups;
mod step_bounds;
mod tally;
#[cfg(test)]
mod tests;
mod tiers;
mod to_confirm;
mod together;
mod traced;
mod unchanged;
mod uncounted;
mod unknown;
mod unlisted;
mod unresolved;
mod untried;
mod waiver;
pub mod witness;

pub use base_choice::base_of;
pub use cautions::{by_duration_alone, loosened, weakened};
pub use clock::Clock;
pub use context::{BetweenRuns, Context, Noise, StoredRun};
pub use correctness::{correctness, name_cheats, name_profiled_cheats};
pub use error::JudgeError;
pub use foreign::{CapturedVariant, ForeignRun, foreign_run, paths};
pub use limits::unlikely_limits;
pub use measurements::{Growth, Measurements};
pub use phase_run::{Evidence, PhaseRun};
pub use phase_verdict::judge;
pub use precondition::preconditions;
pub use reach::out_of_reach;
pub use results::{
    Case, Correctness, FallbackResult, GateResult, InconclusiveKind, Judgement, PreconditionResult, SampleOrigin,
    SelectedVariant, Shortfall, StageResult, TierResult, VariantResult,
};
pub use session::JudgedRun;
pub use static_check::{StaticCheck, static_check};
pub use static_facts::VariantFacts;
pub use static_gates::{TargetGpu, known_failures, static_facts, static_gates, unmet};
pub use static_groups::{GroupKind, StaticGroup};
pub use to_confirm::to_confirm;
pub use unknown::PendingGate;
pub use unlisted::unlisted_metrics;
pub use unresolved::unresolved;
