//! `ncugate run`: measures a phase, or takes its recording, then judges and reports.

use super::conclude::conclude;
use super::live::{live, no_go};
use super::project::open_phase;
use super::{CommandError, signal};
use crate::campaign::{CampaignError, Tools};
use crate::cli::{MeasurementSource, RunArgs};
use crate::config::Phase;
use crate::exit::Outcome;
use crate::frame::wanted;
use crate::judge::PhaseRun;
use crate::judge::reference_runs::ReferenceRuns;
use crate::plan::{Plan, unroll};
use crate::report::RunSource;
use crate::report::write::prove_writable;
use crate::store::Run;
use std::io::{self, Write};

/// Runs a phase.
pub fn run(args: &RunArgs, out: &mut dyn Write) -> Result<Outcome, CommandError> {
    let phase = open_phase(&args.config)?;
    let plan = unroll(&phase)?;
    refuse_reports(&phase)?;
    prove_writable(&args.folders.reports.join(&phase.name))?;
    if let (MeasurementSource::Recorded, Some(_)) = (args.source, args.shard) {
        return Err(CommandError::Usage("--shard measures; a recording is judged whole".to_owned()));
    }
    if args.source == MeasurementSource::Recorded {
        return recorded(args, phase, plan, None, out);
    }
    ReferenceRuns::validate(&phase, None, &(&args.against).into(), &args.folders.profiles)?;
    if let Some((stop, Outcome::Failed)) = no_go(&phase, None) {
        writeln!(out, "{stop}")?;
        return Ok(Outcome::Failed);
    }
    signal::watch();
    match Tools::find(&phase) {
        Err(why) if args.shard.is_some() => Err(why.into()),
        Ok(tools) => live(args, &phase, &plan, &tools, out),
        Err(why) if args.source == MeasurementSource::Auto && phase.recording.is_some() => {
            // The whole reason; the report says it in short.
            let _ = writeln!(io::stderr(), "not measuring: {why}");
            recorded(args, phase, plan, Some(&why), out)
        }
        Err(why) => Err(why.into()),
    }
}

/// A phase of ncu reports measures nothing.
pub fn refuse_reports(phase: &Phase) -> Result<(), CommandError> {
    let file = phase.file.display();
    match phase.is_of_reports() {
        true => Err(CommandError::Usage(format!(
            "{file} measures nothing: its variants are launches of ncu reports; judge them with `ncugate gate {file} --profile REPORT`"
        ))),
        false => Ok(()),
    }
}

/// Judges the recording of the phase; `why` says why it is shown without being asked for.
fn recorded(
    args: &RunArgs,
    phase: Phase,
    plan: Plan,
    why: Option<&CampaignError>,
    out: &mut dyn Write,
) -> Result<Outcome, CommandError> {
    let Some(folder) = phase.recording.clone() else {
        let name = phase.file.display();
        return Err(CommandError::Usage(format!("{name} names no recording; add `recording` under [phase]")));
    };
    let metrics = wanted::metrics(&phase);
    let capability = |run: &Run| run.manifest.fingerprint.gpu.as_ref().map(|gpu| gpu.compute_capability);
    let run = PhaseRun::of_phase(phase, plan, &folder, |run| wanted::counters(&metrics, capability(run)))?;
    let folder = folder.display().to_string();
    let source = match why {
        None => RunSource::Recorded { folder },
        Some(why) => RunSource::Unasked { folder, why: why.lacking() },
    };
    conclude(&run, source, &args.against, &args.folders, &args.saying, out)
}
