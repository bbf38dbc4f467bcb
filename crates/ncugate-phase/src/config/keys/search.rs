//! Keys of `[search]`.

use super::{EXPRS, KeyKind, Spec, key, words};
use crate::config::SearchStrategy;

/// A number of variants or samples: all of them are in memory and in one plan.
const COUNT: KeyKind = KeyKind::Between(1, 4096);

keys! {
    SEARCH: SearchKeys = "[search]", "Builds a part of the combinations of `[sweep]` until the budget is spent, and then measures and judges the best ones.";
    budget = key(KeyKind::Table(&SEARCH_BUDGET.spec), "Limits of the search.").required();
    strategy = key(
        KeyKind::OneOf(&words(&SearchStrategy::WORDS)),
        "How variants are proposed. `elites`: the best so far with other values on some axes.",
    ).default("\"elites\"");
    seed = key(KeyKind::Whole(0), "Seed of random choices: equal seeds and times give equal proposals.").default("0");
    batch = key(
        COUNT,
        "Variants that are proposed, built and timed together.",
    ).otherwise("an eighth of `builds` or `measured`, from 1 to 8");
    rounds = key(COUNT, "Samples of a variant while it is searched, at the objective's shape.").default("8");
    finalists = key(COUNT, "Number of best variants to measure in full and judge.").default("8");
    require = key(
        EXPRS,
        "Conditions tested after the build and before a launch, over parameters and metrics of build and launch \
         (`registers`, `spills`, `shared_memory`, `theoretical_occupancy`).",
    ).default("[]");
    when = key(KeyKind::Table(&SEARCH_WHEN), "Axes that apply only under a condition.").default("{}");
}

keys! {
    SEARCH_BUDGET: SearchBudgetKeys = "[search] budget = { ... }", "At least one limit; the first that is reached ends the search.";
    builds = key(KeyKind::Whole(1), "Number of builds.");
    measured = key(KeyKind::Whole(1), "Number of timed variants.");
    seconds = key(KeyKind::Whole(1), "Wall time of the search; the current batch is finished.");
}

pub static SEARCH_WHEN: Spec = Spec {
    title: "[search] when = { ... }",
    doc: "`AXIS = \"condition\"`: if it is false, the axis has its first value.",
    keys: &[],
    free: Some(KeyKind::Expr),
};
