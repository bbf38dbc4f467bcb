//! `ncugate leaderboard promote`: a run becomes an entry of its phase's leaderboard.

use super::run_name::run_folder;
use super::{CommandError, print};
use crate::cli::{OutputFormat, PromoteArgs};
use crate::console::Output;
use crate::exit::Outcome;
use crate::invocation::Invocation;
use ncugate_judge::reference_runs::{Leaderboard, LeaderboardEntry, Promotion, RegressionPolicy, entry_of_run, unfit};
use ncugate_judge::store::Run;
use ncugate_report::leaderboard::change;
use serde::Serialize;
use std::io::{self, Write};
use std::path::PathBuf;

/// The result of a promotion.
#[derive(Serialize)]
struct PromotionResult {
    entry: String,
    label: String,
    /// The entry under the same conditions that the run would replace.
    before: Option<String>,
    changes: Vec<String>,
    promoted: bool,
    /// The reason for a refusal.
    reason: Option<String>,
    leaderboard: PathBuf,
}

/// Prints the difference to the entry that the run would replace, then replaces it or prints why not.
pub fn promote(args: &PromoteArgs, invocation: &Invocation, out: &mut Output) -> Result<Outcome, CommandError> {
    let promoted = promoted(args, invocation)?;
    match args.format {
        OutputFormat::Json => print::json(&promoted, out)?,
        OutputFormat::Text => text(&promoted, out)?,
    }
    Ok(if promoted.promoted { Outcome::Passed } else { Outcome::Failed })
}

fn promoted(args: &PromoteArgs, invocation: &Invocation) -> Result<PromotionResult, CommandError> {
    let run = run_folder(&args.run, &args.profiles)?;
    let phase = Run::load(&run)?.manifest.phase;
    let (entry, judgement) = entry_of_run(&args.name, &run, &[], invocation.today())?;
    let mut board = Leaderboard::open(&args.profiles, &phase)?;
    let (name, label) = (entry.name.clone(), entry.label());
    let promotion = Promotion::new(&board, entry);
    let mut found = PromotionResult {
        entry: name,
        label,
        before: promotion.replaced().map(LeaderboardEntry::label),
        changes: Vec::new(),
        promoted: false,
        reason: None,
        leaderboard: board.path().to_owned(),
    };
    if let Some(reason) = unfit(&judgement) {
        found.reason = Some(format!("the run itself did not pass: {reason}"));
        return Ok(found);
    }
    found.changes = promotion.changes().iter().map(change).collect();
    let worse = if args.accept_worse { RegressionPolicy::Accept } else { RegressionPolicy::Refuse };
    found.reason = promotion.settle(&mut board, worse, invocation.started)?.map(|refusal| refusal.to_string());
    found.promoted = found.reason.is_none();
    Ok(found)
}

fn text(found: &PromotionResult, out: &mut Output) -> io::Result<()> {
    let PromotionResult { entry, label, before, changes, reason, leaderboard, .. } = found;
    match before {
        Some(before) => writeln!(out, "{entry}: {before} -> {label}")?,
        None => writeln!(out, "{entry}: {label}, the first under these conditions")?,
    }
    changes.iter().try_for_each(|changed| writeln!(out, "  {changed}"))?;
    match reason {
        Some(reason) => writeln!(out, "not promoted: {reason}"),
        None => writeln!(out, "promoted to '{entry}' in {}", leaderboard.display()),
    }
}
