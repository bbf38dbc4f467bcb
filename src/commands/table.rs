//! `ncugate table`: everything that a run measured, as one table.

use super::CommandError;
use crate::cli::{TableArgs, TableTo};
use crate::disk::{Durability, replace_with};
use crate::exit::Outcome;
use crate::frame::export::ExportError;
use crate::frame::{TableFormat, run_table, write_table};
use crate::judge::reference_runs::ReferenceRuns;
use crate::judge::{PhaseRun, Session};
use std::io::{IsTerminal, Write, stdout};

/// Writes the table of a stored run.
pub fn table(args: &TableArgs, out: &mut dyn Write) -> Result<Outcome, CommandError> {
    let format = match args.format {
        TableTo::Csv => TableFormat::Csv,
        TableTo::Parquet => TableFormat::Parquet,
        TableTo::Arrow => TableFormat::Arrow,
    };
    if args.output.is_none() && format != TableFormat::Csv && stdout().is_terminal() {
        return Err(CommandError::Usage("this format is not for a terminal; name a file with --output".to_owned()));
    }
    let run = PhaseRun::load(&args.run)?;
    let session = Session::of(&run, ReferenceRuns::around(&run))?;
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
            out.write_all(&bytes)?;
        }
    }
    Ok(Outcome::Passed)
}
