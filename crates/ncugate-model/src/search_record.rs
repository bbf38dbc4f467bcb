//! The log of a search, line by line.

use crate::VariantId;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A line of `search.jsonl`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum SearchRecord {
    Began(SearchStart),
    /// A batch was proposed.
    Proposed {
        /// Which, from 0.
        batch: u32,
        points: Vec<ProposedPoint>,
        /// Wall seconds of the search until then.
        seconds: f64,
    },
    /// A proposed variant was tried.
    Tried(TriedPoint),
    Ended(SearchEnd),
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SearchStart {
    /// Hash of the inputs of the search: phase, tools, GPU, sources. A search with other inputs is not resumed.
    pub key: String,
    /// The axes, in the order of the sweep.
    pub axes: Vec<String>,
    /// Combinations without the condition; none if there are too many to count.
    pub combinations: Option<u64>,
    /// How points are proposed (`elites`).
    pub strategy: String,
    /// Seed of all random draws.
    pub seed: u64,
    /// Samples per variant.
    pub rounds: u32,
}

/// A point to try.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ProposedPoint {
    pub variant: VariantId,
    /// One value of every axis, by index.
    pub point: Vec<u32>,
}

/// The result of a point.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TriedPoint {
    /// The batch that proposed it.
    pub batch: u32,
    pub variant: VariantId,
    pub outcome: TriedOutcome,
    /// A hash of its machine code and launches: variants with the same hash are timed once. None if it was not built.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    /// The known metrics that follow from build and launch.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub facts: BTreeMap<String, f64>,
    /// Wall seconds of the search until then.
    pub seconds: f64,
}

/// The result of a trial.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "status", rename_all = "snake_case")]
pub enum TriedOutcome {
    /// It was correct at the objective's shape and timed there.
    /// `us`: the objective over few samples, in microseconds.
    Timed { us: f64 },
    /// It was not timed.
    /// `reason`: a failed build, an impossible launch, a failed condition, a wrong output, a crash.
    Failed { reason: String },
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SearchEnd {
    pub why: String,
    /// The variants to measure in full, the best first.
    pub finalists: Vec<VariantId>,
    /// The finalists as points.
    pub points: Vec<Vec<u32>>,
    /// Wall seconds of the search.
    pub seconds: f64,
}
