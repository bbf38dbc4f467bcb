//! Stored runs by name, by leaderboard and by date, each reduced to an entry.

use super::{BEST, Conditions, EntrySource, Leaderboard, LeaderboardEntry, Lookup, MismatchPolicy};
use crate::frame::required_metrics;
use crate::measurements::Measurements;
use crate::store::{MANIFEST, Manifest, Run, RunState, RunVerdict};
use crate::traced_values::{is_traced, without_durations};
use crate::{Context, JudgeError, Judgement, PhaseRun, judge};
use jiff::civil::Date;
use ncugate_model::disk;
use ncugate_phase::config::{self, Phase};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Machine, tools and problem of a run, and how it was timed.
///
/// # Errors
/// The phase that was kept with the run cannot be read.
pub fn conditions_of(run: &Run) -> Result<Conditions, JudgeError> {
    let phase = config::parse_in(&run.folder.join("phase.toml"), &run.phase, run.manifest.project.as_deref())?;
    let conditions = Conditions::new(&run.manifest.fingerprint, &run.workload, &phase.bench);
    Ok(Conditions { software: run.manifest.software.clone(), ..conditions })
}

/// The entry that a stored run makes, judged by the phase it was run with, which compares it with no stored run; also
/// values of `metrics`.
///
/// # Errors
/// The run cannot be read, is not complete, or selects no variant.
pub fn entry_of_run(
    name: &str,
    folder: &Path,
    metrics: &[String],
    today: Date,
) -> Result<(LeaderboardEntry, Judgement), JudgeError> {
    let lacking = |reason: &str| JudgeError::NoReference { folder: folder.to_owned(), reason: reason.to_owned() };
    let run = Run::load(folder)?;
    if run.manifest.state != RunState::Complete {
        return Err(lacking("it did not measure everything it should"));
    }
    if run.manifest.shard.is_some() {
        return Err(lacking("it is a shard; `ncugate cluster merge` puts shards together"));
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
    let context = Context { witness: Some(measured.witness()), ..Context::new(measured.capability(), today) };
    let judgement = judge(&phase, &plan, measured.quantities(), measured.correctness(), &context);
    let selected = judgement.selected.as_ref();
    let selected = selected.ok_or_else(|| lacking("no variant of it is both correct and measured by its objective"))?;
    // Later runs may have durations of ncu, which are not compared with CUPTI's.
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

/// Where stored runs of a phase are looked for, and what they are compared with.
pub struct Finder<'a> {
    pub phase: &'a Phase,
    /// The folder of runs and leaderboards.
    pub profiles: &'a Path,
    /// Conditions of the run that is judged.
    pub conditions: Conditions,
    /// The day that stored runs are judged on.
    pub today: Date,
}

impl Finder<'_> {
    /// A folder, a run of the phase, or an entry of its leaderboard.
    pub fn named(&self, name: &str) -> Result<LeaderboardEntry, JudgeError> {
        match self.folder(name) {
            Some(folder) => self.of_run(&folder),
            None => self.on_board(name),
        }
    }

    /// The folder of a run that a name stands for.
    pub fn folder(&self, name: &str) -> Option<PathBuf> {
        let folders = [self.phase.root.join(name), self.profiles.join(&self.phase.name).join(name)];
        folders.into_iter().find(|folder| folder.join("manifest.json").is_file())
    }

    /// An entry of the phase's leaderboard.
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

    /// The leaderboard's best, or why there is none to compare with.
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
                Err(format!("{path} has no entry '{BEST}'; `ncugate leaderboard promote RUN` makes one"))
            }
        })
    }

    /// The newest run of the phase before this one that passed under the same conditions. A run that failed is not what the
    /// next one is measured by, and one whose end was not judged has not passed.
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
