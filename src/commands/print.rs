//! Prints a report to standard output, and to the files of a CI system.

use super::progress::Verbosity;
use super::{CommandError, verbosity};
use crate::cli::OutputFormat;
use crate::console::{Output, warn};
use ncugate_model::number::text::escaped_json;
use ncugate_report::document::{Document, DocumentBlock, terminal, terminal_blocks};
use ncugate_report::terminal::{self, Screen, quiet};
use ncugate_report::{RunReport, github, json};
use serde::Serialize;
use std::fs::OpenOptions;
use std::io::{self, IsTerminal, Write};
use std::path::Path;

/// Prints a report that was written to `page`; on GitHub also its annotations and summary.
pub fn report(report: &RunReport, page: &Path, format: OutputFormat, out: &mut Output) -> Result<(), CommandError> {
    if format == OutputFormat::Text && verbosity::volume() != Verbosity::Quiet {
        if let Some(unasked) = &report.source.unasked {
            writeln!(out, "not measured: {unasked}\n")?;
        }
        if std::env::var_os("GITHUB_ACTIONS").is_some_and(|value| value == "true") {
            write!(out.machine(), "{}", github::annotations(report)?)?;
        }
        writeln!(out, "report: {}\n", page.display())?;
    }
    result(report, format, out)?;
    if let Some(path) = std::env::var_os("GITHUB_STEP_SUMMARY") {
        let summary = github::summary(report)?;
        let file = OpenOptions::new().create(true).append(true).open(&path);
        let written = file.and_then(|mut file| writeln!(file, "{summary}"));
        if let Err(error) = written {
            // The verdict is the answer, and the report's files are written.
            warn(&format!("cannot write {}: {error}; the job has no summary", Path::new(&path).display()));
        }
    }
    Ok(())
}

/// Prints the results of a run.
pub fn result(report: &RunReport, format: OutputFormat, out: &mut Output) -> Result<(), CommandError> {
    match format {
        OutputFormat::Json => write!(out.machine(), "{}", json::json(report)?)?,
        OutputFormat::Text if verbosity::volume() == Verbosity::Quiet => write!(out, "{}", quiet(report, screen()))?,
        OutputFormat::Text => write!(out, "{}", terminal::terminal(report, screen())?)?,
    }
    Ok(())
}

/// Prints a value as JSON, or its document.
pub fn value(
    value: &impl Serialize,
    answer: impl FnOnce() -> Document,
    format: OutputFormat,
    out: &mut Output,
) -> Result<(), CommandError> {
    match format {
        OutputFormat::Json => json(value, out),
        OutputFormat::Text => document(&answer(), out),
    }
}

pub fn document(document: &Document, out: &mut Output) -> Result<(), CommandError> {
    Ok(write!(out, "{}", terminal(document, Some(columns())))?)
}

/// Blocks in lines of any length if the output is not a terminal.
pub fn blocks(blocks: &[DocumentBlock], out: &mut Output) -> Result<(), CommandError> {
    Ok(write!(out, "{}", terminal_blocks(blocks, terminal_columns()))?)
}

pub fn json(value: &impl Serialize, out: &mut Output) -> Result<(), CommandError> {
    json_text(&serde_json::to_string_pretty(value).map_err(io::Error::from)?, out)
}

/// Prints JSON text, with characters escaped that a terminal or a CI runner would interpret.
pub fn json_text(text: &str, out: &mut Output) -> Result<(), CommandError> {
    Ok(writeln!(out.machine(), "{}", escaped_json(text))?)
}

/// Columns if standard output is not a terminal.
const COLUMNS: usize = 100;
/// Maximum number of columns: longer lines are hard to read.
const WIDEST: usize = 200;

/// Columns to wrap text at.
pub fn columns() -> usize {
    terminal_columns().unwrap_or(COLUMNS)
}

/// Columns of the terminal, by `COLUMNS` or by the terminal itself; none if the output is not a terminal.
pub fn terminal_columns() -> Option<usize> {
    let asked = || terminal_size::terminal_size().map(|(width, _)| usize::from(width.0));
    let measured = || io::stdout().is_terminal().then(asked).flatten().filter(|columns| *columns > 0);
    let said = std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok()).filter(|columns| *columns > 0);
    said.or_else(measured).map(|columns: usize| columns.min(WIDEST))
}

fn screen() -> Screen {
    Screen { columns: columns(), colours: verbosity::output() }
}
