//! `ncugate agent next`: suggests the next change after a run.

use super::run_name::run_folder;
use super::{CommandError, print};
use crate::cli::NextArgs;
use crate::console::Output;
use crate::exit::Outcome;
use jiff::civil::Date;
use ncugate_campaign::search::{line, next};
use ncugate_judge::{JudgedRun, PhaseRun};
use ncugate_report::stored;
use std::io;

/// Prints one line of JSON.
pub fn next_steps(args: &NextArgs, today: Date, out: &mut Output) -> Result<Outcome, CommandError> {
    let run = PhaseRun::load(&run_folder(&args.run, &args.profiles)?)?;
    let session = JudgedRun::of_stored(&run, today)?;
    let mut answer = next(&run, &session, &stored(&run, today)?);
    let text = line(&mut answer, |answer| {
        answer.proposals.pop().is_some()
            || answer.findings.pop().is_some()
            || answer.space.pop().is_some()
            || answer.times.pop_last().is_some()
    });
    print::json_text(&text.map_err(io::Error::other)?, out)?;
    Ok(Outcome::Passed)
}
