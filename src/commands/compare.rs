//! `ncugate compare`: two runs, recordings or ncu reports side by side.

use super::{CommandError, print};
use crate::cli::{CompareArgs, OutputFormat};
use crate::console::Output;
use crate::exit::Outcome;
use jiff::civil::Date;
use ncugate_judge::PhaseRun;
use ncugate_judge::store::open_report;
use ncugate_model::stats::Resampler;
use ncugate_report as report;
use ncugate_report::compare::{self, ComparedSide, RunComparison};
use ncugate_report::write::replace;
use std::io::Write;
use std::path::Path;

/// Compares and says what changed; a change is not a failure.
pub fn compare(args: &CompareArgs, today: Date, out: &mut Output) -> Result<Outcome, CommandError> {
    let comparison = RunComparison::new(&side(&args.a, today)?, &side(&args.b, today)?, &Resampler::default());
    if let Some(path) = &args.markdown {
        replace(path, &compare::markdown(&comparison))?;
    }
    if let Some(path) = &args.html {
        replace(path, &compare::html(&comparison)?)?;
    }
    match args.format {
        OutputFormat::Json => print::json(&comparison, out)?,
        OutputFormat::Text => write!(out, "{}", compare::terminal(&comparison, print::columns()))?,
    }
    Ok(Outcome::Passed)
}

/// A folder is a run or a recording, a file an ncu report.
fn side(path: &Path, today: Date) -> Result<ComparedSide, CommandError> {
    let name = path.display().to_string();
    if path.is_dir() {
        let run = PhaseRun::load(path)?;
        let workload = Some(Box::new(run.phase.workload.clone()));
        return Ok(ComparedSide { workload, ..ComparedSide::of_run(&name, &report::stored(&run, today)?) });
    }
    Ok(ComparedSide::of_report(&name, &open_report(path)?)?)
}
