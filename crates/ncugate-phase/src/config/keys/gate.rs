//! Keys of requirements: gates, tiers, stages, fallback, preconditions and waivers.

use super::{KeyKind, TEXTS, key, words};
use crate::config::OnStageFailure;
use ncugate_model::{Level, OnInconclusive};

keys! {
    /// One requirement: a table, or its text alone. Gates in a tier, stage or fallback have the same keys.
    GATE: GateKeys = "[[gate]]";
    /// Its name.
    name = key(KeyKind::Text).otherwise("the requirement's text");
    /// The requirement.
    require = key(KeyKind::Requirement).required();
    /// The judged variants ([scope](#scope-of-a-gate)). For launches of ncu reports the default is `each`.
    on = key(KeyKind::Text).default("\"selected\"");
    /// Whether the phase fails if the gate fails.
    level = key(KeyKind::OneOf(&words(&Level::WORDS))).default("\"required\"");
    /// Shapes at which it is judged, by name or glob (`"grid_*"`).
    shapes = key(TEXTS).otherwise("the objective's");
    /// Number of shapes at which it must pass.
    at_least = key(KeyKind::Whole(1)).otherwise("all");
    /// Effect of an inconclusive verdict; `warn` [excuses noise only](#scope-of-a-gate).
    inconclusive = key(KeyKind::OneOf(&words(&OnInconclusive::WORDS))).default("\"inconclusive\"");
}

pub(super) const GATES: KeyKind = KeyKind::List(&KeyKind::Either(&[KeyKind::Requirement, KeyKind::Table(&GATE.spec)]));

keys! {
    /// A named group of gates, from the easiest tier to the hardest.
    TIER: TierKeys = "[[tier]]";
    /// Its name.
    name = key(KeyKind::Name).required();
    /// Requirements, or gates as tables.
    require = key(GATES).required();
    /// As in a gate, for requirements written as texts.
    on = key(KeyKind::Text).default("\"selected\"");
    /// Whether the phase fails if the tier is not reached.
    required = key(KeyKind::Bool).default("false");
}

keys! {
    /// A step of a staged plan, in order.
    STAGE: StageKeys = "[[stage]]";
    /// Its name.
    name = key(KeyKind::Name).required();
    /// Glob of the variants that implement it; the best correct one represents the stage.
    variant = key(KeyKind::Text).required();
    /// Expected speedup over the last accepted stage, from and to.
    expect = key(KeyKind::List(&KeyKind::Number)).otherwise("none");
    /// Exit gates; `previous.` is the last accepted stage.
    require = key(GATES).default("[]");
    /// Effect of a rejection ([staged plans](#staged-plans)).
    on_failure = key(KeyKind::OneOf(&words(&OnStageFailure::WORDS))).default("\"revert\"");
}

keys! {
    /// The variant to use if required gates fail.
    FALLBACK: FallbackKeys = "[fallback]";
    /// Glob of the variants; the best correct one is used.
    variant = key(KeyKind::Text).required();
    /// Gates of the fallback, as in a tier.
    require = key(GATES).required();
}

keys! {
    /// A go/no-go condition, checked before anything is built.
    PRECONDITION: PreconditionKeys = "[[precondition]]";
    /// Its name.
    name = key(KeyKind::Text).otherwise("the condition's text");
    /// True or false, over dimensions, `dtype` (of the first input) and `cc` (compute capability, `9.0`).
    require = key(KeyKind::Expr).required();
}

keys! {
    /// Permission for a gate to fail for a limited time; every report shows it.
    WAIVER: WaiverKeys = "[[waiver]]";
    /// Name of the gate.
    gate = key(KeyKind::Text).required();
    /// Glob of variant ids.
    variant = key(KeyKind::Text).default("\"*\"");
    /// Why, in three words or more.
    reason = key(KeyKind::Text).required();
    /// Who is responsible.
    owner = key(KeyKind::Text).required();
    /// Last valid day in UTC, a TOML date (`2026-12-31`) within 366 days of today.
    expires = key(KeyKind::Date).required();
}
