//! `ncugate table`: everything that a run measured, as one table.

use super::CommandError;
use super::against::Standings;
use super::judge::{Judged, Subject};
use super::show::write_file;
use crate::cli::{TableArgs, TableTo};
use crate::exit::Outcome;
use crate::frame::export::ExportError;
use crate::frame::{TableFormat, run_table, write_table};
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
    let subject = Subject::stored(&args.run)?;
    let quantities = Judged::new(&subject, &[], &Standings::around(&subject))?.quantities;
    let table = run_table(&subject.plan, &quantities).map_err(ExportError::from)?;
    match &args.output {
        Some(path) => write_file(path, |file| Ok(write_table(table, format, file)?))?,
        None => write_table(table, format, out)?,
    }
    Ok(Outcome::Passed)
}
