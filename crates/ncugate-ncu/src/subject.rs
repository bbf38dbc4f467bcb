//! What is profiled, how its reports are verified, and how profiling can end.

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

/// A program that launches the kernels of cases, in their order, each inside its NVTX range.
pub trait Target {
    /// The command for these cases; writes whatever job file it needs.
    fn command(&self, cases: &[ProfiledCase]) -> io::Result<Command>;
}

/// What a report holds.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Contents {
    /// Launches of every case that has some.
    pub launches: BTreeMap<ProfiledCase, u32>,
    /// Most replay passes that a launch took, when the report says.
    pub passes: Option<u32>,
    /// Whether outputs are right, of every case of which the program that launches has said so.
    pub outputs: BTreeMap<ProfiledCase, ProfiledOutputs>,
}

pub trait ReportReader {
    /// What `report` holds of `cases`, and what the program `told` of their outputs on standard output; or why the report cannot be read.
    fn read(&self, report: &Path, told: &str, cases: &[ProfiledCase]) -> Result<Contents, String>;
}

/// How many launches a case has to have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LaunchExpectation {
    /// So many evaluations of each variant, whose launches are neither more nor fewer.
    Exactly {
        /// Evaluations a case.
        repeats: u32,
        /// Launches of one evaluation, of variants with another number than one.
        launches: BTreeMap<VariantId, u32>,
    },
    /// At least one: an external command launches what it needs.
    Some,
}

impl LaunchExpectation {
    /// So many evaluations of variants that are a launch each.
    pub fn exactly(repeats: u32) -> Self {
        Self::Exactly { repeats, launches: BTreeMap::new() }
    }

    /// Never 0: a case without a launch is a case without a result.
    pub(super) fn least(&self, case: &ProfiledCase) -> u32 {
        self.count(case).unwrap_or(1).max(1)
    }

    pub(super) fn too_many(&self, case: &ProfiledCase, launches: u32) -> bool {
        self.count(case).is_some_and(|expected| launches > expected)
    }

    /// Launches that finished, in whole cases of these, which were launched in order.
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
            Self::Exactly { repeats, launches } => Some(repeats * launches.get(&case.0).copied().unwrap_or(1)),
            Self::Some => None,
        }
    }
}

/// Cases of one program.
pub struct Subject<'a> {
    /// The cases, in the order they are launched.
    pub cases: Vec<ProfiledCase>,
    pub target: &'a dyn Target,
    pub selection: LaunchSelection,
    pub processes: Processes,
    /// Launches a case.
    pub expect: LaunchExpectation,
}

impl Subject<'_> {
    /// Whether the outputs of a case are right, once that is known of all its evaluations. An external command checks its own.
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

/// What earlier sessions of the same run have profiled.
#[derive(Debug, Clone, Default)]
pub struct ProfiledMetrics(BTreeMap<ProfiledCase, BTreeSet<NcuMetric>>);

impl ProfiledMetrics {
    /// From the run's records. Failures, what CUPTI stands in for, and launches whose outputs were not compared are not covered: they are
    /// tried again when a run goes on.
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

/// What profiling came to, beside the records.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ProfilingSummary {
    /// The groups, with the passes they took.
    pub groups: Vec<Group>,
    /// Metrics that this chip or ncu does not know; nothing has them.
    pub unknown: Vec<NcuMetric>,
    /// ncu processes, probes among them.
    pub starts: usize,
    /// Records of profiled cases.
    pub profiled: usize,
    /// Records of failed cases.
    pub failed: usize,
    /// What the reader should know.
    pub warnings: Vec<String>,
}

/// Why profiling ended early. Records that were handed over stay.
#[derive(Debug, Error)]
pub enum ProfileError {
    /// Every variant would fail the same way.
    #[error(transparent)]
    Environment(NcuFailure),
    /// Nothing can be profiled, for a reason that has no name.
    #[error(transparent)]
    Unprofilable(TrialFailure),
    /// The user asked to stop.
    #[error("interrupted while profiling")]
    Interrupted,
    /// A record, a job file or a log cannot be written or read.
    #[error("cannot keep what was profiled: {0}")]
    Io(#[from] io::Error),
}

/// Several variants were tried alone and none could be profiled.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("none of {tried} variants that were tried alone could be profiled: {reason}")]
pub struct TrialFailure {
    pub tried: usize,
    /// Why the last one could not.
    pub reason: String,
}
