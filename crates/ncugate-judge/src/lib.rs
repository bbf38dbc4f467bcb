//! Stored runs, the table of their measurements, and the verdicts on them.
//!
//! Fail closed: a missing, infinite, empty or incomparable value is inconclusive with a reason, never a pass.
//!
//! Deliberately absent: the GPU and measuring, clocks, the working directory and the environment.

pub mod frame;
pub mod store;

pub mod architectures;
mod base_choice;
mod bind;
mod bound_gate;
mod case_outcome;
mod case_samples;
mod cautions;
mod compiled_requirement;
mod confirmation_scope;
mod context;
mod contradiction;
mod correctness;
mod counter_spread;
mod error;
mod evaluator;
mod excused_pairs;
mod fallback;
mod feasibility;
mod foreign_run;
mod gate_summary;
mod gate_verdict;
mod joint_feasibility;
mod judged_run;
mod kernel_identity;
pub mod kernel_ratchet;
mod launches;
mod measurements;
mod messages;
mod missing_counters;
mod open_cases;
mod operand;
mod owner;
mod pending_gate;
mod phase_run;
mod phase_verdict;
mod precondition;
pub mod reference_runs;
mod requirement_changes;
mod resample;
mod results;
mod sanitized;
mod scope;
mod selection_basis;
mod shortfall;
mod stages;
mod static_check;
mod static_facts;
mod static_gates;
mod step_bounds;
mod tally;
#[cfg(test)]
mod tests;
mod throttled;
mod tiers;
mod toolchains;
mod traced_values;
mod unlikely_limits;
mod unlisted_metrics;
mod untested_tolerance;
mod waiver;
pub mod witness;

pub use base_choice::base_of;
pub use cautions::{by_duration_alone, gates_without_launch, weakened_checks, weakened_gates};
pub use confirmation_scope::to_confirm;
pub use context::{BetweenRuns, Context, LatencyWitness, Noise, StoredRun};
pub use correctness::{correctness, name_cheats, name_profiled_cheats, not_built};
pub use error::JudgeError;
pub use feasibility::{OccupancyLimit, UnreachableLimit, out_of_reach, unreachable_limits};
pub use foreign_run::{CapturedVariant, ForeignRun, foreign_run, paths};
pub use gate_summary::{Counts, GateSummary};
pub use judged_run::JudgedRun;
pub use measurements::{Growth, Measurements};
pub use open_cases::unresolved;
pub use phase_run::{DurationPolicy, Evidence, PhaseRun};
pub use phase_verdict::judge;
pub use precondition::preconditions;
pub use results::{
    Case, Correctness, FallbackResult, GateResult, InconclusiveKind, Judgement, PreconditionResult, SampleOrigin,
    SelectedVariant, Shortfall, StageResult, TierResult, VariantResult,
};
pub use sanitized::{SanitizerVerdict, name_sanitized};
pub use static_check::{GroupKind, StaticCheck, StaticGroup, static_check};
pub use static_facts::{VariantFacts, occupancy_limiters};
pub use static_gates::{TargetGpu, known_failures, static_facts, static_gates, unmet};
pub use unlikely_limits::{unlikely_bytes, unlikely_limits};
pub use unlisted_metrics::{absent_metrics, unlisted_metrics};
