//! Keys of what has to hold: gates, tiers, stages, fallback, preconditions and waivers.

use super::{KeyKind, NAMES, Spec, key, spec};

pub static GATE: Spec = spec(
    "[[gate]]",
    "One requirement. The same keys serve where a tier, stage or fallback writes a gate as a table.",
    &[
        key("name", KeyKind::Text, "Its name.").default("the requirement's text"),
        key("require", KeyKind::Requirement, "What has to hold.").required(),
        key("on", KeyKind::Text, "Whom it judges: `selected` (the best candidate by the objective), `each` candidate, `any` (at least one), a glob of ids (each that matches), or `best:GLOB` (the best that matches, by the objective).").default("\"selected\""),
        key("level", KeyKind::OneOf(&["required", "advisory"]), "Whether the phase fails with it.")
            .default("\"required\""),
        key("shapes", NAMES, "Shapes at which it is judged.").default("the objective's"),
        key("at_least", KeyKind::Whole(1), "How many of the shapes must hold.").default("all"),
        key(
            "inconclusive",
            KeyKind::OneOf(&["inconclusive", "fail", "warn"]),
            "What an inconclusive verdict counts as; `warn` excuses noise alone, where the requirement holds as it was measured, after all rounds.",
        )
        .default("\"inconclusive\""),
    ],
);

pub(super) const GATES: KeyKind = KeyKind::List(&KeyKind::Either(&[KeyKind::Requirement, KeyKind::Table(&GATE)]));

pub static TIER: Spec = spec(
    "[[tier]]",
    "A named group of gates, from the easiest tier to the hardest.",
    &[
        key("name", KeyKind::Name, "Its name.").required(),
        key("require", GATES, "What has to hold: requirements, or gates as tables.").required(),
        key("on", KeyKind::Text, "As in a gate, for requirements written as texts.").default("\"selected\""),
        key("required", KeyKind::Bool, "Whether the phase fails when it is not reached.").default("false"),
    ],
);

pub static STAGE: Spec = spec(
    "[[stage]]",
    "A step of a staged plan.",
    &[
        key("name", KeyKind::Name, "Its name.").required(),
        key(
            "variant",
            KeyKind::Text,
            "Glob of the variants that implement it; the best correct one stands for the stage.",
        )
        .required(),
        key("expect", KeyKind::List(&KeyKind::Number), "Expected speedup over the last accepted stage, from and to.")
            .default("none"),
        key("require", GATES, "Exit gates; `previous.` is the last accepted stage.").default("[]"),
        key(
            "on_failure",
            KeyKind::OneOf(&["revert", "skip"]),
            "`revert` ends the plan there, before its final gates, so that the phase fails; `skip` goes on from the last accepted stage.",
        )
        .default("\"revert\""),
    ],
);

pub static FALLBACK: Spec = spec(
    "[fallback]",
    "What to use when required gates fail.",
    &[
        key("variant", KeyKind::Text, "Glob of the variants; the best correct one is taken.").required(),
        key("require", GATES, "Gates of its own, as in a tier.").required(),
    ],
);

pub static PRECONDITION: Spec = spec(
    "[[precondition]]",
    "A go/no-go condition.",
    &[
        key("name", KeyKind::Text, "Its name.").default("the condition's text"),
        key(
            "require",
            KeyKind::Expr,
            "True or false, over dimensions, `dtype` (of the first input) and `cc` (compute capability, `9.0`).",
        )
        .required(),
    ],
);

pub static WAIVER: Spec = spec(
    "[[waiver]]",
    "A gate that may fail for a while; every report shows it.",
    &[
        key("gate", KeyKind::Text, "Name of the gate.").required(),
        key("variant", KeyKind::Text, "Glob of variant ids.").default("\"*\""),
        key("reason", KeyKind::Text, "Why, in three words or more.").required(),
        key("owner", KeyKind::Text, "Who is responsible.").required(),
        key(
            "expires",
            KeyKind::Date,
            "Last day it holds, in UTC, a TOML date (`2026-12-31`) within 366 days of today.",
        )
        .required(),
    ],
);
