//! `ncugate gate`: judges what has been measured already.

use super::CommandError;
use super::conclude::conclude;
use crate::cli::GateArgs;
use crate::config;
use crate::exit::Outcome;
use crate::judge::{Evidence, PhaseRun, foreign_run, paths};
use crate::plan::unroll;
use crate::report::RunSource;
use std::io::Write;

/// Judges a run, a recording, or ncu reports by a phase as it is now.
pub fn gate(args: &GateArgs, out: &mut dyn Write) -> Result<Outcome, CommandError> {
    let phase = config::load(&args.config)?;
    let plan = unroll(&phase)?;
    if let Some(absent) = args.profile.iter().find(|path| !path.exists()) {
        return Err(CommandError::Usage(format!("--profile names {}, which does not exist", absent.display())));
    }
    let run = match args.profile.as_slice() {
        [folder] if folder.is_dir() => PhaseRun::of_phase(phase, plan, folder, |_| Vec::new())?,
        files => {
            let evidence = if args.assume_correct { Evidence::AssumedCorrect } else { Evidence::Unproven };
            foreign_run(phase, files, evidence)?
        }
    };
    let source = RunSource::Recorded { folder: paths(&args.profile) };
    conclude(&run, source, &args.against, &args.folders, &args.saying, out)
}
