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

/// Columns of the terminal, as it says.
pub fn columns() -> usize {
    std::env::var("COLUMNS").ok().and_then(|c| c.parse().ok()).unwrap_or(100)
}

fn screen() -> Screen {
    let coloured = io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none();
    Screen { columns: columns(), colours: if coloured { Colours::Ansi } else { Colours::Plain } }
}
