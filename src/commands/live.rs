//! `ncugate run` where there is a GPU: the phase is measured.

use super::conclude::conclude_in;
use super::{CommandError, report_error};
use crate::build::Sharing;
use crate::campaign::{LiveRun, MeasuredRun, Start, Terminal, Tools};
use crate::cli::RunArgs;
use crate::config::Phase;
use crate::exit::Outcome;
use crate::host::null_test;
use crate::judge::reference_runs::{ReferenceRequest, ReferenceRuns};
use crate::judge::unmet;
use crate::model::ComputeCapability;
use crate::plan::Plan;
use crate::report::RunSource;
use std::io::Write;

/// Measures the phase and ends as every command does that gives a verdict.
pub fn live(
    args: &RunArgs,
    phase: &Phase,
    plan: &Plan,
    tools: &Tools,
    out: &mut dyn Write,
) -> Result<Outcome, CommandError> {
    let request = ReferenceRequest::from(&args.against);
    ReferenceRuns::validate(phase, Some(&tools.fingerprint()), &request, &args.folders.profiles)?;
    if let Some((stop, outcome)) = no_go(phase, Some(tools.device.compute_capability)) {
        writeln!(out, "{stop}")?;
        return Ok(outcome);
    }
    null_test(phase)?;
    let progress = Terminal::default();
    let (profiles, request) = (args.folders.profiles.as_path(), &request);
    let start = if args.fresh { Start::Anew } else { Start::Continue };
    let patience = args.waiting.into();
    let sharing = if args.no_share { Sharing::Each } else { Sharing::Share };
    let run = LiveRun { phase, plan, tools, profiles, request, start, sharing, patience, progress: &progress };
    let measured = run.measure();
    progress.clear();
    let MeasuredRun { session, ended } = measured?;
    let folder = args.folders.report(&phase.name, &session.measurements().run().manifest.run);
    let judged = conclude_in(&folder, &session, RunSource::Live, &args.saying, out)?;
    Ok(ended.map_or_else(|error| report_error(&error.into()).and(judged), |()| judged))
}

/// What stops a run before anything is built: the precondition that does not hold.
pub fn no_go(phase: &Phase, gpu: Option<ComputeCapability>) -> Option<(String, Outcome)> {
    let result = unmet(phase, gpu)?;
    let word = result.verdict.mark();
    let text = format!("{word} precondition '{}': {}; nothing was built", result.name, result.reason);
    Some((text, result.verdict.into()))
}
