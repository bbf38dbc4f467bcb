//! `ncugate leaderboard`: the leaderboard of a phase.

use super::promote::promote;
use super::{CommandError, print};
use crate::cli::{LeaderboardCommand, ListArgs, OutputFormat, ShowEntryArgs};
use crate::console::Output;
use crate::exit::Outcome;
use crate::invocation::Invocation;
use ncugate_judge::reference_runs::{Leaderboard, LeaderboardEntry, phases_with_entries};
use ncugate_model::number::text::line;
use ncugate_phase::config;
use ncugate_report::leaderboard::{summary, value};
use serde::Serialize;
use std::io::Write;
use std::path::Path;

/// Runs the subcommand.
pub fn leaderboard(
    command: &LeaderboardCommand,
    invocation: &Invocation,
    out: &mut Output,
) -> Result<Outcome, CommandError> {
    match command {
        LeaderboardCommand::Promote(args) => promote(args, invocation, out),
        LeaderboardCommand::List(args) => list(args, invocation, out),
        LeaderboardCommand::Show(args) => show(args, invocation, out),
    }
}

/// The name of a phase that is named, or given as its file.
fn phase_name(phase: &str, invocation: &Invocation) -> Result<String, CommandError> {
    let file = Path::new(phase);
    match file.is_file() {
        true => Ok(config::load(file, &invocation.here, invocation.today())?.name),
        false => Ok(phase.to_owned()),
    }
}

/// An entry of a phase's leaderboard, as JSON.
#[derive(Serialize)]
struct PhaseEntry<'a> {
    phase: &'a str,
    #[serde(flatten)]
    entry: &'a LeaderboardEntry,
}

/// The current entries of one phase or of all.
fn list(args: &ListArgs, invocation: &Invocation, out: &mut Output) -> Result<Outcome, CommandError> {
    let named = args.phase.as_deref().map(|phase| phase_name(phase, invocation)).transpose()?;
    let phases = named.map_or_else(|| phases_with_entries(&args.profiles), |phase| vec![phase]);
    let boards = phases.iter().map(|phase| Leaderboard::open(&args.profiles, phase)).collect::<Result<Vec<_>, _>>()?;
    let entries: Vec<_> =
        phases.iter().zip(&boards).flat_map(|(p, board)| board.present().into_iter().map(move |e| (p, e))).collect();
    if args.format == OutputFormat::Json {
        let rows: Vec<PhaseEntry<'_>> = entries.iter().map(|(phase, entry)| PhaseEntry { phase, entry }).collect();
        print::json(&rows, out)?;
        return Ok(Outcome::Passed);
    }
    entries.iter().try_for_each(|(phase, entry)| writeln!(out, "{phase} {}", line(&summary(entry))))?;
    if entries.is_empty() {
        writeln!(out, "no entries; `ncugate leaderboard promote RUN` makes one")?;
    }
    Ok(Outcome::Passed)
}

/// The history of an entry, and every value of the current one.
fn show(args: &ShowEntryArgs, invocation: &Invocation, out: &mut Output) -> Result<Outcome, CommandError> {
    let board = Leaderboard::open(&args.profiles, &phase_name(&args.phase, invocation)?)?;
    let named: Vec<&LeaderboardEntry> = board.entries().iter().filter(|entry| entry.name == args.name).collect();
    let Some(last) = named.last() else {
        let path = board.path().display();
        return Err(CommandError::Usage(format!("{path} has no entry '{}'", args.name)));
    };
    if args.format == OutputFormat::Json {
        print::json(&named, out)?;
        return Ok(Outcome::Passed);
    }
    for entry in &named {
        writeln!(out, "{} {}", entry.promoted.strftime("%Y-%m-%d"), line(&summary(entry)))?;
    }
    last.readings.iter().try_for_each(|reading| writeln!(out, "  {}", line(&value(reading))))?;
    for latency in &last.latencies {
        writeln!(out, "  {} latency samples at {}", latency.samples.len(), latency.shape)?;
    }
    Ok(Outcome::Passed)
}
