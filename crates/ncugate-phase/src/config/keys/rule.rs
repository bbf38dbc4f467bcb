//! Keys of the rules of a diagnosis.

use super::{EXPRS, KeyKind, NAMES, Spec, TEMPLATES, TEXTS, key, spec};

/// A file of rules.
pub static RULES: Spec = spec(
    "a file of rules",
    "Rules of a diagnosis.",
    &[key("rule", KeyKind::List(&KeyKind::Table(&RULE)), "A rule.").required()],
);

pub static RULE: Spec = spec(
    "[[rule]]",
    "A rule of the diagnosis: what says that a kernel has a certain trouble, what it costs, what to try. It joins the rules that the \
     program has (`ncugate explain --rules` lists them), or takes the place of the one with the same id. No verdict depends on a rule.",
    &[
        key("id", KeyKind::Name, "Short name; findings are cited by it.").required(),
        key("cause", KeyKind::Text, "What is wrong, in a few words.").required(),
        key(
            "kind",
            KeyKind::OneOf(&["defect", "redesign", "doubt", "remark"]),
            "`defect` costs time and can be mended; `redesign` asks for another algorithm, and stands behind defects; `doubt`: numbers do \
             not fit each other; `remark`: worth knowing.",
        )
        .default("\"defect\""),
        key(
            "case",
            KeyKind::List(&KeyKind::Table(&RULE_CASE)),
            "When it holds. The first case of which everything is known decides: the most exact one comes first.",
        )
        .required(),
        key("evidence", TEXTS, "Metrics and facts to show with it.").default("[]"),
        key("stalls", NAMES, "Warp states (`long_scoreboard`) whose source lines are shown with it.").default("[]"),
        key("explains", NAMES, "Ids of rules whose findings are symptoms of this one, and are folded below it.")
            .default("[]"),
        key("try", TEMPLATES, "What to try, the first thing first; `{{ NAME }}` is a metric or a fact.").required(),
    ],
);

pub static EXPLAIN: Spec = spec(
    "[explain]",
    "What the diagnosis compares with. No verdict depends on it.",
    &[key(
        "signatures",
        KeyKind::Either(&[KeyKind::Text, TEXTS]),
        "Inversions of your own, whose defects findings are compared with, beside those that the program has: each the folder of a run, or a file \
         that `ncugate explain RUN --signatures` wrote.",
    )
    .default("those of the program")],
);

pub static RULE_CASE: Spec = spec(
    "[[rule.case]]",
    "One way to see the trouble. Names are metrics, ncu's own metrics, and facts of the diagnosis.",
    &[
        key("when", KeyKind::Expr, "The condition.").required(),
        key(
            "saves",
            EXPRS,
            "Upper bounds of what mending it saves, in percent of the time: the least of those that are known counts. The first has to \
             be known.",
        )
        .default("nothing is said"),
        key("confidence", KeyKind::OneOf(&["high", "medium", "low"]), "How sure it is.").default("\"medium\""),
        key("says", KeyKind::Template, "One sentence; `{{ NAME }}` is a metric or a fact.").required(),
    ],
);
