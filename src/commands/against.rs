//! What `baseline.`, `best.` and `previous.` stand for in a judgement, found among stored runs and leaderboards.

use super::CommandError;
use super::judge::{Judged, Subject};
use crate::baseline::{self, BEST, Calibration, Conditions, Entry, Leaderboard, Lookup, NoiseBook};
use crate::campaign::wanted;
use crate::cli::Against;
use crate::config::{self, Phase};
use crate::expr::Owner;
use crate::frame::Quantities;
use crate::judge::{Context, Stored};
use crate::plan::unroll;
use crate::report::RunSource;
use crate::store::{Fingerprint, Manifest, Run, RunState};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Stored runs by the name that requirements use.
#[derive(Debug, Default)]
pub struct Standings {
    stored: BTreeMap<String, (Entry, Quantities)>,
    absent: BTreeMap<String, String>,
    noise: Option<Calibration>,
    /// The run before this one, where no requirement asks for it.
    before: Option<(Entry, Quantities)>,
    /// What the reader must be warned of.
    pub warnings: Vec<String>,
}

impl Standings {
    /// Finds what the command line and the phase's requirements ask for; unlike conditions are an error unless they are
    /// allowed.
    pub fn find(subject: &Subject, against: &Against, profiles: &Path) -> Result<Self, CommandError> {
        let mut standings = Self::default();
        let finder = Finder { phase: &subject.phase, profiles, conditions: conditions(&subject.run)? };
        standings.noise = NoiseBook::open(profiles, &subject.phase.name)?.find(&finder.conditions).cloned();
        if let Some(name) = &against.against {
            let entry = finder.named(name)?;
            standings.insert("baseline", entry, &finder.conditions, against)?;
        }
        if wanted::reads(&subject.phase, &Owner::Best) {
            match finder.best(against)? {
                Ok(entry) => standings.insert(BEST, entry, &finder.conditions, against)?,
                Err(reason) => {
                    standings.absent.insert(BEST.to_owned(), reason);
                }
            }
        }
        if wanted::reads(&subject.phase, &Owner::Previous) {
            match finder.previous(&subject.run.manifest)? {
                Some(entry) => standings.insert("previous", entry, &finder.conditions, against)?,
                None => {
                    let reason = "no complete run of this phase was measured earlier under the same conditions";
                    standings.absent.insert("previous".to_owned(), reason.to_owned());
                }
            }
        }
        Ok(standings)
    }

    /// Refuses what `--against` names before anything is measured: by what the phase alone decides, and, where they are
    /// known, by machine and tools.
    pub fn foresee(
        phase: &Phase,
        fingerprint: Option<&Fingerprint>,
        against: &Against,
        profiles: &Path,
    ) -> Result<(), CommandError> {
        let Some(name) = &against.against else { return Ok(()) };
        let now = Conditions::ahead(phase, &fingerprint.cloned().unwrap_or_default());
        let finder = Finder { phase, profiles, conditions: now };
        if fingerprint.is_some() {
            let entry = finder.named(name)?;
            return Self::default().insert("baseline", entry, &finder.conditions, against);
        }
        let Some(folder) = finder.folder(name) else { return finder.on_board(name).map(|_| ()) };
        let then = conditions(&Run::load(&folder)?)?;
        let differences = finder.conditions.differences_of_phase(&then);
        if differences.is_empty() || against.allow_mismatch {
            return Ok(());
        }
        Err(CommandError::Unlike { label: folder.display().to_string(), differences })
    }

    /// What the requirements of a stored run ask for, in the folder of runs that it lies in. What cannot be compared is a
    /// warning: then the requirement that asks for it cannot be told.
    pub fn around(subject: &Subject) -> Self {
        let folder = std::path::absolute(&subject.run.folder).unwrap_or_default();
        let Some(profiles) = folder.parent().and_then(Path::parent) else { return Self::default() };
        Self::find(subject, &Against::default(), profiles)
            .unwrap_or_else(|error| Self { warnings: vec![error.to_string()], ..Self::default() })
    }

    /// Also finds the run before this one, to be set beside it. It decides nothing, so one that cannot be read is a
    /// warning.
    pub fn look_back(&mut self, subject: &Subject, profiles: &Path) -> Result<(), CommandError> {
        if self.stored.contains_key("previous") || subject.foreign.is_some() {
            return Ok(());
        }
        let finder = Finder { phase: &subject.phase, profiles, conditions: conditions(&subject.run)? };
        match finder.previous(&subject.run.manifest) {
            Ok(entry) => self.before = entry.map(|entry| (entry.clone(), entry.quantities())),
            Err(error) => self.warnings.push(format!("the run before this one is not beside it: {error}")),
        }
        Ok(())
    }

