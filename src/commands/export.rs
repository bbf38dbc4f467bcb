//! `ncugate export`: everything that a run measured, or the metrics of ncu reports, as a file.

use super::run_name::run_named;
use super::show::{is_glob, request};
use super::{CommandError, refuse};
use crate::cli::{ExportArgs, ExportFormat};
use crate::console::{Output, warn};
use crate::exit::Outcome;
use jiff::civil::Date;
use ncugate_judge::frame::export::{ExportError, ExportLayout};
use ncugate_judge::frame::{TableFormat, run_table, write_table};
use ncugate_judge::{JudgedRun, PhaseRun};
use ncugate_model::disk::{Durability, replace_with};
use ncugate_model::{VariantId, Verdict};
use ncugate_report::dispatch::{DispatchFormat, dispatch};
use ncugate_report::show::{self, ShowContent};
use ncugate_report::write::replace;
use ncugate_report::{RunSource, assemble};
use std::io::{IsTerminal, Write, stdout};
use std::path::{Path, PathBuf};

/// Writes the file. Of a dispatch table the status is the verdict of its run.
pub fn export(args: &ExportArgs, today: Date, out: &mut Output) -> Result<Outcome, CommandError> {
    let run = match args.paths.as_slice() {
        [path] if !is_glob(path) => run_named(Path::new(path), &args.profiles)?,
        _ => None,
    };
    let format = match args.to {
        ExportFormat::Csv => TableFormat::Csv,
        ExportFormat::Json => TableFormat::Json,
        ExportFormat::Parquet => TableFormat::Parquet,
        ExportFormat::Arrow => TableFormat::Arrow,
        ExportFormat::DispatchHeader => return dispatch_table(run, args, DispatchFormat::Header, today, out),
        ExportFormat::DispatchJson => return dispatch_table(run, args, DispatchFormat::Json, today, out),
    };
    let is_binary = matches!(format, TableFormat::Parquet | TableFormat::Arrow);
    let is_shown = args.output.is_none() && is_binary && stdout().is_terminal();
    refuse(is_shown, "this format is not for a terminal; name a file with --output")?;
    match run {
        Some(folder) if args.wide => {
            let variants = PhaseRun::load(&folder)?.plan.variants.into_iter().map(|variant| variant.id).collect();
            metrics(&reports_of(&folder), args, format, Some(variants), out)?;
        }
        Some(folder) => table(&folder, args, format, today, out)?,
        None => metrics(&args.paths, args, format, None, out)?,
    }
    Ok(Outcome::Passed)
}

/// Writes a row a variant and shape.
fn table(
    folder: &Path,
    args: &ExportArgs,
    format: TableFormat,
    today: Date,
    out: &mut Output,
) -> Result<(), CommandError> {
    refuse_options_of_reports(args)?;
    let run = PhaseRun::load(folder)?;
    let session = JudgedRun::of_stored(&run, today)?;
    let table = run_table(&run.plan, session.measurements().quantities()).map_err(ExportError::from)?;
    match &args.output {
        Some(path) => replace_with(
            path,
            Durability::Synced,
            |file| Ok(write_table(table, format, file)?),
            |source| CommandError::Output { path: path.clone(), source },
        ),
        None => {
            // Made whole first, so that a reader who closes the pipe early is not an export that failed.
            let mut bytes = Vec::new();
            write_table(table, format, &mut bytes)?;
            Ok(out.machine().write_all(&bytes)?)
        }
    }
}

/// The reports of a run, as a glob.
fn reports_of(run: &Path) -> [String; 1] {
    [run.join("reports/*.ncu-rep*").display().to_string()]
}

/// Writes the metrics of reports.
fn metrics(
    paths: &[String],
    args: &ExportArgs,
    format: TableFormat,
    variants: Option<Vec<VariantId>>,
    out: &mut Output,
) -> Result<(), CommandError> {
    let shown = ShowContent::Export {
        format,
        layout: if args.wide { ExportLayout::Wide } else { ExportLayout::Long },
        output: args.output.clone().unwrap_or_else(|| PathBuf::from("-")),
        variants,
    };
    let request = request(paths, &args.launches, &args.metrics, shown);
    Ok(show::show(&request, &mut out.machine())?)
}

fn refuse_options_of_reports(args: &ExportArgs) -> Result<(), CommandError> {
    refuse(
        args.wide || args.launches.is_given() || !args.metrics.is_empty(),
        "--metric, --kernel, --nvtx and --launch are for launches: of a run with --wide, or of ncu reports",
    )
}

/// Writes which variant to use at which shape, where the phase passes; the status is its verdict.
fn dispatch_table(
    folder: Option<PathBuf>,
    args: &ExportArgs,
    format: DispatchFormat,
    today: Date,
    out: &mut Output,
) -> Result<Outcome, CommandError> {
    refuse_options_of_reports(args)?;
    let Some(folder) = folder else {
        return Err(CommandError::Usage("a dispatch table is made of one run; a report has no variants".to_owned()));
    };
    let run = PhaseRun::load(&folder)?;
    let session = JudgedRun::of_stored(&run, today)?;
    let source = RunSource::Recorded { folder: folder.display().to_string() };
    let report = assemble(&session, source, None)?;
    match (dispatch(&report, format)?, &args.output) {
        (None, _) => warn(&format!("no table: {} {}", report.in_use.sentence, report.headline.reason)),
        (Some(table), Some(path)) => replace(path, &table)?,
        (Some(table), None) => out.machine().write_all(table.as_bytes())?,
    }
    Ok(match report.headline.verdict {
        // a phase that passes and gives nothing to use has not said what ships
        Verdict::Pass if report.in_use.by_variant().is_empty() => Outcome::Inconclusive,
        verdict => verdict.into(),
    })
}
