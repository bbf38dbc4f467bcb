//! Decides whether an unfinished run can continue: only with the same plan, tools and files, and only from files that
//! ncugate wrote.

use super::ledger::Ledger;
use super::{Manifest, Resumption, Run, RunState, folder, inputs};
use jiff::Timestamp;
use ncugate_model::ProfileOutcome;
use ncugate_model::disk::FileLock;
use ncugate_phase::config::Phase;
use ncugate_phase::plan::Plan;
use std::path::{Path, PathBuf};

/// The run to continue, if any.
#[derive(Debug)]
pub enum Continuation {
    /// This run, which has the same inputs; this process now owns it.
    Of(Box<ResumedRun>),
    /// An unfinished run exists but cannot continue.
    Refused {
        folder: PathBuf,
        /// The differing input.
        reason: String,
    },
    None,
}

/// A run that continues.
#[derive(Debug)]
pub struct ResumedRun {
    /// Its measurements; the manifest now says that it continues.
    pub run: Run,
    /// The write lock, and the ledger of written files.
    pub owned: (FileLock, Ledger),
}

/// The newest unfinished run of `phase` under `profiles` with the same inputs as the run that `manifest` starts.
pub fn unfinished(profiles: &Path, manifest: &Manifest, phase: &Phase, plan: &Plan) -> Continuation {
    let mut refused = Continuation::None;
    for (folder, run) in newest_first(profiles, manifest, |state| state != RunState::Complete) {
        let differs = run.map_or_else(Some, |run| difference(&run, manifest, phase, plan));
        let reason = match differs {
            None => match owned(&folder, manifest.started) {
                Ok(Some(unfinished)) => return Continuation::Of(Box::new(unfinished)),
                Ok(None) => continue,
                Err(reason) => reason,
            },
            Some(reason) => reason,
        };
        if matches!(refused, Continuation::None) {
            refused = Continuation::Refused { folder, reason };
        }
    }
    refused
}

/// The newest complete and sealed run of `phase` under `profiles` with the same inputs as the run that `manifest` starts.
pub fn complete(profiles: &Path, manifest: &Manifest, phase: &Phase, plan: &Plan) -> Option<PathBuf> {
    let mut runs = newest_first(profiles, manifest, |state| state == RunState::Complete);
    runs.find_map(|(folder, run)| {
        let is_same = |run: &Run| run.is_sealed() && difference(run, manifest, phase, plan).is_none();
        run.ok().filter(is_same).map(|_| folder)
    })
}

/// Locks the run and reads it again. `None` if its writer has finished it in the meantime.
fn owned(folder: &Path, at: Timestamp) -> Result<Option<ResumedRun>, String> {
    let lock = folder::claim(folder).map_err(|error| error.to_string())?;
    if Run::load(folder).map_err(|error| error.to_string())?.manifest.state == RunState::Complete {
        return Ok(None);
    }
    let (ledger, written) = Ledger::resume(folder)?;
    let mut run = Run::load(folder).map_err(|error| error.to_string())?;
    ledger.prove_reports(&[run.reports(), run.deep_reports()].concat())?;
    let records = record_count(&run) as u64;
    run.manifest.continued.push(Resumption { at, written, records });
    Ok(Some(ResumedRun { run, owned: (lock, ledger) }))
}

/// Number of measurement records that are reused.
fn record_count(run: &Run) -> usize {
    let failed = |outcome: &ProfileOutcome| matches!(outcome, ProfileOutcome::Failed { .. });
    let profiles = run.profiles.iter().filter(|record| !failed(&record.outcome)).count();
    run.checks.len() + run.latencies.len() + profiles
}

/// Runs in such a state, newest first, or the reason why one cannot be read.
fn newest_first(
    profiles: &Path,
    manifest: &Manifest,
    is_wanted: impl Fn(RunState) -> bool,
) -> impl Iterator<Item = (PathBuf, Result<Run, String>)> {
    let entries = std::fs::read_dir(profiles.join(&manifest.phase)).into_iter().flatten().filter_map(Result::ok);
    let mut folders: Vec<PathBuf> = entries.map(|e| e.path()).filter(|p| p.join("manifest.json").is_file()).collect();
    folders.sort();
    let is_one = move |folder: &Path, manifest: &Manifest| {
        folder.file_name().is_some_and(|name| name == manifest.run.as_str())
            && !manifest.redacted
            && is_wanted(manifest.state)
    };
    folders.into_iter().rev().filter_map(move |folder| {
        let run = Run::load(&folder).map_err(|error| error.to_string());
        let is_wanted = match &run {
            Ok(run) => is_one(&folder, &run.manifest),
            Err(_) => Run::manifest(&folder).is_ok_and(|manifest| is_one(&folder, &manifest)),
        };
        is_wanted.then_some((folder, run))
    })
}

/// The difference between a run about to start and an unfinished one.
fn difference(run: &Run, now: &Manifest, phase: &Phase, plan: &Plan) -> Option<String> {
    let then = &run.manifest;
    if then.shard != now.shard || then.narrowed != now.narrowed {
        return Some("it measures another part of the phase".to_owned());
    }
    let alike = match then.merged.is_empty() {
        true => then.fingerprint == now.fingerprint,
        // Its shards were measured on any machine, but the samples for the verdict are taken on this one.
        false => then.fingerprint.anywhere() == now.fingerprint.anywhere(),
    };
    if !alike {
        return Some("it was measured on another machine or with other tools".to_owned());
    }
    if then.ncugate != now.ncugate {
        return Some(format!("ncugate {} measured it", then.ncugate));
    }
    if then.plan_sha256 != now.plan_sha256 {
        return Some(
            "the phase has other variants, another workload or other settings, or a program changed".to_owned(),
        );
    }
    let differences = inputs::differences(then, phase, plan);
    (!differences.is_empty()).then(|| format!("it was made with {}", differences.join(", ")))
}
