//! `ncugate tools redact`: removes host names, addresses and home folders from a report.

use super::{CommandError, print};
use crate::cli::{OutputFormat, RedactArgs};
use crate::console::Output;
use crate::exit::Outcome;
use ncu_rep::{Redaction, SourcePolicy, compress, redact_with};
use ncugate_judge::store::{StoreError, write_atomically};
use ncugate_model::disk::open;
use serde_json::json;
use std::io::Write;

/// Maximum size of a report in bytes, as for reading.
const MAX_BYTES: u64 = 8 << 30;

/// Writes the redacted report, compressed if the name ends in `.ncu-repz`.
pub fn redact(args: &RedactArgs, out: &mut Output) -> Result<Outcome, CommandError> {
    let failed = |reason: String| StoreError::Report { path: args.report.clone(), reason };
    let bytes = open::named(&args.report, MAX_BYTES).map_err(|e| failed(e.to_string()))?;
    let sources = if args.drop_sources { SourcePolicy::Drop } else { SourcePolicy::Keep };
    let mut report = redact_with(&bytes, Redaction { sources }).map_err(|e| failed(e.to_string()))?;
    if args.output.extension().is_some_and(|extension| extension == "ncu-repz") {
        report = compress(&report).map_err(|e| failed(e.to_string()))?;
    }
    write_atomically(&args.output, &report)?;
    match args.format {
        OutputFormat::Json => print::json(&json!({ "report": args.output, "bytes": report.len() }), out)?,
        OutputFormat::Text => writeln!(out, "{}: {} bytes", args.output.display(), report.len())?,
    }
    Ok(Outcome::Passed)
}
