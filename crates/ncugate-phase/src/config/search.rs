//! `[search]`: which combinations of the sweep are built at all.

use ncugate_model::expr::Expr;
use serde::Serialize;
use std::time::Duration;

/// How variants are proposed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum SearchStrategy {
    /// A forest over parameters and what builds told, asked for the next batch.
    Model,
    /// At random, none twice.
    Random,
    /// All, in the order of the sweep, until the budget ends.
    Exhaustive,
}

impl SearchStrategy {
    /// All of them by the word that a phase uses.
    pub const WORDS: [(&'static str, Self); 3] =
        [("model", Self::Model), ("random", Self::Random), ("exhaustive", Self::Exhaustive)];
}

/// When a search stops; at least one of the three is given.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct SearchBudget {
    /// Variants that nvcc was asked to build.
    pub builds: Option<u32>,
    /// Variants that were timed.
    pub measured: Option<u32>,
    /// Wall time.
    pub time: Option<Duration>,
}

/// An axis that has a value other than its first only where a condition holds.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ConditionalAxis {
    pub axis: String,
    pub when: Expr,
}

/// Variants that are tried together where nothing says how many: an eighth of the budget, so that a small budget learns as often as a
/// large one, and at most 8, which builds in parallel.
pub fn usual_batch(budget: u32) -> u32 {
    (budget / 8).clamp(1, 8)
}

/// A search over the sweep.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SearchSettings {
    pub budget: SearchBudget,
    pub strategy: SearchStrategy,
    /// Decides what is drawn at random.
    pub seed: u64,
    /// Variants that are proposed, built and timed together.
    pub batch: u32,
    /// Samples of a variant while it is searched; the finalists get those of `[bench]`.
    pub rounds: u32,
    /// How many of the best are measured as a sweep is, and judged.
    pub finalists: u32,
    /// Conditions on what a build uses; a variant that does not hold them is not launched.
    pub require: Vec<Expr>,
    /// Axes of numbers whose order says nothing.
    pub categorical: Vec<String>,
    /// Axes that count only somewhere.
    pub conditional: Vec<ConditionalAxis>,
}
