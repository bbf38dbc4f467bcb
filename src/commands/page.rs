//! `ncugate page`: a run or an ncu report as an HTML page, or two of them compared.

use super::compare::ComparisonInput;
use super::conclude::{conclude_in, run_of_today, session};
use super::run_name::run_named;
use super::{CommandError, browser, refuse};
use crate::cli::{LaunchArgs, OutputArgs, OutputFormat, PageArgs};
use crate::console::Output;
use crate::exit::Outcome;
use crate::invocation::Invocation;
use ncu_explain::KernelFilter;
use ncugate_model::disk::is_same_file;
use ncugate_report::write::replace;
use ncugate_report::{RunSource, document, show};
use std::io::{IsTerminal, Write, stdout};
use std::path::{Path, PathBuf};

/// Writes the page. The status for a run is its verdict.
pub fn page(args: &PageArgs, invocation: &Invocation, out: &mut Output) -> Result<Outcome, CommandError> {
    let runs = args.paths.iter().map(|path| run_named(path, &args.folders.profiles)).collect::<Result<Vec<_>, _>>()?;
    if let [Some(folder)] = runs.as_slice() {
        return of_run(folder, args, invocation, out);
    }
    let is_of_run = args.comment.is_some() || args.against.against.is_some() || args.against.allow_mismatch;
    refuse(is_of_run, "--comment, --against and --allow-mismatch are for one run")?;
    let html = match args.paths.as_slice() {
        [a, b] => {
            let sides = ComparisonInput { profiles: &args.folders.profiles, launches: &filter(&args.launches) };
            document::html(&sides.compare(a, b, invocation.today())?.document())?
        }
        [report, ..] => document::html(&show::kernels(report, &filter(&args.launches))?)?,
        [] => return Err(CommandError::Usage("name a run or a report".to_owned())),
    };
    let path = args.output.clone().unwrap_or_else(|| usual(&args.paths));
    if path == Path::new("-") {
        refuse(stdout().is_terminal(), "not writing HTML to a terminal; name a file with --output")?;
        out.machine().write_all(html.as_bytes())?;
        return Ok(Outcome::Passed);
    }
    if let Some(input) = args.paths.iter().find(|input| is_same_file(input, &path)) {
        let input = input.display();
        return Err(CommandError::Usage(format!("`{input}` is the report to read; name another file with --output")));
    }
    replace(&path, &html)?;
    writeln!(out, "page: {}", path.display())?;
    if args.open {
        browser::open(&path);
    }
    Ok(Outcome::Passed)
}

/// Judges a run by its limits of today, and writes the files of its report.
fn of_run(folder: &Path, args: &PageArgs, invocation: &Invocation, out: &mut Output) -> Result<Outcome, CommandError> {
    refuse(args.launches.is_given(), "--kernel, --nvtx and --launch are for ncu reports")?;
    let run = run_of_today(folder, invocation.today())?;
    let usual = || args.folders.report(&run.phase.name, &run.run.manifest.run);
    let report = args.output.clone().unwrap_or_else(usual);
    let session = session(&run, &args.against, &args.folders.profiles, invocation.today())?;
    let source = RunSource::Recorded { folder: folder.display().to_string() };
    let saying = OutputArgs { format: OutputFormat::Text, comment: args.comment.clone(), open: args.open };
    conclude_in(&report, &session, source, &saying, invocation, out)
}

/// The launches of reports that a command line chooses.
pub fn filter(launches: &LaunchArgs) -> KernelFilter {
    KernelFilter { kernel: launches.kernel.clone(), nvtx: launches.nvtx.clone(), launch: launches.launch }
}

/// The default file in the working directory: the report's name, or `compare.html` for a comparison.
fn usual(paths: &[PathBuf]) -> PathBuf {
    let stem = match paths {
        [report] => report.file_stem(),
        _ => None,
    };
    stem.map_or_else(|| PathBuf::from("compare.html"), |stem| Path::new(stem).with_extension("html"))
}
