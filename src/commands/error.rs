//! Errors of commands, how they are printed, and their exit statuses.

use super::verbosity;
use crate::cli::replacement;
use crate::console::warn;
use crate::exit::Outcome;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use ncu_explain::KernelsError;
use ncugate_campaign::search::{AttemptError, ChosenError, SearchError};
use ncugate_campaign::{BaseError, CalibrationError, CampaignError, LiveError, ProgramProfileError};
use ncugate_capture::CaptureError;
use ncugate_cuda::build::BuildError;
use ncugate_cuda::host::{InputArraysError, MeasureError, NullTestError, WorkError};
use ncugate_exchange::{ExportRefusal, PackageError, SlurmError};
use ncugate_judge::JudgeError;
use ncugate_judge::frame::export::ExportError;
use ncugate_judge::frame::launches::FrameError;
use ncugate_judge::kernel_ratchet::BaselineError;
use ncugate_judge::store::{MergeError, StoreError};
use ncugate_phase::config::{ConfigErrors, UnknownGate};
use ncugate_phase::plan::PlanErrors;
use ncugate_report::show::ShowError;
use ncugate_report::{RenderError, WriteError};
use std::error::Error;
use std::io;
use std::path::{Path, PathBuf};

/// Errors of commands.
#[derive(Debug, thiserror::Error)]
pub enum CommandError {
    /// The phase's file is wrong.
    #[error("{}", .0.render(verbosity::colours_errors()))]
    Config(#[from] ConfigErrors),
    /// The phase cannot be unrolled.
    #[error("{}", .0.0.render(verbosity::colours_errors()))]
    Plan(#[from] PlanErrors),
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
    /// The command line is wrong.
    #[error("{0}")]
    Usage(String),
    /// A crate failed; the message names the thing.
    #[error("{what}{error}")]
    Failure { outcome: Outcome, what: String, error: Box<dyn Error> },
}

/// Declares which outcome each error of a crate has.
macro_rules! outcomes {
    ($($error:ty, $what:literal: $outcome:expr;)*) => {$(
        impl From<$error> for CommandError {
            fn from(error: $error) -> Self {
                let outcome: fn(&$error) -> Outcome = $outcome;
                Self::Failure { outcome: outcome(&error), what: $what.to_owned(), error: Box::new(error) }
            }
        }
    )*};
}

outcomes! {
    CampaignError, "": |error| match error {
        CampaignError::Build(BuildError::PythonImport { .. })
        | CampaignError::Job(_)
        | CampaignError::Measure(MeasureError::Refused { .. }) => Outcome::Usage,
        _ => Outcome::Environment,
    };
    StoreError, "": |error| match error {
        StoreError::Destination { .. } | StoreError::Occupied { .. } => Outcome::Usage,
        _ => Outcome::Environment,
    };
    BuildError, "": |error| match error {
        BuildError::Arch { .. } | BuildError::PythonImport { .. } => Outcome::Usage,
        _ => Outcome::Environment,
    };
    ShowError, "": |error| if error.is_usage() { Outcome::Usage } else { Outcome::Environment };
    KernelsError, "": |error| match error {
        KernelsError::NoLaunch { .. } => Outcome::Usage,
        _ => Outcome::Environment,
    };
    PackageError, "": |error| match error {
        PackageError::Refused { status: Some(2), .. } => Outcome::Usage,
        PackageError::Refused { .. } | PackageError::Python { .. } => Outcome::Environment,
    };
    BaseError, "": |error| match error {
        BaseError::NoRepository { .. } | BaseError::NoCommit { .. } => Outcome::Usage,
        _ => Outcome::Environment,
    };
    ProgramProfileError, "": |error| match error {
        ProgramProfileError::Metric(_) => Outcome::Usage,
        _ => Outcome::Environment,
    };
    CaptureError, "": |error| if error.is_usage() { Outcome::Usage } else { Outcome::Environment };
    BaselineError, "": |_| Outcome::Usage;
    ChosenError, "": |_| Outcome::Usage;
    UnknownGate, "": |_| Outcome::Usage;
    NullTestError, "in `workload`: ": |_| Outcome::Usage;
    InputArraysError, "in `workload`: ": |_| Outcome::Usage;
    io::Error, "cannot write to standard output: ": |_| Outcome::Environment;
    MergeError, "": |_| Outcome::Environment;
    SlurmError, "": |_| Outcome::Environment;
    WorkError, "": |_| Outcome::Environment;
    FrameError, "": |_| Outcome::Environment;
    ExportError, "": |_| Outcome::Environment;
    ExportRefusal, "": |_| Outcome::Environment;
    RenderError, "": |_| Outcome::Environment;
    WriteError, "": |_| Outcome::Environment;
}

/// Declares the parts of an error that are errors with their own outcomes, and what the others are.
macro_rules! delegated {
    ($($error:ident { $($part:ident),+ }: $others:expr;)*) => {$(
        impl From<$error> for CommandError {
            fn from(error: $error) -> Self {
                match error {
                    $($error::$part(part) => part.into(),)+
                    other => $others(other),
                }
            }
        }
    )*};
}

delegated! {
    JudgeError { Config, Plan, Store }: |error| match error {
        JudgeError::NotFound(_) | JudgeError::Overlap(_) => Self::usage(error),
        other => Self::environment(other),
    };
    LiveError { Campaign, Judge, Store, Merge }: Self::environment;
    AttemptError { Config }: Self::usage;
    SearchError { Campaign, Plan, Store }: Self::usage;
    CalibrationError { Campaign, Store }: Self::environment;
}

impl CommandError {
    fn usage(error: impl Error) -> Self {
        Self::Usage(error.to_string())
    }

    fn environment(error: impl Error + 'static) -> Self {
        Self::Failure { outcome: Outcome::Environment, what: String::new(), error: Box::new(error) }
    }

    /// The error of a named file.
    pub fn of_file(path: &Path, error: impl Error + 'static) -> Self {
        let what = format!("{}: ", path.display());
        Self::Failure { outcome: Outcome::Environment, what, error: Box::new(error) }
    }

    /// The exit status.
    pub const fn outcome(&self) -> Outcome {
        match self {
            Self::Config(_) | Self::Plan(_) | Self::Usage(_) => Outcome::Usage,
            Self::Output { .. } | Self::Input { .. } => Outcome::Environment,
            Self::Failure { outcome, .. } => *outcome,
        }
    }
}

/// Refuses a command line.
///
/// # Errors
/// The reason, if it is wrong.
pub fn refuse(is_wrong: bool, why: &str) -> Result<(), CommandError> {
    if is_wrong { Err(CommandError::Usage(why.to_owned())) } else { Ok(()) }
}

/// Prints an error and its causes on standard error, once; returns its outcome.
pub fn report_error(error: &CommandError) -> Outcome {
    let mut text = match error {
        // Already rendered, each with its place in the file.
        CommandError::Config(_) | CommandError::Plan(_) => error.to_string(),
        _ => format!("error: {error}"),
    };
    let mut cause = match error {
        CommandError::Failure { error, .. } => error.source(),
        other => other.source(),
    };
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
