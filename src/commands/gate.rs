//! `ncugate gate`: judges earlier measurements.

use super::conclude::conclude;
use super::project::open_phase;
use super::run_name::run_named;
use super::{CommandError, refuse};
use crate::cli::{Assumption, GateArgs};
use crate::console::Output;
use crate::exit::Outcome;
use crate::invocation::Invocation;
use ncugate_campaign::manifest;
use ncugate_judge::reference_runs::ReferenceRequest;
use ncugate_judge::{DurationPolicy, Evidence, PhaseRun, foreign_run};
use ncugate_phase::config::Phase;
use ncugate_phase::plan::unroll;
use ncugate_report::RunSource;
use std::path::PathBuf;

/// Judges a run, a recording, or ncu reports by the current text of a phase.
pub fn gate(args: &GateArgs, invocation: &Invocation, out: &mut Output) -> Result<Outcome, CommandError> {
    let mut phase = open_phase(&args.config, invocation)?;
    phase.waive(&args.waived.waivers, invocation.today())?;
    let mut runs = Vec::new();
    for path in &args.paths {
        runs.extend(run_named(path, &args.folders.profiles)?);
    }
    match runs.as_slice() {
        [folder] if args.paths.len() == 1 => {
            let why = format!("{} is a folder, but the phase judges ncu reports: name the files", folder.display());
            refuse(phase.is_of_reports(), &why)?;
            let run = PhaseRun::of_phase(phase, folder, |_| Vec::new())?;
            let source = RunSource::Recorded { folder: folder.display().to_string() };
            conclude(&run, source, &args.against, &args.folders, &args.saying, invocation, out)
        }
        [] => foreign(args, phase, &args.paths, invocation, out),
        [folder, ..] => {
            Err(CommandError::Usage(format!("{} is a run; give one run, or ncu reports alone", folder.display())))
        }
    }
}

/// Judges reports of another program.
fn foreign(
    args: &GateArgs,
    phase: Phase,
    files: &[PathBuf],
    invocation: &Invocation,
    out: &mut Output,
) -> Result<Outcome, CommandError> {
    let names: Vec<_> = files.iter().map(|file| file.file_name()).collect();
    if let Some(at) = (1..names.len()).find(|at| names[..*at].contains(&names[*at])) {
        let file = files[at].display();
        let message = format!("another report has the same file name as {file}: rename one");
        return Err(CommandError::Usage(message));
    }
    let durations = match args.assume.contains(&Assumption::Unedited) {
        true => DurationPolicy::AssumedUnedited,
        false => DurationPolicy::Confirmed,
    };
    let evidence = match (phase.is_of_reports(), args.assume.contains(&Assumption::Correct)) {
        (true, _) => Evidence::Counters(durations),
        (false, true) => Evidence::AssumedCorrect(durations),
        (false, false) => Evidence::Unproven(durations),
    };
    let reports = files.iter().map(std::path::absolute).collect::<Result<Vec<_>, _>>()?;
    let plan = unroll(&phase)?;
    let foreign =
        foreign_run(phase, plan, &reports, evidence, ReferenceRequest::from(&args.against).mismatch, manifest)?;
    let files = files.iter().map(|file| file.display().to_string()).collect();
    let source = RunSource::Foreign { files, made: foreign.made, captured: foreign.captured };
    conclude(&foreign.run, source, &args.against, &args.folders, &args.saying, invocation, out)
}
