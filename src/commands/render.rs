//! `ncugate report`: renders a stored run again, judged by the phase it was run with.

use super::CommandError;
use super::conclude::{conclude_in, session};
use crate::cli::ReportArgs;
use crate::console::Output;
use crate::exit::Outcome;
use crate::invocation::Invocation;
use ncugate_judge::PhaseRun;
use ncugate_report::RunSource;

/// Judges the run, writes its report's files, and says how it ended.
pub fn render(args: &ReportArgs, invocation: &Invocation, out: &mut Output) -> Result<Outcome, CommandError> {
    let run = PhaseRun::load(&args.run)?;
    let usual = || args.folders.report(&run.phase.name, &run.run.manifest.run);
    let folder = args.output.clone().unwrap_or_else(usual);
    let session = session(&run, &args.against, &args.folders, invocation.today())?;
    let source = RunSource::Recorded { folder: args.run.display().to_string() };
    conclude_in(&folder, &session, source, &args.saying, invocation, out)
}
