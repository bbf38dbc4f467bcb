//! Keys of requirements: gates, tiers, stages, fallback, preconditions and waivers.

use super::{KeyKind, TEXTS, key, words};
use crate::config::OnStageFailure;
use ncugate_model::{Level, OnInconclusive};

keys! {
    GATE: GateKeys = "[[gate]]", "One requirement: a table, or its text alone. Gates in a tier, stage or fallback have the same keys.";
    name = key(KeyKind::Text, "Its name.").otherwise("the requirement's text");
    require = key(KeyKind::Requirement, "The requirement.").required();
    on = key(
        KeyKind::Text,
        "The judged variants ([scope](#scope-of-a-gate)). For launches of ncu reports the default is `each`.",
    ).default("\"selected\"");
    level = key(KeyKind::OneOf(&words(&Level::WORDS)), "Whether the phase fails if the gate fails.").default("\"required\"");
    shapes = key(TEXTS, "Shapes at which it is judged, by name or glob (`\"grid_*\"`).").otherwise("the objective's");
    at_least = key(KeyKind::Whole(1), "Number of shapes at which it must pass.").otherwise("all");
    inconclusive = key(
        KeyKind::OneOf(&words(&OnInconclusive::WORDS)),
        "Effect of an inconclusive verdict; `warn` [excuses noise only](#scope-of-a-gate).",
    ).default("\"inconclusive\"");
}

pub(super) const GATES: KeyKind = KeyKind::List(&KeyKind::Either(&[KeyKind::Requirement, KeyKind::Table(&GATE.spec)]));

keys! {
    TIER: TierKeys = "[[tier]]", "A named group of gates, from the easiest tier to the hardest.";
    name = key(KeyKind::Name, "Its name.").required();
    require = key(GATES, "Requirements, or gates as tables.").required();
    on = key(KeyKind::Text, "As in a gate, for requirements written as texts.").default("\"selected\"");
    required = key(KeyKind::Bool, "Whether the phase fails if the tier is not reached.").default("false");
}

keys! {
    STAGE: StageKeys = "[[stage]]", "A step of a staged plan, in order.";
    name = key(KeyKind::Name, "Its name.").required();
    variant = key(
        KeyKind::Text,
        "Glob of the variants that implement it; the best correct one represents the stage.",
    ).required();
    expect = key(
        KeyKind::List(&KeyKind::Number),
        "Expected speedup over the last accepted stage, from and to.",
    ).otherwise("none");
    require = key(GATES, "Exit gates; `previous.` is the last accepted stage.").default("[]");
    on_failure = key(
        KeyKind::OneOf(&words(&OnStageFailure::WORDS)),
        "Effect of a rejection ([staged plans](#staged-plans)).",
    ).default("\"revert\"");
}

keys! {
    FALLBACK: FallbackKeys = "[fallback]", "The variant to use if required gates fail.";
    variant = key(KeyKind::Text, "Glob of the variants; the best correct one is used.").required();
    require = key(GATES, "Gates of the fallback, as in a tier.").required();
}

keys! {
    PRECONDITION: PreconditionKeys = "[[precondition]]", "A go/no-go condition, checked before anything is built.";
    name = key(KeyKind::Text, "Its name.").otherwise("the condition's text");
    require = key(
        KeyKind::Expr,
        "True or false, over dimensions, `dtype` (of the first input) and `cc` (compute capability, `9.0`).",
    ).required();
}

keys! {
    WAIVER: WaiverKeys = "[[waiver]]", "Permission for a gate to fail for a limited time; every report shows it.";
    gate = key(KeyKind::Text, "Name of the gate.").required();
    variant = key(KeyKind::Text, "Glob of variant ids.").default("\"*\"");
    reason = key(KeyKind::Text, "Why, in three words or more.").required();
    owner = key(KeyKind::Text, "Who is responsible.").required();
    expires = key(
        KeyKind::Date,
        "Last valid day in UTC, a TOML date (`2026-12-31`) within 366 days of today.",
    ).required();
}
