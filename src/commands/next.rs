//! `ncugate next`: what to try next, by a run.

use super::{CommandError, print};
use crate::cli::NextArgs;
use crate::console::Output;
use crate::exit::Outcome;
use crate::judge::reference_runs::ReferenceRuns;
use crate::judge::{PhaseRun, Session};
use crate::report::stored;
use crate::search::{line, next};
use std::io;

/// Prints one line of JSON.
pub fn next_steps(args: &NextArgs, out: &mut Output) -> Result<Outcome, CommandError> {
    let run = PhaseRun::load(&args.run)?;
    let session = Session::of(&run, ReferenceRuns::around(&run))?;
    let mut answer = next(&run, &session, &stored(&run)?);
    let text = line(&mut answer, |answer| answer.proposals.pop().is_some() || answer.findings.pop().is_some());
    print::json_text(&text.map_err(io::Error::other)?, out)?;
    Ok(Outcome::Passed)
}
