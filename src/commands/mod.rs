//! One file a subcommand: wiring, no logic.

mod against;
mod baseline;
mod calibrate;
mod check;
mod clock;
mod closely;
mod compare;
pub mod doctor;
mod index;
mod judge;
mod open;
mod record;
mod redact;
mod reports;
mod run;
pub mod show;
mod table;

use crate::bench;
use crate::build::{BuildError, Nvcc};
use crate::campaign::{self, CampaignError};
use crate::cli::{Cli, Command, SchemaArgs, WorkerArgs};
use crate::config::{self, ConfigErrors};
use crate::exit::Outcome;
use crate::frame::export::ExportError;
use crate::frame::launches::FrameError;
use crate::ncu::Ncu;
use crate::ncu::preflight::{CompilerFacts, DeviceFacts, Facts};
use crate::plan::PlanErrors;
use crate::report::compare::SideError;
use crate::report::{RenderError, WriteError, json};
use crate::store::StoreError;
use show::{ShowArgs, ShowError};
use std::error::Error;
use std::io::{self, IsTerminal, Write};
use std::path::PathBuf;

/// Why a command could not do what it was asked.
#[derive(Debug, thiserror::Error)]
pub enum CommandError {
    /// The phase's file is wrong.
    #[error("{}", .0.render(io::stderr().is_terminal()))]
    Config(#[from] ConfigErrors),
    /// The phase cannot be unrolled.
    #[error("{}", .0.0.render(io::stderr().is_terminal()))]
    Plan(#[from] PlanErrors),
    /// Measuring ended early.
    #[error(transparent)]
    Campaign(#[from] CampaignError),
    /// A run cannot be read or written.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// nvcc cannot be used.
    #[error(transparent)]
    Build(#[from] BuildError),
    /// The worker cannot work.
    #[error(transparent)]
    Work(#[from] bench::WorkError),
    /// Reports cannot be shown.
    #[error(transparent)]
    Show(#[from] ShowError),
    /// Something cannot be printed.
    #[error("cannot write to standard output: {0}")]
    Print(#[from] io::Error),
    /// A report's numbers cannot be made into a frame.
    #[error(transparent)]
    Frame(#[from] FrameError),
    /// A table cannot be written.
    #[error(transparent)]
    Table(#[from] ExportError),
    /// A report cannot be rendered.
    #[error(transparent)]
    Render(#[from] RenderError),
    /// A report cannot be written.
    #[error(transparent)]
    Write(#[from] WriteError),
    /// A report cannot be compared.
    #[error(transparent)]
    Compare(#[from] SideError),
    /// A recording does not hold what the phase asks for.
    #[error("the recording in {} does not hold what the phase asks for; it has:{}\nmeasure again on a GPU, then keep the run with `ncugate record`", folder.display(), lacks.iter().map(|l| format!("\n  {l}")).collect::<String>())]
    Recording {
        /// Its folder.
        folder: PathBuf,
        /// What it lacks.
        lacks: Vec<String>,
    },
    /// Two measurements cannot be compared.
    #[error("cannot compare with {label}:{}\nmeasure both alike, or compare all the same with --allow-mismatch", differences.iter().map(|d| format!("\n  {d}")).collect::<String>())]
    Unlike {
        /// What it would be compared with.
        label: String,
        /// In what they differ.
        differences: Vec<String>,
    },
    /// A stored run has nothing that others can be compared with.
    #[error("nothing can be compared with the run in {}: {reason}", folder.display())]
    NoStanding {
        /// Its folder.
        folder: PathBuf,
        /// Why.
        reason: String,
    },
    /// The machine's noise cannot be told.
    #[error("cannot calibrate: {reason}")]
    Calibration {
        /// Why.
        reason: String,
    },
    /// The command line asks for what cannot be.
    #[error("{0}")]
    Usage(String),
}

impl CommandError {
    /// The exit status it means.
    pub fn outcome(&self) -> Outcome {
        match self {
            Self::Config(_) | Self::Plan(_) | Self::Usage(_) | Self::Build(BuildError::Arch { .. }) => Outcome::Usage,
            Self::Campaign(CampaignError::Job(_)) => Outcome::Usage,
            Self::Show(error) if error.is_usage() => Outcome::Usage,
            Self::Campaign(_)
            | Self::Store(_)
            | Self::Build(_)
            | Self::Work(_)
            | Self::Print(_)
            | Self::Show(_)
            | Self::Frame(_)
            | Self::Table(_)
            | Self::Render(_)
            | Self::Write(_)
            | Self::Compare(_)
            | Self::Recording { .. }
            | Self::Unlike { .. }
            | Self::Calibration { .. }
            | Self::NoStanding { .. } => Outcome::Environment,
        }
    }
}

/// Does what the command line asks.
pub fn dispatch(cli: &Cli) -> Result<Outcome, CommandError> {
    let mut out = io::stdout().lock();
    match &cli.command {
        Command::Run(args) => run::run(args, &mut out),
        Command::Check(args) => check::check(args, &mut out),
        Command::Doctor => doctor_command(&mut out),
        Command::Record(args) => record::record(args, &mut out),
        Command::Redact(args) => redact::redact(args, &mut out),
        Command::Baseline(command) => baseline::baseline(command, &mut out),
        Command::Calibrate(args) => calibrate::calibrate(args, &mut out),
        Command::Schema(args) => schema(args, &mut out),
        Command::Show(args) => show_command(args, &mut out),
        Command::Gate(args) => judge::gate(args, &mut out),
        Command::Table(args) => table::table(args, &mut out),
        Command::Report(args) => judge::report(args, &mut out),
        Command::Index(args) => index::index(args, &mut out),
        Command::Compare(args) => compare::compare(args, &mut out),
        Command::Worker(args) => {
            drop(out);
            worker(args)
        }
    }
}

/// Columns of the terminal, as it says.
fn columns() -> usize {
    std::env::var("COLUMNS").ok().and_then(|c| c.parse().ok()).unwrap_or(100)
}

/// Prints an error and what caused it on standard error, once; gives the status it means.
pub fn report_error(error: &CommandError) -> Outcome {
    if matches!(error, CommandError::Print(e) if e.kind() == io::ErrorKind::BrokenPipe) {
        return error.outcome(); // whoever read the output has gone
    }
    let mut text = match error {
        // Rendered whole, each with its place in the file.
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
    // Standard error may be closed; there is nowhere left to say so.
    let _ = writeln!(io::stderr(), "{}", text.trim_end());
    error.outcome()
}

fn worker(args: &WorkerArgs) -> Result<Outcome, CommandError> {
    match &args.job {
        Some(job) if !args.probe => bench::work(job)?,
        Some(_) | None => bench::report_device(0)?,
    }
    Ok(Outcome::Passed)
}

fn schema(args: &SchemaArgs, out: &mut dyn Write) -> Result<Outcome, CommandError> {
    if args.results {
        write!(out, "{}", json::schema()?)?;
    } else {
        writeln!(out, "{:#}", config::schema())?;
    }
    Ok(Outcome::Passed)
}

fn show_command(args: &ShowArgs, out: &mut dyn Write) -> Result<Outcome, CommandError> {
    show::show(args, out)?;
    Ok(Outcome::Passed)
}

fn doctor_command(out: &mut dyn Write) -> Result<Outcome, CommandError> {
    let device = match campaign::device() {
        Ok(Ok(facts)) => Ok(DeviceFacts { gpu: campaign::gpu(&facts), count: 1, cuda: facts.cuda }),
        Ok(Err(reason)) => Err(reason),
        Err(error) => Err(error.to_string()),
    };
    let nvcc = Nvcc::find(None)
        .map(|nvcc| CompilerFacts { path: nvcc.path().to_owned(), version: nvcc.version().to_owned() })
        .map_err(|e| e.to_string());
    Ok(doctor::run(&Facts::gather(device, nvcc, Ncu::find(None)), out)?)
}
