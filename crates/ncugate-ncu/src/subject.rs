//! The subject of profiling, the verification of its reports, and the ways in which profiling ends.

use super::command::{LaunchSelection, Processes};
use super::failure::NcuFailure;
use super::group::{Group, NcuMetric};
use ncugate_model::{ProfileOutcome, ProfileRecord, ProfiledOutputs, ShapeName, VariantId};
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::Path;
use std::process::Command;
use thiserror::Error;

pub type ProfiledCase = (VariantId, ShapeName);

/// A program that launches the kernels of cases in order, each inside its NVTX range.
pub trait Target {
    /// The command for these cases. Writes a job file if it needs one.
    fn command(&self, cases: &[ProfiledCase]) -> io::Result<Command>;
}

/// The contents of a report.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Contents {
    /// Launches of every case that has any.
    pub launches: BTreeMap<ProfiledCase, u32>,
    /// Maximum number of replay passes of a launch, if the report has it.
    pub passes: Option<u32>,
    /// Whether outputs are right, for every case that the launching program has reported.
    pub outputs: BTreeMap<ProfiledCase, ProfiledOutputs>,
}

pub trait ReportReader {
    /// The contents of `report` for `cases`, with the outputs that the program reported in `told` (its standard output); or why
    /// the report cannot be read.
    fn read(&self, report: &Path, told: &str, cases: &[ProfiledCase]) -> Result<Contents, String>;
}

/// The required number of launches of a case.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LaunchExpectation {
    /// A fixed number of evaluations of each variant, with exactly their launches.
    Exactly {
        /// Evaluations per case.
        repeats: u32,
        /// Launches per evaluation, for cases with more or fewer than one.
        launches: BTreeMap<ProfiledCase, u32>,
    },
    /// At least one: an external command launches as many as it needs.
    Some,
}

impl LaunchExpectation {
    /// `repeats` evaluations of variants with one launch each.
    pub fn exactly(repeats: u32) -> Self {
        Self::Exactly { repeats, launches: BTreeMap::new() }
    }

    /// Never 0: a case without a launch has no result.
    pub(super) fn least(&self, case: &ProfiledCase) -> u32 {
        self.count(case).unwrap_or(1).max(1)
    }

    pub(super) fn too_many(&self, case: &ProfiledCase, launches: u32) -> bool {
        self.count(case).is_some_and(|expected| launches > expected)
    }

    /// Number of whole cases among finished launches, which ran in the order of `cases`.
    pub(super) fn cases_in(&self, launches: usize, cases: &[ProfiledCase]) -> usize {
        let mut left = launches;
        let mut finished = 0;
        for case in cases {
            let needed = self.least(case) as usize;
            if needed > left {
                break;
            }
            left -= needed;
            finished += 1;
        }
        finished
    }

    /// Evaluations of a case whose outputs are compared.
    const fn evaluations(&self) -> u32 {
        match self {
            Self::Exactly { repeats, .. } => *repeats,
            Self::Some => 1,
        }
    }

    fn count(&self, case: &ProfiledCase) -> Option<u32> {
        match self {
            Self::Exactly { repeats, launches } => Some(repeats * launches.get(case).copied().unwrap_or(1)),
            Self::Some => None,
        }
    }
}

/// The cases of one program.
pub struct Subject<'a> {
    /// The cases, in launch order.
    pub cases: Vec<ProfiledCase>,
    pub target: &'a dyn Target,
    pub selection: LaunchSelection,
    pub processes: Processes,
    /// Launches per case.
    pub expect: LaunchExpectation,
}

impl Subject<'_> {
    /// Whether the outputs of a case are right, if all its evaluations are verified. An external command verifies its own
    /// outputs.
    pub fn outputs(&self, contents: &Contents, case: &ProfiledCase) -> Option<ProfiledOutputs> {
        match self.processes {
            Processes::All => Some(ProfiledOutputs::OfCommand),
            Processes::Application => contents.outputs.get(case).cloned().filter(|outputs| match outputs {
                ProfiledOutputs::Right { evaluations, .. } => *evaluations >= self.expect.evaluations().max(1),
                ProfiledOutputs::Wrong { .. } => true,
                ProfiledOutputs::OfCommand => false,
            }),
        }
    }
}

/// Cases that earlier sessions of the same run have profiled.
#[derive(Debug, Clone, Default)]
pub struct ProfiledMetrics(BTreeMap<ProfiledCase, BTreeSet<NcuMetric>>);

impl ProfiledMetrics {
    /// Reads the run's records. Failures, CUPTI's substitute records, and launches with unverified outputs do not count as
    /// covered: a continued run tries them again.
    pub fn by(records: &[ProfileRecord]) -> Self {
        let mut covered: BTreeMap<ProfiledCase, BTreeSet<NcuMetric>> = BTreeMap::new();
        for record in records {
            match record.outcome {
                ProfileOutcome::Profiled { .. } if record.outputs.is_some() => {
                    let case = (record.variant.clone(), record.shape.clone());
                    covered.entry(case).or_default().extend(record.metrics.iter().cloned());
                }
                ProfileOutcome::Profiled { .. } | ProfileOutcome::Failed { .. } | ProfileOutcome::Traced { .. } => {}
            }
        }
        Self(covered)
    }

    pub(super) fn holds(&self, case: &ProfiledCase, metrics: &[NcuMetric]) -> bool {
        self.0.get(case).is_some_and(|covered| metrics.iter().all(|metric| covered.contains(metric)))
    }
}

/// The result of profiling, apart from the records.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ProfilingSummary {
    /// The groups, with the passes they took.
    pub groups: Vec<Group>,
    /// Metrics that this chip or ncu does not know; no record has them.
    pub unknown: Vec<NcuMetric>,
    /// Number of ncu processes, including probes.
    pub starts: usize,
    /// Records of profiled cases.
    pub profiled: usize,
    /// Records of failed cases.
    pub failed: usize,
    /// Warnings for the reader.
    pub warnings: Vec<String>,
}

/// Why profiling ended early. Records that were passed on are kept.
#[derive(Debug, Error)]
pub enum ProfileError {
    /// Every variant would fail the same way.
    #[error(transparent)]
    Environment(NcuFailure),
    /// Nothing can be profiled, for an unclassified reason.
    #[error(transparent)]
    Unprofilable(TrialFailure),
    /// The user asked to stop.
    #[error("interrupted during profiling")]
    Interrupted,
    /// A record, a job file or a log cannot be written or read.
    #[error("cannot store a profile: {0}")]
    Io(#[from] io::Error),
}

/// Several variants were tried alone and none could be profiled.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("none of {tried} variants could be profiled alone: {reason}")]
pub struct TrialFailure {
    pub tried: usize,
    /// The last one's reason.
    pub reason: String,
}
