//! Resolves `baseline.`, `best.` and `previous.` in a judgement to stored runs and leaderboard entries.

use super::finder::{Finder, conditions_of};
use super::{BEST, Calibration, Conditions, LeaderboardEntry, MismatchPolicy, NoiseBook, ReferenceRequest};
use crate::frame::required_metrics;
use crate::store::{Fingerprint, Run};
use crate::{Context, Evidence, JudgeError, PhaseRun, StoredRun};
use jiff::civil::Date;
use ncugate_model::expr::Owner;
use ncugate_model::{Quantities, VariantId};
use ncugate_phase::config::Phase;
use std::collections::BTreeMap;
use std::path::Path;

/// A stored run that the selected variant is compared with.
#[derive(Debug, Clone)]
pub struct ComparisonRun<'a> {
    /// `previous run`, `best run` or `stored baseline`.
    pub what: &'static str,
    /// `run 20261121T022130Z of 2026-11-21, variant A=1`
    pub label: String,
    /// The variant that represents it.
    pub variant: &'a VariantId,
    pub quantities: &'a Quantities,
}

/// Stored runs by their name in requirements.
#[derive(Debug, Default)]
pub struct ReferenceRuns {
    stored: BTreeMap<String, (LeaderboardEntry, Quantities)>,
    absent: BTreeMap<String, String>,
    noise: Option<Calibration>,
    /// The previous run, if no requirement reads it.
    before: Option<(LeaderboardEntry, Quantities)>,
    /// Warnings for the reader.
    pub warnings: Vec<String>,
}

impl ReferenceRuns {
    /// Finds the runs that the command line and the phase's requirements ask for.
    ///
    /// # Errors
    /// A named run is missing or cannot be read, or its conditions differ and that is not allowed.
    pub fn find(
        phase: &Phase,
        run: &Run,
        request: &ReferenceRequest,
        profiles: &Path,
        today: Date,
    ) -> Result<Self, JudgeError> {
        let mut found = Self::default();
        let finder = Finder { phase, profiles, conditions: conditions_of(run)?, today };
        found.noise = NoiseBook::open(profiles, &phase.name)?.find(&finder.conditions).cloned();
        if let Some(name) = &request.name {
            found.insert("baseline", finder.named(name)?, &finder.conditions, request.mismatch)?;
        }
        if required_metrics::reads(phase, &Owner::Best) {
            match finder.best(request.mismatch)? {
                Ok(entry) => found.insert(BEST, entry, &finder.conditions, request.mismatch)?,
                Err(reason) => {
                    found.absent.insert(BEST.to_owned(), reason);
                }
            }
        }
        if required_metrics::reads(phase, &Owner::Previous) {
            match finder.previous(&run.manifest)? {
                Some(entry) => found.insert("previous", entry, &finder.conditions, request.mismatch)?,
                None => {
                    let reason =
                        "no earlier run of this phase is complete, passed, and was measured under the same conditions";
                    found.absent.insert("previous".to_owned(), reason.to_owned());
                }
            }
        }
        Ok(found)
    }

    /// Rejects an invalid request before anything is measured, based on the phase and, if known, on machine and
    /// tools.
    ///
    /// # Errors
    /// A named run is missing or cannot be read, or its conditions differ and that is not allowed.
    pub fn validate(
        phase: &Phase,
        fingerprint: Option<&Fingerprint>,
        request: &ReferenceRequest,
        profiles: &Path,
        today: Date,
    ) -> Result<(), JudgeError> {
        let Some(name) = &request.name else { return Ok(()) };
        let now = Conditions::ahead(phase, &fingerprint.cloned().unwrap_or_default());
        let finder = Finder { phase, profiles, conditions: now, today };
        if fingerprint.is_some() {
            let entry = finder.named(name)?;
            return Self::default().insert("baseline", entry, &finder.conditions, request.mismatch);
        }
        let Some(folder) = finder.folder(name) else { return finder.on_board(name).map(|_| ()) };
        let then = conditions_of(&Run::load(&folder)?)?;
        let differences = finder.conditions.differences_of_phase(&then);
        if differences.is_empty() || request.mismatch == MismatchPolicy::Allow {
            return Ok(());
        }
        Err(JudgeError::Unlike { label: folder.display().to_string(), differences })
    }

    /// The runs that a stored run's requirements ask for, from the profiles folder that contains it. If a run cannot
    /// be compared, this adds a warning, and the requirement on it is inconclusive.
    pub fn of_stored_run(run: &PhaseRun, today: Date) -> Self {
        let folder = run.run.folder.canonicalize().unwrap_or_default();
        let Some(profiles) = folder.parent().and_then(Path::parent) else { return Self::default() };
        Self::find(&run.phase, &run.run, &ReferenceRequest::default(), profiles, today)
            .unwrap_or_else(|error| Self { warnings: vec![error.to_string()], ..Self::default() })
    }

