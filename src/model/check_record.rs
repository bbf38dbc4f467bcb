//! What checking and timing a variant gave.

use crate::model::Differences;
use crate::model::ShapeName;
use crate::model::VariantId;
use serde::{Deserialize, Serialize};

/// How one correctness case (variant, shape, seed) ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "status", rename_all = "snake_case")]
pub enum CheckOutcome {
    /// Within tolerance, inputs and guard bands untouched.
    Correct {
        /// How near.
        differences: Differences,
    },
    /// Wrong.
    Wrong {
        /// How far.
        differences: Differences,
        /// Why it counts as wrong, with the bound it broke, the input it wrote, or the guard band it overran.
        reason: String,
    },
    /// The launch failed, the worker died, or it ran past its time.
    Crashed {
        /// What the driver or the system said.
        reason: String,
    },
    /// Not run (a build that failed, an external program that is absent).
    Skipped {
        /// Why.
        reason: String,
    },
}

/// A line of `checks.jsonl`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CheckRecord {
    /// The variant.
    pub variant: VariantId,
    /// The shape.
    pub shape: ShapeName,
    /// The seed of the inputs.
    pub seed: u64,
    /// What came of it.
    pub outcome: CheckOutcome,
}

/// What timing a variant at a shape gave.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "status", rename_all = "snake_case")]
pub enum LatencyOutcome {
    /// Samples in the order they were taken; sample `i` of every variant is of the same round.
    Timed {
        /// Microseconds a launch, one sample a graph launch.
        samples: Vec<f64>,
        /// Launches in the graph each sample is the mean of.
        launches: u32,
    },
    /// No samples, and why (never timed because it was not correct, crashed while timed, absent).
    Failed {
        /// Why.
        reason: String,
    },
}

/// A line of `latencies.jsonl`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LatencyRecord {
    /// The variant.
    pub variant: VariantId,
    /// The shape.
    pub shape: ShapeName,
    /// What came of it.
    pub outcome: LatencyOutcome,
}
