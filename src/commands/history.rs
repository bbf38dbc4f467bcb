//! `ncugate history`: a page over all runs, and a summary of a set of phases.
//!
//! Rows of the page can come from the cache of judged runs. The summary states which phases pass, so its runs are judged
//! from their files.

use super::{CommandError, print};
use crate::cli::{FolderArgs, HistoryArgs, OutputFormat};
use crate::console::{Output, warn};
use crate::exit::Outcome;
use crate::invocation::Invocation;
use jiff::civil::Date;
use ncugate_judge::PhaseRun;
use ncugate_judge::reference_runs::Leaderboard;
use ncugate_judge::store::{self, JudgementCache, ListedRun};
use ncugate_model::CleanText;
use ncugate_model::number::text::logged;
use ncugate_ncu::cache_folder;
use ncugate_phase::config;
use ncugate_report as report;
use ncugate_report::history::{self, History, HistoryEntry, LatestRun, RunSummary};
use ncugate_report::write::{prove_writable, replace};
use rayon::prelude::*;
use serde_json::json;
use std::env;
use std::io::Write;
use std::os::unix::fs::MetadataExt;
use std::path::{Component, Path, PathBuf};

/// Writes the page; a run that cannot be judged is named, not fatal.
pub fn history(args: &HistoryArgs, invocation: &Invocation, out: &mut Output) -> Result<Outcome, CommandError> {
    let today = invocation.today();
    let name = |path: &PathBuf| Ok(config::load(path, &invocation.here, today)?.name);
    let names = args.configs.iter().map(name).collect::<Result<Vec<_>, CommandError>>()?;
    let cache = JudgementCache::open(cache_folder(|name| env::var_os(name)));
    let is_wanted = |run: &ListedRun| {
        // A run of a part does not show the state of its phase.
        run.manifest.narrowed.is_none() && (names.is_empty() || names.contains(&run.manifest.phase))
    };
    let listed = store::list(&args.folders.profiles, &program(), today)?;
    let judged = listed.into_par_iter().map(|run| match run {
        Ok(run) if is_wanted(&run) => {
            let folder = run.folder.clone();
            entry(run, &args.folders, &cache, today).map(Some).map_err(|error| problem(&folder, &error))
        }
        Ok(_) => Ok(None),
        Err((folder, error)) => Err(problem(&folder, &error)),
    });
    let (mut runs, mut problems) = (Vec::new(), Vec::new());
    for run in judged.collect::<Vec<_>>() {
        match run {
            Ok(run) => runs.extend(run),
            Err(problem) => problems.push(problem),
        }
    }
    cache.prune();
    let history = History::new(runs, problems);
    let (mut history, missing) = if names.is_empty() { (history, Vec::new()) } else { history.of(&names) };
    let is_empty = history.phases.is_empty() && history.problems.is_empty();
    history.problems.extend(missing.iter().map(|name| format!("phase '{name}' has no run").into()));
    if is_empty {
        // The page of an earlier call, or of another folder, stays.
        history.problems.iter().for_each(|problem| warn(&format!("not judged: {}", logged(problem))));
        return Err(no_run(&args.folders.profiles));
    }
    for phase in &mut history.phases {
        match Leaderboard::open(&args.folders.profiles, &phase.name) {
            Ok(board) => phase.promoted = board.entries().iter().map(|entry| entry.run.clone()).collect(),
            Err(error) => history.problems.push(format!("leaderboard of {}: {error}", phase.name).into()),
        }
        phase.compare_code(store::source_text);
    }
    prove_writable(&args.folders.reports)?;
    let page = args.folders.reports.join("index.html");
    replace(&page, &report::document::html(&history.document())?)?;
    let mut problems = history.problems.clone();
    if let Some(path) = &args.summary {
        let mut latest = Vec::new();
        for phase in &history.phases {
            let Some(entry) = phase.latest() else { continue };
            match judge(&entry.folder, today) {
                Ok((report, _)) => latest.push(LatestRun { phase, entry, report }),
                Err(error) => problems.push(problem(&entry.folder, &error)),
            }
        }
        let reports = relative(path.parent().unwrap_or(Path::new("")), &args.folders.reports);
        let summary = history::summary(&latest, &problems, reports.as_deref());
        replace(path, &report::document::markdown(&summary))?;
    }
    match args.format {
        OutputFormat::Json => {
            let summary = &args.summary;
            print::json(&json!({ "page": page, "summary": summary, "not_judged": problems }), out)?;
        }
        OutputFormat::Text => {
            writeln!(out, "page: {}", page.display())?;
            args.summary.iter().try_for_each(|path| writeln!(out, "summary: {}", path.display()))?;
        }
    }
    for problem in &problems {
        // A warning, because the other runs are on the page.
        warn(&format!("not judged: {}", logged(problem)));
    }
    Ok(Outcome::Passed)
}

