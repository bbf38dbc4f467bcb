//! Finds stored runs by name, leaderboard and date, and reduces each to an entry.

use super::{BEST, Conditions, EntrySource, Leaderboard, LeaderboardEntry, Lookup, MismatchPolicy};
use crate::frame::required_metrics;
use crate::judged_run::hold_to_evidence;
use crate::measurements::Measurements;
use crate::store::{MANIFEST, Manifest, Run, RunState, RunVerdict};
use crate::traced_values::{is_traced, without_durations};
use crate::{Context, JudgeError, Judgement, LatencyWitness, PhaseRun, judge};
use jiff::civil::Date;
use ncugate_model::disk;
use ncugate_phase::config::Phase;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Machine, tools, problem and timing settings of a run.
///
/// # Errors
/// The phase stored with the run cannot be read.
pub fn conditions_of(run: &Run) -> Result<Conditions, JudgeError> {
    Ok(Conditions::of_run(run, &run.measured_phase()?.bench))
}

/// The entry for a stored run, judged by its own phase without comparison runs; includes the values of `metrics`.
///
/// # Errors
/// The run cannot be read, is incomplete, or has no selected variant.
pub fn entry_of_run(
    name: &str,
    folder: &Path,
    metrics: &[String],
    today: Date,
) -> Result<(LeaderboardEntry, Judgement), JudgeError> {
    let lacking = |reason: &str| JudgeError::NoReference { folder: folder.to_owned(), reason: reason.to_owned() };
    let run = Run::load(folder)?;
    if run.manifest.state != RunState::Complete {
        return Err(lacking("it is incomplete"));
    }
    if run.manifest.shard.is_some() {
        return Err(lacking("it is a shard; `ncugate cluster merge` merges the shards"));
    }
    if let Some(part) = &run.manifest.narrowed {
        return Err(lacking(&format!("it measured a part of its phase ({})", part.words())));
    }
    if !run.is_sealed() {
        return Err(lacking("it is not sealed: its manifest does not list its files (measure again)"));
    }
    let PhaseRun { phase, plan, run, evidence } = PhaseRun::of_run(run)?;
    let conditions = conditions_of(&run)?;
    let measured = Measurements::read(&phase, &plan, Arc::clone(&run), evidence, metrics)?;
    let context =
        Context { witness: LatencyWitness::Counters(measured.witness()), ..Context::new(measured.capability(), today) };
    let mut judgement = judge(&phase, &plan, measured.quantities(), measured.correctness(), &context);
    hold_to_evidence(&mut judgement, &measured);
    let selected = judgement.selected.as_ref();
    let selected =
        selected.ok_or_else(|| lacking("none of its variants is both correct and measured by its objective"))?;
    // Later runs may have ncu durations, which are not compared with CUPTI's.
    let own = is_traced(&run).then(|| without_durations(measured.quantities()));
    let entry = LeaderboardEntry::new(
        name,
        EntrySource {
            manifest: &run.manifest,
            conditions: &conditions,
            objective: &phase.objective,
            variant: &selected.variant,
            value: selected.value,
            quantities: own.as_ref().unwrap_or_else(|| measured.quantities()),
        },
    );
    Ok((entry, judgement))
}

/// The place to look for a phase's stored runs, and the conditions for comparison.
pub struct Finder<'a> {
    pub phase: &'a Phase,
    /// The folder of runs and leaderboards.
    pub profiles: &'a Path,
    /// Conditions of the judged run.
    pub conditions: Conditions,
    /// The day on which stored runs are judged.
    pub today: Date,
}

impl Finder<'_> {
    /// Finds a folder, a run of the phase, or an entry of its leaderboard.
    pub fn named(&self, name: &str) -> Result<LeaderboardEntry, JudgeError> {
        match self.folder(name) {
            Some(folder) => self.of_run(&folder),
            None => self.on_board(name),
        }
    }

    /// The folder of a run with this name.
    pub fn folder(&self, name: &str) -> Option<PathBuf> {
        let folders = [self.phase.root.join(name), self.profiles.join(&self.phase.name).join(name)];
        folders.into_iter().find(|folder| folder.join("manifest.json").is_file())
    }

    /// Finds an entry of the phase's leaderboard.
    pub fn on_board(&self, name: &str) -> Result<LeaderboardEntry, JudgeError> {
        match self.board()?.find(name, &self.conditions) {
            Lookup::Alike(entry) | Lookup::Unlike(entry, _) => Ok(entry.clone()),
            Lookup::Absent => Err(JudgeError::NotFound(format!(
                "--against {name}: neither a run's folder, nor a run in {}, nor an entry of its leaderboard",
                self.profiles.join(&self.phase.name).display()
            ))),
        }
    }

    fn board(&self) -> Result<Leaderboard, JudgeError> {
        Ok(Leaderboard::open(self.profiles, &self.phase.name)?)
    }

    fn of_run(&self, folder: &Path) -> Result<LeaderboardEntry, JudgeError> {
        let name = folder.file_name().unwrap_or_default().to_string_lossy();
        Ok(entry_of_run(&name, folder, &required_metrics::metrics(self.phase), self.today)?.0)
    }

    /// The best entry of the leaderboard, or why none is comparable.
    pub fn best(&self, mismatch: MismatchPolicy) -> Result<Result<LeaderboardEntry, String>, JudgeError> {
        let board = self.board()?;
        let path = board.path().display();
        Ok(match (board.standing(BEST, &self.conditions), mismatch) {
            (Lookup::Alike(entry), _) | (Lookup::Unlike(entry, _), MismatchPolicy::Allow) => Ok(entry.clone()),
            (Lookup::Unlike(_, differences), MismatchPolicy::Refuse) => Err(format!(
                "{path} has no entry that was measured under the same conditions ({})",
                differences.join("; ")
            )),
            (Lookup::Absent, _) => {
                Err(format!("{path} has no entry '{BEST}'; `ncugate leaderboard promote RUN` adds one"))
            }
        })
    }

    /// The newest earlier run of the phase that passed under the same conditions. Runs that failed or were not judged
    /// to the end are skipped.
    pub fn previous(&self, ours: &Manifest) -> Result<Option<LeaderboardEntry>, JudgeError> {
        let Ok(folders) = std::fs::read_dir(self.profiles.join(&self.phase.name)) else { return Ok(None) };
        let manifest = |folder: PathBuf| {
            let text = disk::open::bytes(&folder.join("manifest.json"), MANIFEST).ok()?;
            let manifest: Manifest = serde_json::from_slice(&text).ok()?;
            let passed = manifest.verdict.as_ref().is_some_and(RunVerdict::is_reference);
            let whole = manifest.state == RunState::Complete && manifest.seal.is_some() && manifest.narrowed.is_none();
            let earlier = manifest.started < ours.started;
            (earlier && whole && passed).then_some((manifest.started, folder))
        };
        let mut earlier: Vec<_> = folders.filter_map(|entry| manifest(entry.ok()?.path())).collect();
        earlier.sort();
        for (_, folder) in earlier.into_iter().rev() {
            if self.conditions.differences(&conditions_of(&Run::load(&folder)?)?).is_empty() {
                return self.of_run(&folder).map(Some);
            }
        }
        Ok(None)
    }
}
