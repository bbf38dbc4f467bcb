//! Keys of what has to hold: gates, tiers, stages, fallback, preconditions and waivers.

use super::{Kind, NAMES, Spec, key, spec};

/// `[[gate]]`.
pub static GATE: Spec = spec(
    "[[gate]]",
    "One requirement. The same keys serve where a tier, stage or fallback writes a gate as a table.",
    &[
        key("name", Kind::Text, "Its name.").default("the requirement's text"),
        key("require", Kind::Requirement, "What has to hold.").required(),
        key("on", Kind::Text, "Whom it judges: `selected` (the best candidate by the objective), `each` candidate, `any` (at least one), a glob of ids (each that matches), or `best:GLOB` (the best that matches, by the objective).").default("\"selected\""),
        key("level", Kind::OneOf(&["required", "advisory"]), "Whether the phase fails with it.")
            .default("\"required\""),
        key("shapes", NAMES, "Shapes at which it is judged.").default("the objective's"),
        key("at_least", Kind::Whole(1), "How many of the shapes must hold.").default("all"),
        key(
            "inconclusive",
            Kind::OneOf(&["inconclusive", "fail", "warn"]),
            "What an inconclusive verdict counts as; `warn` excuses noise alone, never something missing.",
        )
        .default("\"inconclusive\""),
    ],
);

const GATES: Kind = Kind::List(&Kind::Either(&[Kind::Requirement, Kind::Table(&GATE)]));

/// `[[tier]]`.
pub static TIER: Spec = spec(
    "[[tier]]",
    "A named group of gates, from the easiest tier to the hardest.",
    &[
        key("name", Kind::Name, "Its name.").required(),
        key("require", GATES, "What has to hold: requirements, or gates as tables.").required(),
        key("on", Kind::Text, "As in a gate, for requirements written as texts.").default("\"selected\""),
        key("required", Kind::Bool, "Whether the phase fails when it is not reached.").default("false"),
    ],
);

/// `[[stage]]`.
pub static STAGE: Spec = spec(
    "[[stage]]",
    "A step of a staged plan.",
    &[
        key("name", Kind::Name, "Its name.").required(),
        key(
            "variant",
            Kind::Text,
            "Glob of the variants that implement it; the best correct one stands for the stage.",
        )
        .required(),
        key("expect", Kind::List(&Kind::Number), "Expected speedup over the last accepted stage, from and to.")
            .default("none"),
        key("require", GATES, "Exit gates; `previous.` is the last accepted stage.").default("[]"),
        key(
            "on_failure",
            Kind::OneOf(&["revert", "skip"]),
            "`revert` ends the plan there; `skip` goes on from the last accepted stage.",
        )
        .default("\"revert\""),
    ],
);

/// `[fallback]`.
pub static FALLBACK: Spec = spec(
    "[fallback]",
    "What to use when required gates fail.",
    &[
        key("variant", Kind::Text, "Glob of the variants; the best correct one is taken.").required(),
        key("require", GATES, "Gates of its own, as in a tier.").required(),
    ],
);

/// `[[precondition]]`.
pub static PRECONDITION: Spec = spec(
    "[[precondition]]",
    "A go/no-go condition.",
    &[
        key("name", Kind::Text, "Its name.").default("the condition's text"),
        key(
            "require",
            Kind::Expr,
            "True or false, over dimensions, `dtype` (of the first input) and `cc` (compute capability, `9.0`).",
        )
        .required(),
    ],
);

/// `[[waiver]]`.
pub static WAIVER: Spec = spec(
    "[[waiver]]",
    "A gate that may fail for a while; every report shows it.",
    &[
        key("gate", Kind::Text, "Name of the gate.").required(),
        key("variant", Kind::Text, "Glob of variant ids.").default("\"*\""),
        key("reason", Kind::Text, "Why.").required(),
        key("owner", Kind::Text, "Who is responsible.").required(),
        key("expires", Kind::Date, "Last day it holds, a TOML date (`2026-12-31`).").required(),
    ],
);
