//! `ncugate compare`: two runs, recordings or ncu reports side by side.

use super::page::filter;
use super::run_name::run_named;
use super::{CommandError, print, refuse};
use crate::cli::{CompareArgs, CompareFormat};
use crate::console::Output;
use crate::exit::Outcome;
use jiff::civil::Date;
use ncu_explain::KernelFilter;
use ncugate_judge::PhaseRun;
use ncugate_judge::store::open_report;
use ncugate_model::stats::Resampler;
use ncugate_report as report;
use ncugate_report::compare::{ComparedSide, RunComparison};
use ncugate_report::document::{markdown, terminal};
use std::io::Write;
use std::path::Path;

/// Compares and prints the changes; a change is not a failure.
pub fn compare(args: &CompareArgs, today: Date, out: &mut Output) -> Result<Outcome, CommandError> {
    let sides = ComparisonInput { profiles: &args.profiles, launches: &filter(&args.launches) };
    let mut comparison = sides.compare(&args.a, &args.b, today)?;
    if !args.metrics.is_empty() {
        comparison.keep_metrics(&args.metrics).map_err(|error| CommandError::Usage(error.to_string()))?;
    }
    let document = if args.metrics.is_empty() { comparison.document() } else { comparison.metric_document() };
    match args.format {
        CompareFormat::Json => print::json(&comparison, out)?,
        CompareFormat::Markdown => write!(out.machine(), "{}", markdown(&document))?,
        CompareFormat::Text => write!(out, "{}", terminal(&document, print::terminal_columns()))?,
    }
    Ok(Outcome::Passed)
}

/// Reads the sides of a comparison.
pub struct ComparisonInput<'a> {
    /// The folder of runs.
    pub profiles: &'a Path,
    /// The launches of reports that are compared.
    pub launches: &'a KernelFilter,
}

impl ComparisonInput<'_> {
    /// Two runs or ncu reports side by side.
    pub fn compare(&self, a: &Path, b: &Path, today: Date) -> Result<RunComparison, CommandError> {
        Ok(RunComparison::new(&self.side(a, today)?, &self.side(b, today)?, &Resampler::default()))
    }

    fn side(&self, path: &Path, today: Date) -> Result<ComparedSide, CommandError> {
        let name = path.display().to_string();
        if let Some(folder) = run_named(path, self.profiles)? {
            refuse(self.launches.is_given(), "--kernel, --nvtx and --launch are for ncu reports")?;
            let run = PhaseRun::load(&folder)?;
            let workload = Some(Box::new(run.phase.workload.clone()));
            return Ok(ComparedSide { workload, ..ComparedSide::of_run(&name, &report::stored(&run, today)?) });
        }
        Ok(ComparedSide::of_report(&name, &open_report(path)?, self.launches)?)
    }
}
