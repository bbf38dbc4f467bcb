//! A report on standard output, and where a CI system takes it from.

use super::CommandError;
use crate::cli::OutputFormat;
use crate::report::terminal::{Colours, Screen, terminal};
use crate::report::{Report, github, json};
use std::fs::OpenOptions;
use std::io::{self, IsTerminal, Write};
use std::path::Path;

/// Prints a report; on GitHub also its annotations and summary.
pub fn report(report: &Report, page: &Path, format: OutputFormat, out: &mut dyn Write) -> Result<(), CommandError> {
    match format {
        OutputFormat::Json => writeln!(out, "{}", json::json(report)?)?,
        OutputFormat::Text => {
            if let Some(unasked) = &report.source.unasked {
                writeln!(out, "not measured: {unasked}\n")?;
            }
            if std::env::var_os("GITHUB_ACTIONS").is_some() {
                write!(out, "{}", github::annotations(report)?)?;
            }
            writeln!(out, "report: {}\n", page.display())?;
            write!(out, "{}", terminal(report, screen())?)?;
        }
    }
    if let Some(path) = std::env::var_os("GITHUB_STEP_SUMMARY") {
        let mut file = OpenOptions::new().create(true).append(true).open(path)?;
        writeln!(file, "{}", github::summary(report)?)?;
    }
    Ok(())
}

/// Columns where standard output is not a terminal.
const COLUMNS: usize = 100;
/// Most columns of a terminal that are used: longer lines are not read.
const WIDEST: usize = 200;

/// Columns of the terminal: as `COLUMNS` says, else as the terminal does.
pub fn columns() -> usize {
    let asked = || terminal_size::terminal_size().map(|(width, _)| usize::from(width.0));
    let measured = || io::stdout().is_terminal().then(asked).flatten().filter(|columns| *columns > 0);
    let said = std::env::var("COLUMNS").ok().and_then(|c| c.parse().ok());
    said.or_else(measured).map_or(COLUMNS, |columns| columns.min(WIDEST))
}

fn screen() -> Screen {
    let coloured = io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none();
    Screen { columns: columns(), colours: if coloured { Colours::Ansi } else { Colours::Plain } }
}
