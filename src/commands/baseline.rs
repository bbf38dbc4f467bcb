//! `ncugate baseline`: the leaderboard of a phase, and how a run gets on it.

use super::CommandError;
use super::against::entry;
use crate::baseline::{Change, Entry, Leaderboard, Promotion, Worse};
use crate::cli::{BaselineCommand, ListArgs, PromoteArgs, ShowBaselineArgs};
use crate::exit::Outcome;
use crate::metric::Catalogue;
use crate::model::Verdict;
use crate::number;
use crate::store::Run;
use std::io::Write;
use std::path::Path;

/// Does what is asked.
pub fn baseline(command: &BaselineCommand, out: &mut dyn Write) -> Result<Outcome, CommandError> {
    match command {
        BaselineCommand::Promote(args) => promote(args, out),
        BaselineCommand::List(args) => list(args, out),
        BaselineCommand::Show(args) => show(args, out),
    }
}

/// Shows the difference to the entry that the run would replace, then replaces it or says why not.
fn promote(args: &PromoteArgs, out: &mut dyn Write) -> Result<Outcome, CommandError> {
    let phase = Run::load(&args.run)?.manifest.phase;
    let (entry, judged) = entry(&args.name, &args.run, &[])?;
    let mut board = Leaderboard::open(&args.profiles, &phase)?;
    let (name, label) = (entry.name.clone(), entry.label());
    let promotion = Promotion::new(&board, entry);
    match promotion.replaced() {
        Some(before) => writeln!(out, "{name}: {} -> {label}", before.label())?,
        None => writeln!(out, "{name}: {label}, the first under these conditions")?,
    }
    if judged.judgement.verdict != Verdict::Pass {
        writeln!(out, "the run itself did not pass: {}", judged.judgement.reason)?;
    }
    for change in promotion.changes() {
        writeln!(out, "  {}", line(&change))?;
    }
    let worse = if args.accept_worse { Worse::Accept } else { Worse::Refuse };
    match promotion.settle(&mut board, worse)? {
        Some(refusal) => {
            writeln!(out, "not promoted: {refusal}")?;
            Ok(Outcome::Failed)
        }
        None => {
            writeln!(out, "promoted to '{name}' in {}", board.path().display())?;
            Ok(Outcome::Passed)
        }
    }
}

fn line(change: &Change) -> String {
    let unit = Catalogue::embedded().get(&change.metric).map_or_else(String::new, |m| m.unit.clone());
    let said = |value: Option<f64>| value.map_or_else(|| "-".to_owned(), |v| number::said(v, &unit));
    let place = format!("{} at {}", change.metric, change.shape);
    match (change.before, change.after) {
        (Some(before), Some(after)) if before == after => format!("{place}: {}", said(Some(after))),
        (Some(before), Some(after)) if before != 0.0 => {
            let percent = (after - before) / before.abs() * 100.0;
            let sign = if percent > 0.0 { "+" } else { "" };
            format!("{place}: {} -> {} ({sign}{percent:.2} %)", said(Some(before)), said(Some(after)))
        }
        (None, after) => format!("{place}: {}", said(after)),
        (before, after) => format!("{place}: {} -> {}", said(before), said(after)),
    }
}

/// Entries that count now, of one phase or of all.
fn list(args: &ListArgs, out: &mut dyn Write) -> Result<Outcome, CommandError> {
    let phases = match &args.phase {
        Some(phase) => vec![phase.clone()],
        None => phases(&args.profiles),
    };
    let mut listed = 0;
    for phase in phases {
        let board = Leaderboard::open(&args.profiles, &phase)?;
        for entry in board.present() {
            writeln!(out, "{phase} {}", summary(entry))?;
            listed += 1;
        }
    }
    if listed == 0 {
        writeln!(out, "no entries; `ncugate baseline promote RUN` makes one")?;
    }
    Ok(Outcome::Passed)
}

fn phases(profiles: &Path) -> Vec<String> {
    let mut names: Vec<String> = std::fs::read_dir(profiles)
        .into_iter()
        .flatten()
        .filter_map(|entry| entry.ok())
        .filter(|entry| entry.path().join("leaderboard.jsonl").is_file())
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}

fn summary(entry: &Entry) -> String {
    let gpu = entry.conditions.fingerprint.gpu.as_ref().map_or("unknown GPU", |gpu| gpu.name.as_str());
    let score = &entry.objective;
    let worse = if entry.accepted_worse { ", accepted although worse" } else { "" };
    let value = number::short(score.value);
    format!("{}: {} {value} at {}, {} ({gpu}{worse})", entry.name, score.metric, score.shape, entry.label())
}

/// The history of a phase's entries, and every value of the last one.
fn show(args: &ShowBaselineArgs, out: &mut dyn Write) -> Result<Outcome, CommandError> {
    let board = Leaderboard::open(&args.profiles, &args.phase)?;
    let named: Vec<&Entry> = board.entries().iter().filter(|entry| entry.name == args.name).collect();
    let Some(last) = named.last() else {
        let path = board.path().display();
        return Err(CommandError::Usage(format!("{path} has no entry '{}'", args.name)));
    };
    for entry in &named {
        writeln!(out, "{} {}", entry.promoted.strftime("%Y-%m-%d"), summary(entry))?;
    }
    for reading in &last.readings {
        let unit = Catalogue::embedded().get(&reading.metric).map_or_else(String::new, |m| m.unit.clone());
        writeln!(out, "  {} at {}: {}", reading.metric, reading.shape, number::said(reading.value, &unit))?;
    }
    for latency in &last.latencies {
        writeln!(out, "  {} latency samples at {}", latency.samples.len(), latency.shape)?;
    }
    Ok(Outcome::Passed)
}
