//! `[search]`: the selection of combinations to build.

use ncugate_model::expr::Expr;
use ncugate_model::words;
use serde::Serialize;
use std::time::Duration;

words! {
    name;
    /// The strategy that proposes variants.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
    #[serde(rename_all = "snake_case")]
    pub enum SearchStrategy {
        /// Mutations of the best variants so far.
        Elites = "elites",
        /// At random, without repetition.
        Random = "random",
        /// All, in the order of the sweep, until the budget is spent.
        Exhaustive = "exhaustive",
    }
}

/// When a search stops; at least one of the three is given.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct SearchBudget {
    /// Variants built by nvcc.
    pub builds: Option<u32>,
    /// Variants that were timed.
    pub measured: Option<u32>,
    /// Wall time.
    pub time: Option<Duration>,
}

/// An axis that is fixed to its first value unless a condition holds.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ConditionalAxis {
    pub axis: String,
    pub when: Expr,
}

/// The default number of variants per batch: an eighth of the budget, so that a small budget learns as often as a
/// large one, and at most 8, which builds in parallel.
pub fn usual_batch(budget: u32) -> u32 {
    (budget / 8).clamp(1, 8)
}

/// A search over the sweep.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SearchSettings {
    pub budget: SearchBudget,
    pub strategy: SearchStrategy,
    /// Seed of all random draws.
    pub seed: u64,
    /// Variants that are proposed, built and timed together.
    pub batch: u32,
    /// Samples per variant during the search; the finalists get those of `[bench]`.
    pub rounds: u32,
    /// Number of best variants that are measured like a sweep, and judged.
    pub finalists: u32,
    /// Conditions on the resources of a build; a variant that fails them is not launched.
    pub require: Vec<Expr>,
    /// Axes that only count under a condition.
    pub conditional: Vec<ConditionalAxis>,
}