    /// Also finds the previous run, for display next to this one. It decides nothing, so a read error is a warning.
    ///
    /// # Errors
    /// The conditions of the run itself cannot be read.
    pub fn resolve_previous(
        &mut self,
        phase: &Phase,
        run: &Run,
        evidence: Evidence,
        profiles: &Path,
        today: Date,
    ) -> Result<(), JudgeError> {
        if self.stored.contains_key("previous") || evidence != Evidence::Measured {
            return Ok(());
        }
        let finder = Finder { phase, profiles, conditions: conditions_of(run)?, today };
        match finder.previous(&run.manifest) {
            Ok(entry) => self.before = entry.map(|entry| (entry.clone(), entry.quantities())),
            Err(error) => self.warnings.push(format!("no comparison with the previous run: {error}")),
        }
        Ok(())
    }

    /// Stored runs that the selected variant is compared with.
    pub fn comparison_runs(&self) -> Vec<ComparisonRun<'_>> {
        let stored = self.stored.iter().map(|(name, (entry, quantities))| {
            let what = match name.as_str() {
                "previous" => "previous run",
                BEST => "best run",
                _ => "stored baseline",
            };
            (what, entry, quantities)
        });
        let before = self.before.iter().map(|(entry, quantities)| ("previous run", entry, quantities));
        stored
            .chain(before)
            .map(|(what, entry, quantities)| ComparisonRun {
                what,
                label: entry.label(),
                variant: &entry.variant,
                quantities,
            })
            .collect()
    }

    fn insert(
        &mut self,
        name: &str,
        entry: LeaderboardEntry,
        now: &Conditions,
        mismatch: MismatchPolicy,
    ) -> Result<(), JudgeError> {
        let differences = now.differences(&entry.conditions);
        if mismatch == MismatchPolicy::Allow && !now.is_same_gpu(&entry.conditions) {
            let reason = format!("{} was measured on another or an unknown GPU", entry.label());
            self.warnings.push(format!("no comparison with '{name}': {reason}"));
            self.absent.insert(name.to_owned(), reason);
            return Ok(());
        }
        if !differences.is_empty() {
            let label = entry.label();
            match mismatch {
                MismatchPolicy::Refuse => return Err(JudgeError::Unlike { label, differences }),
                MismatchPolicy::Allow => self
                    .warnings
                    .push(format!("'{name}' is {label}, measured under other conditions: {}", differences.join("; "))),
            }
        }
        let quantities = entry.quantities();
        self.stored.insert(name.to_owned(), (entry, quantities));
        Ok(())
    }

    /// Adds the stored runs to the context of a judgement.
    pub fn add_to<'a>(&'a self, context: &mut Context<'a>) {
        for (name, (entry, quantities)) in &self.stored {
            let stored = StoredRun { label: entry.label(), quantities, variant: entry.variant.clone() };
            context.stored.insert(name.clone(), stored);
        }
        context.absent = self.absent.clone();
        context.noise = self.noise.iter().flat_map(Calibration::by_shape).collect();
    }

    /// Names that refer to stored runs.
    pub fn names(&self) -> Vec<&str> {
        self.stored.keys().map(String::as_str).collect()
    }

    /// Whether a name in a requirement refers to no run.
    pub fn is_absent(&self, name: &str) -> bool {
        self.absent.contains_key(name)
    }

    /// One line per stored run, for the report.
    pub fn labels(&self) -> Vec<String> {
        self.stored.iter().map(|(name, (entry, _))| format!("{name}: {}", entry.label())).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ncugate_fixtures::{at_root, root};
    use ncugate_phase::config;

    #[test]
    fn unlike_machines_and_tools_are_refused_before_anything_is_measured() {
        at_root();
        let today = jiff::civil::date(2026, 6, 15);
        let phase = config::load(Path::new("configs/phase_d.toml"), &root(), today).unwrap();
        let recording = phase.recording.clone().unwrap();
        let then = Run::load(&recording).unwrap().manifest.fingerprint;
        let validated = |now: &Fingerprint, allow_mismatch: bool| {
            let name = Some(recording.display().to_string());
            let mismatch = if allow_mismatch { MismatchPolicy::Allow } else { MismatchPolicy::Refuse };
            let request = ReferenceRequest { name, mismatch };
            ReferenceRuns::validate(&phase, Some(now), &request, Path::new("profiles"), today)
        };
        assert!(validated(&then, false).is_ok(), "the recording is like itself");
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
            let Err(JudgeError::Unlike { differences, .. }) = validated(&now, false) else {
                unreachable!("{what} is another")
            };
            assert_eq!(differences.len(), 1, "{differences:?}");
            assert!(differences.iter().any(|text| text.starts_with(what)), "{differences:?}");
            assert!(validated(&now, true).is_ok(), "--allow-mismatch");
        }
    }
}
