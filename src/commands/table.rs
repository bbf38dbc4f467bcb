//! `ncugate table`: everything that a run measured, as one table.

use super::CommandError;
use crate::cli::{DispatchTo, TableArgs, TableTo};
use crate::console::{Output, warn};
use crate::exit::Outcome;
use jiff::civil::Date;
use ncugate_judge::frame::export::ExportError;
use ncugate_judge::frame::{TableFormat, run_table, write_table};
use ncugate_judge::{JudgedRun, PhaseRun};
use ncugate_model::Verdict;
use ncugate_model::disk::{Durability, replace_with};
use ncugate_report::dispatch::{DispatchFormat, dispatch};
use ncugate_report::write::replace;
use ncugate_report::{RunSource, assemble};
use std::io::{IsTerminal, Write, stdout};

/// Writes the table of a stored run.
pub fn table(args: &TableArgs, today: Date, out: &mut Output) -> Result<Outcome, CommandError> {
    if let Some(to) = args.dispatch {
        return dispatch_table(args, to, today, out);
    }
    let format = match args.format {
        TableTo::Csv => TableFormat::Csv,
        TableTo::Parquet => TableFormat::Parquet,
        TableTo::Arrow => TableFormat::Arrow,
        TableTo::Json => TableFormat::Json,
    };
    if args.output.is_none() && matches!(format, TableFormat::Parquet | TableFormat::Arrow) && stdout().is_terminal() {
        return Err(CommandError::Usage("this format is not for a terminal; name a file with --output".to_owned()));
    }
    let run = PhaseRun::load(&args.run)?;
    let session = JudgedRun::of_stored(&run, today)?;
    let table = run_table(&run.plan, session.measurements().quantities()).map_err(ExportError::from)?;
    match &args.output {
        Some(path) => replace_with(
            path,
            Durability::Synced,
            |file| Ok(write_table(table, format, file)?),
            |source| CommandError::Output { path: path.clone(), source },
        )?,
        None => {
            // Made whole first, so that a reader who closes the pipe early is not an export that failed.
            let mut bytes = Vec::new();
            write_table(table, format, &mut bytes)?;
            out.machine().write_all(&bytes)?;
        }
    }
    Ok(Outcome::Passed)
}

/// Writes which variant to use at which shape, where the phase passes; the status is its verdict.
fn dispatch_table(args: &TableArgs, to: DispatchTo, today: Date, out: &mut Output) -> Result<Outcome, CommandError> {
    let format = match to {
        DispatchTo::Header => DispatchFormat::Header,
        DispatchTo::Json => DispatchFormat::Json,
    };
    let run = PhaseRun::load(&args.run)?;
    let session = JudgedRun::of_stored(&run, today)?;
    let source = RunSource::Recorded { folder: args.run.display().to_string() };
    let report = assemble(&session, source, None)?;
    match (dispatch(&report, format)?, &args.output) {
        (None, _) => {
            warn(&format!("no table: {} {}", report.in_use.sentence, report.headline.reason));
        }
        (Some(table), Some(path)) => replace(path, &table)?,
        (Some(table), None) => out.machine().write_all(table.as_bytes())?,
    }
    Ok(match report.headline.verdict {
        // a phase that passes and gives nothing to use has not said what ships
        Verdict::Pass if report.in_use.by_variant().is_empty() => Outcome::Inconclusive,
        verdict => verdict.into(),
    })
}