    /// Stored runs that the selected variant is set beside, with where each comes from.
    pub fn beside(&self) -> Vec<(&'static str, String, &Entry, &Quantities)> {
        let stored = self.stored.iter().map(|(name, (entry, quantities))| {
            let what = match name.as_str() {
                "previous" => "previous run",
                BEST => "best run",
                _ => "stored baseline",
            };
            (what, entry, quantities)
        });
        let before = self.before.iter().map(|(entry, quantities)| ("previous run", entry, quantities));
        stored.chain(before).map(|(what, entry, quantities)| (what, entry.label(), entry, quantities)).collect()
    }

    fn insert(&mut self, name: &str, entry: Entry, now: &Conditions, against: &Against) -> Result<(), CommandError> {
        let differences = now.differences(&entry.conditions);
        if !differences.is_empty() {
            if !against.allow_mismatch {
                return Err(CommandError::Unlike { label: entry.label(), differences });
            }
            let label = entry.label();
            self.warnings.push(format!("'{name}' is {label}, measured otherwise: {}", differences.join("; ")));
        }
        let quantities = entry.quantities();
        self.stored.insert(name.to_owned(), (entry, quantities));
        Ok(())
    }

    /// Lends what was found to a judgement.
    pub fn lend<'a>(&'a self, context: &mut Context<'a>) {
        for (name, (entry, quantities)) in &self.stored {
            let stored = Stored { label: entry.label(), quantities, variant: entry.variant.clone() };
            context.stored.insert(name.clone(), stored);
        }
        context.absent = self.absent.clone();
        context.noise = self.noise.iter().flat_map(Calibration::by_shape).collect();
    }

    /// Names that stored runs answer for.
    pub fn names(&self) -> Vec<&str> {
        self.stored.keys().map(String::as_str).collect()
    }

    /// A line a stored run, for the report.
    pub fn labels(&self) -> Vec<String> {
        self.stored.iter().map(|(name, (entry, _))| format!("{name}: {}", entry.label())).collect()
    }
}

/// Machine, tools and problem of a run, and how it was timed.
pub fn conditions(run: &Run) -> Result<Conditions, CommandError> {
    let phase = config::parse(&run.folder.join("phase.toml"), &run.phase)?;
    Ok(Conditions::new(&run.manifest.fingerprint, &run.workload, &phase.bench))
}

/// The entry that a stored run makes, judged by the phase it was run with; also values of `metrics`.
pub fn entry(name: &str, folder: &Path, metrics: &[String]) -> Result<(Entry, Judged), CommandError> {
    let run = Run::load(folder)?;
    let lacking = |reason: &str| CommandError::NoStanding { folder: folder.to_owned(), reason: reason.to_owned() };
    if run.manifest.state != RunState::Complete {
        return Err(lacking("it did not measure everything it should"));
    }
    let phase = config::parse(&folder.join("phase.toml"), &run.phase)?;
    let plan = unroll(&phase)?;
    let source = RunSource::Recorded { folder: folder.display().to_string() };
    let subject = Subject { phase, plan, run, source, foreign: None };
    let conditions = conditions(&subject.run)?;
    let judged = Judged::new(&subject, metrics, &Standings::default())?;
    let selected = judged.judgement.selected.as_ref();
    let selected = selected.ok_or_else(|| lacking("no variant of it is both correct and measured by its objective"))?;
    let entry = Entry::new(
        name,
        baseline::Subject {
            manifest: &subject.run.manifest,
            conditions: &conditions,
            objective: &subject.phase.objective,
            variant: &selected.variant,
            value: selected.value,
            quantities: &judged.quantities,
        },
    );
    Ok((entry, judged))
}

struct Finder<'a> {
    phase: &'a Phase,
    profiles: &'a Path,
    conditions: Conditions,
}

