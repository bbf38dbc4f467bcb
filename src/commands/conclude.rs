//! The end of every command with a verdict: judges the run, writes and prints its report, returns the status.

use super::{CommandError, browser, print};
use crate::cli::{FolderArgs, OutputArgs, StoredBaselineArgs};
use crate::console::{Output, warn};
use crate::exit::Outcome;
use crate::invocation::Invocation;
use jiff::civil::Date;
use ncugate_judge::reference_runs::ReferenceRuns;
use ncugate_judge::{JudgedRun, PhaseRun};
use ncugate_model::number::text::logged;
use ncugate_report::comment::comment;
use ncugate_report::write::{replace, write};
use ncugate_report::{RunSource, assemble};
use std::path::Path;

/// Judges a run, writes the report's files, and returns the outcome.
pub fn conclude(
    run: &PhaseRun,
    source: RunSource,
    against: &StoredBaselineArgs,
    folders: &FolderArgs,
    saying: &OutputArgs,
    invocation: &Invocation,
    out: &mut Output,
) -> Result<Outcome, CommandError> {
    let mut session = session(run, against, &folders.profiles, invocation.today())?;
    if let RunSource::Unasked { .. } = source {
        session.withhold_pass("nothing was measured");
    }
    let folder = folders.report(&run.phase.name, &run.run.manifest.run);
    conclude_in(&folder, &session, source, saying, invocation, out)
}

/// A run judged with the requested stored runs.
pub fn session<'a>(
    run: &'a PhaseRun,
    against: &StoredBaselineArgs,
    profiles: &Path,
    today: Date,
) -> Result<JudgedRun<'a>, CommandError> {
    let mut references = ReferenceRuns::find(&run.phase, &run.run, &against.into(), profiles, today)?;
    references.resolve_previous(&run.phase, &run.run, run.evidence, profiles, today)?;
    Ok(JudgedRun::of(run, references, today)?)
}

/// A stored run with its limits of today; warns if the phase file that names it does not fit.
pub fn run_of_today(folder: &Path, today: Date) -> Result<PhaseRun, CommandError> {
    let (run, note) = PhaseRun::of_today(folder, today)?;
    note.iter().for_each(|note| warn(&logged(note)));
    Ok(run)
}

/// Writes the files of a judged run's report to a folder, and returns the outcome.
pub fn conclude_in(
    folder: &Path,
    session: &JudgedRun<'_>,
    source: RunSource,
    saying: &OutputArgs,
    invocation: &Invocation,
    out: &mut Output,
) -> Result<Outcome, CommandError> {
    let report = assemble(session, source, Some(invocation.report_time))?;
    let written = write(&report, folder)?;
    if let Some(path) = &saying.comment {
        replace(path, &comment(&report, job().as_deref()))?;
    }
    print::report(&report, &written.page, saying.format, out)?;
    if saying.open {
        browser::open(&written.page);
    }
    Ok(session.judgement().verdict.into())
}

/// URL of the current job on GitHub, GitLab or Buildkite.
fn job() -> Option<String> {
    let set = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
    let github = || {
        let (server, repository) = (set("GITHUB_SERVER_URL")?, set("GITHUB_REPOSITORY")?);
        Some(format!("{server}/{repository}/actions/runs/{}", set("GITHUB_RUN_ID")?))
    };
    github().or_else(|| set("CI_JOB_URL")).or_else(|| set("BUILDKITE_BUILD_URL"))
}
