//! What profiling a variant gave.

use crate::{ActivityTrace, Listing, ShapeName, VariantId};
use serde::{Deserialize, Serialize};

/// Most bytes of a report.
pub const MAX_REPORT: u64 = 8 << 30;

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
    Traced { trace: ActivityTrace },
    /// It has no launch in any report, and why.
    Failed { reason: String },
}

/// Whether the outputs of profiled launches are right. They are compared as those of timed launches are: with what is right for inputs of
/// a seed that no kernel and no phase knows.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "verdict", rename_all = "snake_case")]
pub enum ProfiledOutputs {
    /// Those of all evaluations are.
    Right {
        /// The seed; one of the phase's where inputs or answers are in files of its seeds.
        seed: u64,
        evaluations: u32,
    },
    /// Those of one are wrong or missing.
    Wrong { seed: u64, reason: String },
    /// An external command launched them, and checks its results itself.
    OfCommand,
}

impl ProfiledOutputs {
    /// Both together: one that is wrong is not made right by another.
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

    /// What is wrong, if anything is.
    pub fn wrong(&self) -> Option<&str> {
        match self {
            Self::Wrong { reason, .. } => Some(reason),
            Self::Right { .. } | Self::OfCommand => None,
        }
    }
}

/// A line of `deep_profiles.jsonl`: a variant profiled once more, with ncu's sections, samples and sources.
///
/// Judging reads nothing of it but whether its outputs are right.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DeepProfile {
    pub variant: VariantId,
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
    pub listing: Listing,
    pub outcome: ProfileOutcome,
    /// Whether its outputs are right; none if it failed, and in a run that compared none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outputs: Option<ProfiledOutputs>,
}

/// A line of `profiles.jsonl`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProfileRecord {
    pub variant: VariantId,
    pub shape: ShapeName,
    /// ncu names that were asked for in this group, sorted.
    pub metrics: Vec<String>,
    pub outcome: ProfileOutcome,
    /// As that of a deep profile.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outputs: Option<ProfiledOutputs>,
}