/// A wrong name, or a folder without a run of the chosen phases.
fn no_run(profiles: &Path) -> CommandError {
    let folder = profiles.display();
    CommandError::Usage(match profiles.exists() {
        false => format!("no folder `{folder}`; name the folder of the runs with --profiles"),
        true => format!(
            "no run to show in `{folder}`; measure a phase with `ncugate run`, or name another folder with --profiles"
        ),
    })
}

fn problem(folder: &Path, error: &dyn std::fmt::Display) -> CleanText {
    format!("{}: {error}", folder.display()).into()
}

/// The judging program: its version, and the state of its file, because versions under development share a number.
fn program() -> String {
    let file = env::current_exe().and_then(std::fs::metadata);
    let state = file.map(|file| (file.len(), file.mtime(), file.mtime_nsec(), file.ino())).ok();
    format!("{} {state:?}", env!("CARGO_PKG_VERSION"))
}

/// A run with its summary from the cache, or judged.
fn entry(
    run: ListedRun,
    folders: &FolderArgs,
    cache: &JudgementCache,
    today: Date,
) -> Result<HistoryEntry, CommandError> {
    let summary = match cache.get(&run.key) {
        Some(summary) => summary,
        None => {
            let (report, judged) = judge(&run.folder, today)?;
            let summary = RunSummary::new(report, &judged.plan, judged.conditions());
            cache.put(&run.key, &summary);
            summary
        }
    };
    let (phase, id) = (&run.manifest.phase, &run.manifest.run);
    let page = folders.report(phase, id).join("report.html");
    let page = page.is_file().then(|| format!("{phase}/{id}/report.html"));
    Ok(HistoryEntry { folder: run.folder, manifest: run.manifest, summary, page })
}

fn judge(folder: &Path, today: Date) -> Result<(report::RunReport, PhaseRun), CommandError> {
    let (run, _) = PhaseRun::of_today(folder, today)?;
    Ok((report::stored(&run, today)?, run))
}

/// The way from one folder to another; `None` if one of the two does not exist or the way is not text.
fn relative(from: &Path, to: &Path) -> Option<String> {
    let from = if from == Path::new("") { Path::new(".") } else { from };
    let (from, to) = (from.canonicalize().ok()?, to.canonicalize().ok()?);
    let common = std::iter::zip(from.components(), to.components()).take_while(|(one, other)| one == other).count();
    let up = from.components().skip(common).map(|_| Component::ParentDir);
    let way: PathBuf = up.chain(to.components().skip(common)).collect();
    Some(if way == Path::new("") { ".".to_owned() } else { way.to_str()?.to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_way_to_a_folder_leads_there() {
        let place = tempfile::tempdir().unwrap();
        let at = |name: &str| place.path().join(name);
        for folder in ["a/b", "c"] {
            std::fs::create_dir_all(at(folder)).unwrap();
        }
        let ways = [("a/b", "c", "../../c"), ("a", "a/b", "b"), ("a", "a", "."), ("a/b", "a", "..")];
        for (from, to, way) in ways {
            assert_eq!(relative(&at(from), &at(to)).as_deref(), Some(way));
        }
        assert_eq!(relative(&at("nowhere"), &at("c")), None);
    }
}
