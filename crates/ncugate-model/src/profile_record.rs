//! The result of profiling a variant.

use crate::{ActivityTrace, Listing, ShapeName, VariantId};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::ffi::CStr;

/// Maximum size of a report in bytes.
pub const MAX_REPORT: u64 = 8 << 30;

/// The NVTX range of launches of an empty kernel, whose duration is what a profiler adds to the work of every launch.
pub const EMPTY_RANGE: &CStr = c"ncugate empty";

/// The result of profiling one variant at one shape with one group of metrics.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "status", rename_all = "snake_case")]
pub enum ProfileOutcome {
    /// Its launches are in this report, inside the NVTX range `<variant>@<shape>`.
    /// `report`: file name in the run's `reports` folder (`.ncu-rep`, or `.ncu-repz` in a recording).
    Profiled { report: String },
    /// Not in a report, because ncu could not read counters here. CUPTI traced its launches instead: their durations
    /// and configurations.
    Traced { trace: ActivityTrace },
    /// No report has a launch of it, with the reason.
    Failed { reason: String },
}

/// Whether the outputs of profiled launches are right. As for timed launches, they are compared with the expected
/// outputs for inputs of a seed that no kernel and no phase knows.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "verdict", rename_all = "snake_case")]
pub enum ProfiledOutputs {
    /// The outputs of all evaluations are right.
    /// `seed`: the seed; one of the phase's if inputs or answers are in files for its seeds.
    Right { seed: u64, evaluations: u32 },
    /// The outputs of an evaluation are wrong or missing.
    Wrong { seed: u64, reason: String },
    /// An external command launched them, and checks its results itself.
    OfCommand,
}

impl ProfiledOutputs {
    /// Combines both: a wrong one stays wrong.
    #[must_use]
    pub fn and(self, later: Self) -> Self {
        match (self, later) {
            (Self::Right { seed, evaluations }, Self::Right { evaluations: more, .. }) => {
                Self::Right { seed, evaluations: evaluations.saturating_add(more) }
            }
            (wrong @ Self::Wrong { .. }, _) | (_, wrong @ Self::Wrong { .. }) => wrong,
            (Self::OfCommand, _) | (_, Self::OfCommand) => Self::OfCommand,
        }
    }

    /// The reason, if an output is wrong.
    pub fn wrong(&self) -> Option<&str> {
        match self {
            Self::Wrong { reason, .. } => Some(reason),
            Self::Right { .. } | Self::OfCommand => None,
        }
    }
}

/// A line of `deep_profiles.jsonl`: a variant profiled once more, with ncu's sections, samples and sources.
///
/// Judging reads only whether its outputs are right.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DeepProfile {
    pub variant: VariantId,
    pub shape: ShapeName,
    /// Requested ncu metrics, sorted.
    pub metrics: Vec<String>,
    /// Requested ncu sections.
    pub sections: Vec<String>,
    /// Replay passes, if the report contains them.
    pub passes: Option<u32>,
    /// Wall seconds of the ncu process, which can have profiled several variants.
    pub seconds: f64,
    /// The sampled instructions of the kernel with the most samples, as far as they are known.
    pub listing: Listing,
    /// Those of the other kernels of an evaluation, by demangled name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub other_listings: BTreeMap<String, Listing>,
    pub outcome: ProfileOutcome,
    /// Whether its outputs are right; none if it failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outputs: Option<ProfiledOutputs>,
}

/// A line of `profiles.jsonl`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProfileRecord {
    pub variant: VariantId,
    pub shape: ShapeName,
    /// Requested ncu metrics of this group, sorted.
    pub metrics: Vec<String>,
    pub outcome: ProfileOutcome,
    /// As for a deep profile.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outputs: Option<ProfiledOutputs>,
}
