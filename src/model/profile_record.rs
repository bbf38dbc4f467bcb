//! What profiling a variant gave.

use crate::model::ActivityTrace;
use crate::model::Listing;
use crate::model::ShapeName;
use crate::model::VariantId;
use serde::{Deserialize, Serialize};

/// How profiling one variant at one shape with one group of metrics ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "status", rename_all = "snake_case")]
pub enum ProfileOutcome {
    /// Its launches are in this report, inside the NVTX range `<variant>@<shape>`.
    Profiled {
        /// File name in the run's `reports` folder (`.ncu-rep`, or `.ncu-repz` in a recording).
        report: String,
    },
    /// No report has it: ncu could not count here. Its launches were traced by CUPTI instead, which says how long they took and
    /// with what they were launched.
    Traced {
        /// The launches.
        trace: ActivityTrace,
    },
    /// It has no launch in any report, and why.
    Failed {
        /// Why, with what to do.
        reason: String,
    },
}

/// A line of `closelooks.jsonl`: a variant profiled once more, with ncu's sections, samples and sources.
///
/// Judging reads nothing of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DeepProfile {
    /// The variant.
    pub variant: VariantId,
    /// The shape.
    pub shape: ShapeName,
    /// ncu names that were asked for, sorted.
    pub metrics: Vec<String>,
    /// ncu's sections that were asked for.
    pub sections: Vec<String>,
    /// Replay passes, where the report has them.
    pub passes: Option<u32>,
    /// Wall seconds of the ncu process, which may have looked at several variants.
    pub seconds: f64,
    /// The sampled instructions, as far as they are known.
    #[serde(default)]
    pub listing: Listing,
    /// What came of it.
    pub outcome: ProfileOutcome,
}

/// A line of `profiles.jsonl`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProfileRecord {
    /// The variant.
    pub variant: VariantId,
    /// The shape.
    pub shape: ShapeName,
    /// ncu names that were asked for in this group, sorted.
    pub metrics: Vec<String>,
    /// What came of it.
    pub outcome: ProfileOutcome,
}
