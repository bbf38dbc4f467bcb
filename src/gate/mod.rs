//! Requirements and their verdicts. Pure: judges what was measured, measures nothing.
//!
//! Fail closed: whatever is missing, not finite, empty or not comparable is inconclusive with a reason, never a pass.

mod judgement;
mod requirement;
mod rule;

pub use judgement::{
    Case, Correctness, FallbackResult, GateResult, Judgement, PreconditionResult, Selection, StageResult, TierResult,
    VariantResult, Verdict,
};
pub use requirement::{Owner, Quantity, Reads, RequirementError};
pub use rule::{
    Comparison, Fallback, Gate, GatePlan, Level, OnInconclusive, OnStageFailure, Precondition, Requirement, Scope,
    Stage, Tier, Waiver,
};
