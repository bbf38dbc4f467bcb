//! `ncugate` builds every variant of a CUDA kernel in a phase, verifies it, times it undisturbed, profiles it under Nsight
//! Compute, judges the phase's gates and renders reports.
//!
//! Measuring writes a run, a folder of records and ncu reports. Judging only reads it, so the same code judges and renders a
//! stored run on any machine. This crate is the public interface of that half:
//!
//! - [`read_report`]: an ncu report as two polars frames; needs neither ncu nor a GPU,
//! - [`load_run`]: a run or a recording with its phase,
//! - [`judge()`]: its verdicts,
//! - [`render`]: its report, as a page, Markdown, JSON or JUnit.
//!
//! The rest is public only for the program and its tests, and changes without notice.

#![warn(missing_docs)]

#[doc(hidden)]
pub mod cli;
#[doc(hidden)]
pub mod commands;
#[doc(hidden)]
pub mod console;
pub mod exit;
#[doc(hidden)]
pub mod invocation;

pub use ncugate_judge::frame::launches::LaunchFrames;
pub use ncugate_judge::{JudgedRun, Judgement, PhaseRun};
pub use ncugate_model::Verdict;

use jiff::Timestamp;
use jiff::civil::Date;
use ncu_rep::MetricSelection;
use ncugate_judge::JudgeError;
use ncugate_judge::frame::launches::FrameError;
use ncugate_judge::store::{StoreError, open_report};
use ncugate_report::{self as report, RenderError, html, json, junit, markdown};
use std::path::Path;

/// Why a report or a run could not be read, judged or rendered.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// An ncu report cannot be opened.
    #[error(transparent)]
    Open(#[from] StoreError),
    /// An ncu report is damaged.
    #[error(transparent)]
    Decode(#[from] FrameError),
    /// A run cannot be read or judged.
    #[error(transparent)]
    Judge(#[from] JudgeError),
    /// A report cannot be rendered.
    #[error(transparent)]
    Render(#[from] RenderError),
}

/// Formats of a report.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rendering {
    /// One self-contained HTML page.
    Html,
    /// Tables for a merge request.
    Markdown,
    /// The results; `schema/results.schema.json` describes them.
    Json,
    /// JUnit XML with one test case per gate.
    Junit,
}

/// An ncu report (`.ncu-rep`, `.ncu-repz`) as two polars frames in base units: one row per launch, and one row per launch and
/// metric.
///
/// ```
/// let frames = ncugate::read_report("tests/data/full1.ncu-rep.zst".as_ref())?;
/// assert_eq!(frames.launches.height(), 1);
/// assert!(frames.metrics.height() > 1000);
/// # Ok::<(), ncugate::Error>(())
/// ```
///
/// # Errors
/// The file is not a report, or it is damaged.
pub fn read_report(path: &Path) -> Result<LaunchFrames, Error> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    Ok(LaunchFrames::of_report(&name, &open_report(path)?, MetricSelection::All)?)
}

/// A run (`profiles/<phase>/<run>/`) or a recording, with its phase.
///
/// ```
/// let run = ncugate::load_run("profiles/phase_d/h200".as_ref())?;
/// assert_eq!(run.phase.name, "phase_d");
/// assert_eq!(run.plan.variants.len(), run.run.builds.len());
/// # Ok::<(), ncugate::Error>(())
/// ```
///
/// # Errors
/// The folder is not a run, or its phase cannot be read.
pub fn load_run(folder: &Path) -> Result<PhaseRun, Error> {
    Ok(PhaseRun::load(folder)?)
}

/// The current day in UTC.
pub fn today() -> Date {
    invocation::day(Timestamp::now())
}

/// Decodes a run's reports and judges it by the gates of its phase; `today` decides which waivers hold. Requirements that name `best` or `previous` find them
/// in the run's parent folder.
///
/// ```
/// use ncugate::Verdict;
///
/// let run = ncugate::load_run("profiles/phase_d/h200".as_ref())?;
/// let session = ncugate::judge(&run, ncugate::today())?;
/// let judgement = session.judgement();
/// assert_eq!(judgement.verdict, Verdict::Fail);
/// assert!(judgement.gates.iter().any(|gate| gate.verdict == Verdict::Fail), "{}", judgement.reason);
/// # Ok::<(), ncugate::Error>(())
/// ```
///
/// # Errors
/// A report of the run cannot be read or is damaged.
pub fn judge(run: &PhaseRun, today: Date) -> Result<JudgedRun<'_>, Error> {
    Ok(JudgedRun::of_stored(run, today)?)
}

/// The report of a judged run. The same run renders to the same bytes on any day.
///
/// ```
/// use ncugate::Rendering;
///
/// let run = ncugate::load_run("profiles/phase_d/h200".as_ref())?;
/// let session = ncugate::judge(&run, ncugate::today())?;
/// let page = ncugate::render(&session, Rendering::Html)?;
/// assert!(page.starts_with("<!doctype html>") || page.starts_with("<!DOCTYPE html>"));
/// assert!(ncugate::render(&session, Rendering::Markdown)?.contains(&run.phase.title));
/// # Ok::<(), ncugate::Error>(())
/// ```
///
/// # Errors
/// A report of the run is damaged, or a template or chart fails.
pub fn render(session: &JudgedRun<'_>, rendering: Rendering) -> Result<String, Error> {
    let folder = session.measurements().run().folder.display().to_string();
    let report = report::assemble(session, report::RunSource::Recorded { folder }, None)?;
    Ok(match rendering {
        Rendering::Html => html::html(&report)?,
        Rendering::Markdown => markdown::markdown(&report)?,
        Rendering::Json => json::json(&report)?,
        Rendering::Junit => junit::junit(&report)?,
    })
}
