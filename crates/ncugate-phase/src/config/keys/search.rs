//! Keys of `[search]`.

use super::{EXPRS, KeyKind, key, words};
use crate::config::SearchStrategy;

/// A number of variants or samples: all of them are in memory and in one plan.
const COUNT: KeyKind = KeyKind::Between(1, 4096);

keys! {
    /// Builds a part of the combinations of `[sweep]` until the budget is spent, and then measures and judges the
    /// best ones.
    SEARCH: SearchKeys = "[search]";
    /// Limits of the search.
    budget = key(KeyKind::Table(&SEARCH_BUDGET.spec)).required();
    /// How variants are proposed. `elites`: the best so far with other values on some axes.
    strategy = key(KeyKind::OneOf(&words(&SearchStrategy::WORDS))).default("\"elites\"");
    /// Seed of random choices: equal seeds and times give equal proposals.
    seed = key(KeyKind::Whole(0)).default("0");
    /// Variants that are proposed, built and timed together.
    batch = key(COUNT).otherwise("an eighth of `builds` or `measured`, from 1 to 8");
    /// Samples of a variant while it is searched, at the objective's shape.
    rounds = key(COUNT).default("8");
    /// Number of best variants to measure in full and judge.
    finalists = key(COUNT).default("8");
    /// Conditions tested after the build and before a launch, over parameters and metrics of build and launch
    /// (`registers`, `spills`, `shared_memory`, `theoretical_occupancy`).
    require = key(EXPRS).default("[]");
    /// Axes that apply only under a condition.
    when = key(KeyKind::Table(&SEARCH_WHEN)).default("{}");
}

keys! {
    /// At least one limit; the first that is reached ends the search.
    SEARCH_BUDGET: SearchBudgetKeys = "[search] budget = { ... }";
    /// Number of builds.
    builds = key(KeyKind::Whole(1));
    /// Number of timed variants.
    measured = key(KeyKind::Whole(1));
    /// Wall time of the search; the current batch is finished.
    seconds = key(KeyKind::Whole(1));
}

names! {
    /// `AXIS = "condition"`: if it is false, the axis has its first value.
    SEARCH_WHEN = "[search] when = { ... }", KeyKind::Expr;
}
