//! `ncugate history`: a page over all runs, and a summary of a set of phases.

use super::{CommandError, print};
use crate::cli::{FolderArgs, HistoryArgs, OutputFormat};
use crate::console::{Output, warn};
use crate::exit::Outcome;
use crate::invocation::Invocation;
use jiff::civil::Date;
use ncugate_judge::PhaseRun;
use ncugate_judge::store;
use ncugate_model::number::text::{line, logged};
use ncugate_phase::config;
use ncugate_report as report;
use ncugate_report::history::{self, History, HistoryEntry};
use ncugate_report::write::{prove_writable, replace};
use serde_json::json;
use std::io::Write;
use std::path::{Path, PathBuf};

/// Judges every run and writes the page; a run that cannot be judged is named, not fatal.
pub fn history(args: &HistoryArgs, invocation: &Invocation, out: &mut Output) -> Result<Outcome, CommandError> {
    let today = invocation.today();
    let (mut runs, mut problems) = (Vec::new(), Vec::new());
    for folder in store::runs(&args.folders.profiles)? {
        match entry(&folder, &args.folders, today) {
            Ok(Some(run)) => runs.push(run),
            // A run of a part does not show the state of its phase.
            Ok(None) => {}
            Err(error) => problems.push(logged(&line(&format!("{}: {error}", folder.display())))),
        }
    }
    let name = |path: &PathBuf| Ok(config::load(path, &invocation.here, today)?.name);
    let names = args.configs.iter().map(name).collect::<Result<Vec<_>, CommandError>>()?;
    let mut history = History::new(runs, problems);
    if !names.is_empty() {
        let (chosen, missing) = history.of(&names);
        history = chosen;
        history.problems.extend(missing.iter().map(|name| format!("phase '{name}' has no run")));
    }
    history.phases.iter_mut().for_each(|phase| phase.compare_code(store::source_text));
    prove_writable(&args.folders.reports)?;
    let page = args.folders.reports.join("index.html");
    replace(&page, &history::html(&history)?)?;
    if let Some(path) = &args.summary {
        replace(path, &history::summary(&history, seen_from(path, &args.folders.reports).as_deref()))?;
    }
    match args.format {
        OutputFormat::Json => {
            let (summary, problems) = (&args.summary, &history.problems);
            print::json(&json!({ "page": page, "summary": summary, "not_judged": problems }), out)?;
        }
        OutputFormat::Text => {
            writeln!(out, "page: {}", page.display())?;
            args.summary.iter().try_for_each(|path| writeln!(out, "summary: {}", path.display()))?;
        }
    }
    for problem in &history.problems {
        // Reported without failing: the other runs are still shown.
        warn(&format!("not judged: {problem}"));
    }
    Ok(Outcome::Passed)
}

/// The folder of reports relative to a file next to it, in it, or in the working directory.
fn seen_from(file: &Path, reports: &Path) -> Option<String> {
    let folder = file.parent().unwrap_or(Path::new(""));
    if folder == reports {
        return Some(".".to_owned());
    }
    (folder == Path::new("") || folder == Path::new(".")).then(|| reports.display().to_string())
}

/// A run of a whole phase; `None` for a run of a part.
fn entry(folder: &Path, folders: &FolderArgs, today: Date) -> Result<Option<HistoryEntry>, CommandError> {
    let run = PhaseRun::load(folder)?;
    if run.run.manifest.narrowed.is_some() {
        return Ok(None);
    }
    let report = report::stored(&run, today)?;
    let (phase, manifest) = (&run.phase.name, &run.run.manifest);
    let page = folders.report(phase, &manifest.run).join("report.html");
    let link = page.is_file().then(|| format!("./{phase}/{}/report.html", manifest.run));
    Ok(Some(HistoryEntry::of(&report, manifest, &run.plan, &folder.display().to_string(), link)))
}
