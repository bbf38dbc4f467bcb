//! Keys of `[search]`.

use super::{EXPRS, KeyKind, NAMES, Spec, key, words};
use crate::config::SearchStrategy;

/// A number of variants or samples: all of them are in memory and in one plan.
const COUNT: KeyKind = KeyKind::Between(1, 4096);

keys! {
    SEARCH: SearchKeys = "[search]", "Not every combination of `[sweep]` is built: batches are proposed, built, proven and timed with few samples until \
     the budget ends. The best of them are then measured and judged as the candidates of a sweep are.";
    budget = key(KeyKind::Table(&SEARCH_BUDGET.spec), "When it stops.").required();
    strategy = key(
        KeyKind::OneOf(&words(&SearchStrategy::WORDS)),
        "How variants are proposed. `model`: by a forest that learns from what was built and timed.",
    ).default("\"model\"");
    seed = key(
        KeyKind::Whole(0),
        "Decides what is drawn at random: equal seeds and times give equal proposals.",
    ).default("0");
    batch = key(
        COUNT,
        "Variants that are proposed, built and timed together.",
    ).otherwise("an eighth of `builds` or `measured`, from 1 to 8");
    rounds = key(COUNT, "Samples of a variant while it is searched, at the objective's shape.").default("8");
    finalists = key(COUNT, "How many of the best are measured in full and judged.").default("8");
    require = key(
        EXPRS,
        "Conditions that are asked after the build and before a launch, over the parameters and the metrics that follow \
             from build and launch (`registers`, `spills`, `shared_memory`, `theoretical_occupancy`).",
    ).default("[]");
    categorical = key(NAMES, "Axes of numbers whose order says nothing; texts never have one.").default("[]");
    when = key(KeyKind::Table(&SEARCH_WHEN), "Axes that count only under a condition.").default("{}");
}

keys! {
    SEARCH_BUDGET: SearchBudgetKeys = "[search] budget = { ... }", "At least one of them; the first that is spent ends the search.";
    builds = key(KeyKind::Whole(1), "Variants that nvcc is asked to build.");
    measured = key(KeyKind::Whole(1), "Variants that are timed.");
    seconds = key(KeyKind::Whole(1), "Wall time of the search; the batch that runs then is finished.");
}

pub static SEARCH_WHEN: Spec = Spec {
    title: "[search] when = { ... }",
    doc: "`AXIS = \"condition\"`: elsewhere the axis has its first value.",
    keys: &[],
    free: Some(KeyKind::Expr),
};
