//! `ncugate show`: a run's verdict, or the contents of ncu reports.

use super::conclude::{run_of_today, session};
use super::run_name::run_named;
use super::{CommandError, print, refuse};
use crate::cli::{LaunchArgs, OutputFormat, RowFormat, ShowArgs, ShowView};
use crate::console::Output;
use crate::exit::Outcome;
use crate::invocation::Invocation;
use ncugate_judge::frame::TableFormat;
use ncugate_judge::frame::export::ExportLayout;
use ncugate_report::show::{self, LaunchDetail, ListExtent, ShowContent, ShowRequest};
use ncugate_report::{RunSource, assemble};
use std::path::{Path, PathBuf};

/// Prints what a run found, with its verdict as the status; or what reports hold.
pub fn show(args: &ShowArgs, invocation: &Invocation, out: &mut Output) -> Result<Outcome, CommandError> {
    if let [path] = args.paths.as_slice()
        && !is_glob(path)
        && let Some(folder) = run_named(Path::new(path), &args.profiles)?
    {
        return run(&folder, args, invocation, out);
    }
    reports(args, out)
}

/// Whether a name is a glob of reports.
pub fn is_glob(path: &str) -> bool {
    path.contains(['*', '?', '['])
}

fn run(folder: &Path, args: &ShowArgs, invocation: &Invocation, out: &mut Output) -> Result<Outcome, CommandError> {
    let asks_for_launches = args.launches.is_given() || args.view.is_some() || args.all || !args.metrics.is_empty();
    let why = "a run has no launches to show by itself: name one of its reports, or leave these options out";
    refuse(asks_for_launches, why)?;
    let format = match args.format {
        RowFormat::Text => OutputFormat::Text,
        RowFormat::Json => OutputFormat::Json,
        RowFormat::Csv => return Err(CommandError::Usage("a run's table is `ncugate export RUN --to csv`".to_owned())),
    };
    let run = run_of_today(folder, invocation.today())?;
    let session = session(&run, &args.against, &args.profiles, invocation.today())?;
    let source = RunSource::Recorded { folder: folder.display().to_string() };
    print::result(&assemble(&session, source, Some(invocation.report_time))?, format, out)?;
    Ok(session.judgement().verdict.into())
}

fn reports(args: &ShowArgs, out: &mut Output) -> Result<Outcome, CommandError> {
    let is_of_run = args.against.against.is_some() || args.against.allow_mismatch;
    refuse(is_of_run, "--against and --allow-mismatch are for a run")?;
    let format = args.format;
    let is_text = matches!(args.view, Some(ShowView::Rules | ShowView::Session));
    refuse(is_text && format != RowFormat::Text, "rules and session are text; leave `--format` out")?;
    let inside = |inside| ShowContent::Inside { inside, format: format.into() };
    let shown = match args.view {
        Some(ShowView::Rules) => ShowContent::Rules,
        Some(ShowView::Session) => ShowContent::Session,
        Some(ShowView::Sources) => inside(LaunchDetail::Sources),
        Some(ShowView::Metrics) => inside(LaunchDetail::SourceMetrics),
        Some(ShowView::Stalls) => inside(LaunchDetail::WarpStalls),
        Some(ShowView::Disasm) => inside(LaunchDetail::Disassembly),
        // All metrics of each launch, of which the text shows the usual ones.
        None if format != RowFormat::Text => ShowContent::Export {
            format: if format == RowFormat::Json { TableFormat::Json } else { TableFormat::Csv },
            layout: ExportLayout::Wide,
            output: PathBuf::from("-"),
            variants: None,
        },
        None => ShowContent::Launches(if args.all { ListExtent::All } else { ListExtent::Screen }),
    };
    let request = request(&args.paths, &args.launches, &args.metrics, shown);
    match format {
        RowFormat::Text => show::show(&request, out)?,
        RowFormat::Json | RowFormat::Csv => show::show(&request, &mut out.machine())?,
    }
    Ok(Outcome::Passed)
}

/// What to show of the launches of reports.
pub fn request(paths: &[String], launches: &LaunchArgs, metrics: &[String], shown: ShowContent) -> ShowRequest {
    ShowRequest {
        reports: paths.to_vec(),
        kernel: launches.kernel.clone(),
        nvtx: launches.nvtx.clone(),
        metrics: metrics.to_vec(),
        launch: launches.launch,
        columns: print::terminal_columns(),
        shown,
    }
}
