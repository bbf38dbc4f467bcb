//! Keys of `[search]`.

use super::{EXPRS, KeyKind, NAMES, Spec, key, spec};

pub static SEARCH: Spec = spec(
    "[search]",
    "Not every combination of `[sweep]` is built: batches are proposed, built, proven and timed with few samples until \
     the budget ends. The best of them are then measured and judged as the candidates of a sweep are.",
    &[
        key("budget", KeyKind::Table(&SEARCH_BUDGET), "When it stops.").required(),
        key(
            "strategy",
            KeyKind::OneOf(&["model", "random", "exhaustive"]),
            "How variants are proposed. `model`: by a forest that learns from what was built and timed.",
        )
        .default("\"model\""),
        key("seed", KeyKind::Whole(0), "Decides what is drawn at random: equal seeds and times give equal proposals.")
            .default("0"),
        key("batch", KeyKind::Whole(1), "Variants that are proposed, built and timed together.")
            .default("an eighth of `builds` or `measured`, from 1 to 8"),
        key("rounds", KeyKind::Whole(1), "Samples of a variant while it is searched, at the objective's shape.")
            .default("8"),
        key("finalists", KeyKind::Whole(1), "How many of the best are measured in full and judged.").default("8"),
        key(
            "require",
            EXPRS,
            "Conditions that are asked after the build and before a launch, over the parameters and the metrics that follow \
             from build and launch (`registers`, `spills`, `shared_memory`, `theoretical_occupancy`).",
        )
        .default("[]"),
        key("categorical", NAMES, "Axes of numbers whose order says nothing; texts never have one.").default("[]"),
        key("when", KeyKind::Table(&SEARCH_WHEN), "Axes that count only under a condition.").default("{}"),
    ],
);

pub static SEARCH_BUDGET: Spec = spec(
    "[search] budget = { ... }",
    "At least one of them; the first that is spent ends the search.",
    &[
        key("builds", KeyKind::Whole(1), "Variants that nvcc is asked to build."),
        key("measured", KeyKind::Whole(1), "Variants that are timed."),
        key("seconds", KeyKind::Whole(1), "Wall time of the search; the batch that runs then is finished."),
    ],
);

pub static SEARCH_WHEN: Spec = Spec {
    title: "[search] when = { ... }",
    doc: "`AXIS = \"condition\"`: elsewhere the axis has its first value.",
    keys: &[],
    free: Some(KeyKind::Expr),
};
