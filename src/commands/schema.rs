//! `ncugate tools schema`: the JSON Schema of the config or of the results.

use super::CommandError;
use crate::cli::SchemaArgs;
use crate::console::Output;
use crate::exit::Outcome;
use ncugate_phase::config;
use ncugate_report::json;
use std::io::Write;

/// Prints the requested schema.
pub fn schema(args: &SchemaArgs, out: &mut Output) -> Result<Outcome, CommandError> {
    if args.results {
        write!(out.machine(), "{}", json::schema()?)?;
    } else {
        writeln!(out.machine(), "{:#}", config::schema())?;
    }
    Ok(Outcome::Passed)
}