impl Finder<'_> {
    /// A folder, a run of the phase, or an entry of its leaderboard.
    fn named(&self, name: &str) -> Result<Entry, CommandError> {
        match self.folder(name) {
            Some(folder) => self.of_run(&folder),
            None => self.on_board(name),
        }
    }

    /// The folder of a run that a name stands for.
    fn folder(&self, name: &str) -> Option<PathBuf> {
        let folders = [PathBuf::from(name), self.profiles.join(&self.phase.name).join(name)];
        folders.into_iter().find(|folder| folder.join("manifest.json").is_file())
    }

    fn on_board(&self, name: &str) -> Result<Entry, CommandError> {
        match self.board()?.find(name, &self.conditions) {
            Lookup::Alike(entry) | Lookup::Unlike(entry, _) => Ok(entry.clone()),
            Lookup::Absent => Err(CommandError::Usage(format!(
                "--against {name}: neither a run's folder, nor a run in {}, nor an entry of its leaderboard",
                self.profiles.join(&self.phase.name).display()
            ))),
        }
    }

    fn board(&self) -> Result<Leaderboard, CommandError> {
        Ok(Leaderboard::open(self.profiles, &self.phase.name)?)
    }

    fn of_run(&self, folder: &Path) -> Result<Entry, CommandError> {
        let name = folder.file_name().unwrap_or_default().to_string_lossy();
        Ok(entry(&name, folder, &wanted::metrics(self.phase))?.0)
    }

    /// The leaderboard's best, or why there is none to compare with.
    fn best(&self, against: &Against) -> Result<Result<Entry, String>, CommandError> {
        let board = self.board()?;
        let path = board.path().display();
        Ok(match board.find(BEST, &self.conditions) {
            Lookup::Alike(entry) => Ok(entry.clone()),
            Lookup::Unlike(entry, _) if against.allow_mismatch => Ok(entry.clone()),
            Lookup::Unlike(_, differences) => Err(format!(
                "{path} has no entry that was measured under the same conditions ({})",
                differences.join("; ")
            )),
            Lookup::Absent => Err(format!("{path} has no entry '{BEST}'; `ncugate baseline promote RUN` makes one")),
        })
    }

    /// The newest complete run of the phase before this one under the same conditions.
    fn previous(&self, ours: &Manifest) -> Result<Option<Entry>, CommandError> {
        let Ok(folders) = std::fs::read_dir(self.profiles.join(&self.phase.name)) else { return Ok(None) };
        let manifest = |folder: PathBuf| {
            let text = std::fs::read(folder.join("manifest.json")).ok()?;
            let manifest: Manifest = serde_json::from_slice(&text).ok()?;
            let earlier = manifest.started < ours.started && manifest.state == RunState::Complete;
            earlier.then_some((manifest.started, folder))
        };
        let mut earlier: Vec<_> = folders.filter_map(|entry| manifest(entry.ok()?.path())).collect();
        earlier.sort();
        for (_, folder) in earlier.into_iter().rev() {
            if self.conditions.differences(&conditions(&Run::load(&folder)?)?).is_empty() {
                return self.of_run(&folder).map(Some);
            }
        }
        Ok(None)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn unlike_machines_and_tools_are_refused_before_anything_is_measured() {
        let phase = config::load(Path::new("configs/phase_d.toml")).unwrap();
        let recording = phase.recording.clone().unwrap();
        let then = Run::load(&recording).unwrap().manifest.fingerprint;
        let foreseen = |now: &Fingerprint, allow_mismatch: bool| {
            let against = Against { against: Some(recording.display().to_string()), allow_mismatch };
            Standings::foresee(&phase, Some(now), &against, Path::new("profiles"))
        };
        assert!(foreseen(&then, false).is_ok(), "the same machine, tools and workload");
        type Change = fn(&mut Fingerprint);
        let changes: [(&str, Change); 5] = [
            ("GPU", |now| now.gpu.iter_mut().for_each(|gpu| gpu.sms += 1)),
            ("driver", |now| now.driver = Some("1.2".to_owned())),
            ("ncu", |now| now.ncu = Some("1.2".to_owned())),
            ("nvcc", |now| now.nvcc = None),
            ("replay mode", |now| now.replay_mode = "range".to_owned()),
        ];
        for (what, change) in changes {
            let mut now = then.clone();
            change(&mut now);
            let Err(CommandError::Unlike { differences, .. }) = foreseen(&now, false) else {
                unreachable!("{what} is another")
            };
            assert!(differences.len() == 1 && differences[0].starts_with(what), "{differences:?}");
            assert!(foreseen(&now, true).is_ok(), "--allow-mismatch");
        }
    }
}
