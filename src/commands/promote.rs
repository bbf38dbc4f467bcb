//! `ncugate baseline promote`: a run becomes an entry of its phase's leaderboard.

use super::CommandError;
use crate::cli::PromoteArgs;
use crate::exit::Outcome;
use crate::judge::reference_runs::{Leaderboard, Promotion, Worse, entry_of_run, unfit};
use crate::report::leaderboard::change;
use crate::store::Run;
use std::io::Write;

/// Shows the difference to the entry that the run would replace, then replaces it or says why not.
pub fn promote(args: &PromoteArgs, out: &mut dyn Write) -> Result<Outcome, CommandError> {
    let phase = Run::load(&args.run)?.manifest.phase;
    let (entry, judgement) = entry_of_run(&args.name, &args.run, &[])?;
    let mut board = Leaderboard::open(&args.profiles, &phase)?;
    let (name, label) = (entry.name.clone(), entry.label());
    let promotion = Promotion::new(&board, entry);
    match promotion.replaced() {
        Some(before) => writeln!(out, "{name}: {} -> {label}", before.label())?,
        None => writeln!(out, "{name}: {label}, the first under these conditions")?,
    }
    if let Some(reason) = unfit(&judgement) {
        writeln!(out, "not promoted: the run itself did not pass: {reason}")?;
        return Ok(Outcome::Failed);
    }
    promotion.changes().iter().try_for_each(|changed| writeln!(out, "  {}", change(changed)))?;
    let worse = if args.accept_worse { Worse::Accept } else { Worse::Refuse };
    if let Some(refusal) = promotion.settle(&mut board, worse)? {
        writeln!(out, "not promoted: {refusal}")?;
        return Ok(Outcome::Failed);
    }
    writeln!(out, "promoted to '{name}' in {}", board.path().display())?;
    Ok(Outcome::Passed)
}
