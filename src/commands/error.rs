//! Errors of commands, how they are printed, and their exit statuses.

use super::verbosity;
use crate::cli::replacement;
use crate::console::warn;
use crate::exit::Outcome;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use ncugate_campaign::search::{AttemptError, ChosenError, SearchError};
use ncugate_campaign::{BaseError, CalibrationError, CampaignError, LiveError, ProgramProfileError};
use ncugate_cuda::build::BuildError;
use ncugate_cuda::host::{InputArraysError, MeasureError, NullTestError, WorkError};
use ncugate_exchange::{ExportRefusal, PackageError, SlurmError};
use ncugate_judge::JudgeError;
use ncugate_judge::frame::export::ExportError;
use ncugate_judge::frame::launches::FrameError;
use ncugate_judge::kernel_ratchet::BaselineError;
use ncugate_judge::store::{MergeError, StoreError};
use ncugate_model::cubin::{CubinError, FatbinError};
use ncugate_phase::config::{ConfigErrors, UnknownGate};
use ncugate_phase::plan::PlanErrors;
use ncugate_report::compare::SideError;
use ncugate_report::show::ShowError;
use ncugate_report::{RenderError, WriteError};
use std::error::Error;
use std::io;
use std::path::PathBuf;

/// Errors of commands.
#[derive(Debug, thiserror::Error)]
pub enum CommandError {
    /// The phase's file is wrong.
    #[error("{}", .0.render(verbosity::colours_errors()))]
    Config(#[from] ConfigErrors),
    /// The phase cannot be unrolled.
    #[error("{}", .0.0.render(verbosity::colours_errors()))]
    Plan(#[from] PlanErrors),
    #[error(transparent)]
    Campaign(#[from] CampaignError),
    /// A run cannot be judged.
    #[error(transparent)]
    Judge(JudgeError),
    /// A run cannot be read or written.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// Shards cannot be merged.
    #[error(transparent)]
    Merge(#[from] MergeError),
    /// A phase cannot be measured on a cluster.
    #[error(transparent)]
    Slurm(#[from] SlurmError),
    /// nvcc cannot be used.
    #[error(transparent)]
    Build(#[from] BuildError),
    /// The worker cannot work.
    #[error(transparent)]
    Work(#[from] WorkError),
    /// Reports cannot be shown.
    #[error(transparent)]
    Show(#[from] ShowError),
    /// Something cannot be printed.
    #[error("cannot write to standard output: {0}")]
    Print(#[from] io::Error),
    /// A report's numbers cannot be converted to a frame.
    #[error(transparent)]
    Frame(#[from] FrameError),
    /// A table cannot be written.
    #[error(transparent)]
    Table(#[from] ExportError),
    /// A requested file cannot be written.
    #[error("cannot write {}: {source}", path.display())]
    Output {
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// A named file cannot be read.
    #[error("cannot read {}: {source}", path.display())]
    Input {
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// A built file cannot be inspected.
    #[error("{}: {source}", path.display())]
    Library { path: PathBuf, source: FatbinError },
    /// The kernels of a built file cannot be read.
    #[error("{}: {source}", path.display())]
    Kernels { path: PathBuf, source: CubinError },
    /// The baseline of a library cannot be read.
    #[error(transparent)]
    Baseline(#[from] BaselineError),
    /// A search cannot continue.
    #[error(transparent)]
    Search(SearchError),
    /// There is nothing to try.
    #[error(transparent)]
    Attempt(AttemptError),
    /// The candidates chosen by a search cannot be written into the phase.
    #[error(transparent)]
    Chosen(#[from] ChosenError),
    /// A report cannot be rendered.
    #[error(transparent)]
    Render(#[from] RenderError),
    /// A report cannot be written.
    #[error(transparent)]
    Write(#[from] WriteError),
    /// A report cannot be compared.
    #[error(transparent)]
    Compare(#[from] SideError),
    /// The machine's noise cannot be measured.
    #[error(transparent)]
    Calibration(CalibrationError),
    /// The tolerance proves nothing, or cannot be tested.
    #[error("in `workload`: {0}")]
    NullTest(#[from] NullTestError),
    /// Inputs cannot be generated.
    #[error("in `workload`: {0}")]
    Inputs(#[from] InputArraysError),
    /// The Python package has no result.
    #[error(transparent)]
    Package(#[from] PackageError),
    /// A run cannot be exported.
    #[error(transparent)]
    Export(#[from] ExportRefusal),
    /// The base cannot be measured.
    #[error(transparent)]
    Base(#[from] BaseError),
    /// A measurement ended early, and its records cannot be judged.
    #[error(transparent)]
    Unjudged(LiveError),
    /// A program was not profiled.
    #[error(transparent)]
    ProgramProfile(#[from] ProgramProfileError),
    /// The command line is wrong.
    #[error("{0}")]
    Usage(String),
}

impl From<JudgeError> for CommandError {
    fn from(error: JudgeError) -> Self {
        match error {
            JudgeError::Config(errors) => Self::Config(errors),
            JudgeError::Plan(errors) => Self::Plan(errors),
            JudgeError::Store(error) => Self::Store(error),
            JudgeError::Frame(error) => Self::Frame(error),
            other => Self::Judge(other),
        }
    }
}

impl From<UnknownGate> for CommandError {
    fn from(error: UnknownGate) -> Self {
        Self::Usage(error.to_string())
    }
}

impl From<LiveError> for CommandError {
    fn from(error: LiveError) -> Self {
        match error {
            LiveError::Campaign(error) => Self::Campaign(error),
            LiveError::Judge(error) => error.into(),
            LiveError::Store(error) => Self::Store(error),
            unjudged @ LiveError::Unjudged { .. } => Self::Unjudged(unjudged),
        }
    }
}

impl From<AttemptError> for CommandError {
    fn from(error: AttemptError) -> Self {
        match error {
            AttemptError::Config(errors) => Self::Config(errors),
            other @ AttemptError::Form(_) => Self::Attempt(other),
        }
    }
}

impl From<SearchError> for CommandError {
    fn from(error: SearchError) -> Self {
        match error {
            SearchError::Campaign(error) => Self::Campaign(error),
            SearchError::Plan(errors) => Self::Plan(errors),
            SearchError::Store(error) => Self::Store(error),
            other @ (SearchError::Empty | SearchError::Objective(_)) => Self::Search(other),
        }
    }
}

impl From<CalibrationError> for CommandError {
    fn from(error: CalibrationError) -> Self {
        match error {
            CalibrationError::Campaign(error) => Self::Campaign(error),
            CalibrationError::Store(error) => Self::Store(error),
            other @ CalibrationError::Untimed(_) => Self::Calibration(other),
        }
    }
}

impl CommandError {
    /// The exit status.
    pub fn outcome(&self) -> Outcome {
        match self {
            Self::Config(_) | Self::Plan(_) | Self::Usage(_) => Outcome::Usage,
            Self::NullTest(_) | Self::Inputs(_) | Self::Baseline(_) => Outcome::Usage,
            Self::ProgramProfile(ProgramProfileError::Metric(_)) => Outcome::Usage,
            Self::Search(_) | Self::Chosen(_) | Self::Attempt(_) => Outcome::Usage,
            Self::Build(BuildError::Arch { .. } | BuildError::PythonImport { .. }) => Outcome::Usage,
            Self::Campaign(CampaignError::Build(BuildError::PythonImport { .. })) => Outcome::Usage,
            Self::Judge(JudgeError::NotFound(_) | JudgeError::Overlap(_)) => Outcome::Usage,
            Self::Campaign(CampaignError::Job(_) | CampaignError::Measure(MeasureError::Refused { .. })) => {
                Outcome::Usage
            }
            Self::Store(StoreError::Destination { .. } | StoreError::Occupied { .. }) => Outcome::Usage,
            Self::Show(error) if error.is_usage() => Outcome::Usage,
            Self::Compare(SideError::NoLaunch { .. }) => Outcome::Usage,
            Self::Package(PackageError::Refused { status: Some(2), .. }) => Outcome::Usage,
            Self::Base(BaseError::NoRepository { .. } | BaseError::NoCommit { .. }) => Outcome::Usage,
            Self::Campaign(_)
            | Self::Judge(_)
            | Self::Store(_)
            | Self::Merge(_)
            | Self::Slurm(_)
            | Self::Package(_)
            | Self::Build(_)
            | Self::Work(_)
            | Self::Print(_)
            | Self::Show(_)
            | Self::Frame(_)
            | Self::Table(_)
            | Self::Output { .. }
            | Self::Input { .. }
            | Self::Library { .. }
            | Self::Kernels { .. }
            | Self::Render(_)
            | Self::Write(_)
            | Self::Compare(_)
            | Self::Export(_)
            | Self::Base(_)
            | Self::ProgramProfile(_)
            | Self::Unjudged(_)
            | Self::Calibration(_) => Outcome::Environment,
        }
    }
}

/// Prints an error and its causes on standard error, once; returns its outcome.
pub fn report_error(error: &CommandError) -> Outcome {
    let mut text = match error {
        // Already rendered, each with its place in the file.
        CommandError::Config(_) | CommandError::Plan(_) => error.to_string(),
        _ => format!("error: {error}"),
    };
    let mut cause = error.source();
    while let Some(next) = cause {
        let said = next.to_string();
        if !text.contains(&said) {
            text.push_str(&format!("\n  cause: {said}"));
        }
        cause = next.source();
    }
    warn(text.trim_end());
    error.outcome()
}

/// Prints the error of a command line, or the requested help; returns the outcome.
pub fn report_usage(error: &clap::Error) -> Outcome {
    if !error.use_stderr() {
        // Help and the version are texts of this program.
        let _ = error.print();
        return Outcome::Passed;
    }
    let text = error.render();
    verbosity::settle();
    let mut text = if verbosity::colours_errors() { text.ansi().to_string() } else { text.to_string() };
    if let Some(variant) = variant_of_explain(error) {
        text = format!("{}\nhint: `--variant {variant}` explains that variant", text.trim_end());
    }
    if let Some(instead) = replacement(error) {
        text = format!("{}\nhint: it was removed; use {instead}", text.trim_end());
    }
    warn(text.trim_end());
    Outcome::Usage
}

/// The second word of `ncugate explain RUN VARIANT`, if that is the error.
fn variant_of_explain(error: &clap::Error) -> Option<&str> {
    let is_explain = matches!(error.get(ContextKind::Usage), Some(ContextValue::StyledStr(usage)) if usage.to_string().contains("ncugate explain "));
    match error.get(ContextKind::InvalidArg) {
        Some(ContextValue::String(word)) if error.kind() == ErrorKind::UnknownArgument && is_explain => {
            (!word.starts_with('-')).then_some(word)
        }
        _ => None,
    }
}
