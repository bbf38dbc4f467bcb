//! What a search did, line by line.

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
    /// Hash of what the search is made of: phase, tools, GPU, sources. One made of something else does not go on.
    pub key: String,
    /// The axes, in the order of the sweep.
    pub axes: Vec<String>,
    /// Combinations without the condition; none where they are more than can be counted.
    pub combinations: Option<u64>,
    /// How points are proposed (`model`).
    pub strategy: String,
    /// Decides what is drawn at random.
    pub seed: u64,
    /// Samples of a variant.
    pub rounds: u32,
}

/// A point that is to be tried.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ProposedPoint {
    pub variant: VariantId,
    /// One value of every axis, by index.
    pub point: Vec<u32>,
    /// The objective that the model expects, in microseconds; none where there was no model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expected_us: Option<f64>,
}

/// What came of a point.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TriedPoint {
    /// The batch it was proposed in.
    pub batch: u32,
    pub variant: VariantId,
    pub outcome: TriedOutcome,
    /// A hash of its machine code and launches: variants with equal ones are timed once. None where it was not built.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    /// Metrics that follow from build and launch, those that are known.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub facts: BTreeMap<String, f64>,
    /// Wall seconds of the search until then.
    pub seconds: f64,
}

/// How a trial ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "status", rename_all = "snake_case")]
pub enum TriedOutcome {
    /// It was proven at the objective's shape and timed there.
    Timed {
        /// The objective over few samples, in microseconds.
        us: f64,
    },
    /// It did not get there.
    Failed {
        /// Why: it does not build, cannot be launched, does not hold a condition, is wrong, crashed.
        reason: String,
    },
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SearchEnd {
    pub why: String,
    /// What is measured in full, the best first.
    pub finalists: Vec<VariantId>,
    /// The finalists as points.
    pub points: Vec<Vec<u32>>,
    /// How much each axis decided, by the model, as a share of 1; empty where too little was timed.
    pub importance: Vec<(String, f64)>,
    /// Wall seconds of the search.
    pub seconds: f64,
}
