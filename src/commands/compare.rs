//! `ncugate compare`: two runs, recordings or ncu reports side by side.

use super::CommandError;
use super::judge::{Age, Subject, judged};
use crate::cli::CompareArgs;
use crate::exit::Outcome;
use crate::ncu_rep::Report as NcuReport;
use crate::report::compare::{self, ComparedSide, RunComparison};
use crate::report::write::replace;
use crate::stats::Resampler;
use crate::store::StoreError;
use std::io::Write;
use std::path::Path;

/// Compares and says what changed; what changed is no failure.
pub fn compare(args: &CompareArgs, out: &mut dyn Write) -> Result<Outcome, CommandError> {
    let comparison = RunComparison::new(&side(&args.a)?, &side(&args.b)?, &Resampler::default());
    if let Some(path) = &args.markdown {
        replace(path, &compare::markdown(&comparison))?;
    }
    if let Some(path) = &args.html {
        replace(path, &compare::html(&comparison)?)?;
    }
    write!(out, "{}", compare::terminal(&comparison, super::columns()))?;
    Ok(Outcome::Passed)
}

/// A folder is a run or a recording, a file an ncu report.
fn side(path: &Path) -> Result<ComparedSide, CommandError> {
    let name = path.display().to_string();
    if path.is_dir() {
        return Ok(ComparedSide::of_run(&name, &judged(&Subject::stored(path)?, Age::Unsaid)?));
    }
    let report =
        NcuReport::open(path).map_err(|e| StoreError::Report { path: path.to_owned(), reason: e.to_string() })?;
    Ok(ComparedSide::of_report(&name, &report)?)
}
