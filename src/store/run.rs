//! A run's folder: created, continued, read back.

use super::journal::{self, Journal};
use super::{Manifest, RunState, RunVerdict, StoreError};
use crate::config::is_name;
use crate::disk::open;
use crate::model::{BuildRecord, CheckRecord, DeepProfile, LatencyRecord, ProfileOutcome, ProfileRecord, VariantId};
use crate::plan::Plan;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// Version of the layout that this program writes and reads.
pub const SCHEMA: u32 = 1;
/// Characters of a wrong name that are shown.
const SHOWN: usize = 80;

/// Everything that a run measured, as read from its folder.
#[derive(Debug, Clone)]
pub struct Run {
    /// The folder.
    pub folder: PathBuf,
    /// When, where, with what.
    pub manifest: Manifest,
    /// The phase's text, as run.
    pub phase: String,
    /// What was planned.
    pub plan: Plan,
    /// The workload that was measured, as JSON.
    pub workload: serde_json::Value,
    /// One record a variant.
    pub builds: Vec<BuildRecord>,
    /// One record a variant, shape and seed.
    pub checks: Vec<CheckRecord>,
    /// One record a variant and shape.
    pub latencies: Vec<LatencyRecord>,
    /// One record a variant, shape and group of metrics.
    pub profiles: Vec<ProfileRecord>,
    /// Deep profiles: one record a variant and shape; gates never read them.
    pub close_looks: Vec<DeepProfile>,
}

impl Run {
    /// Reads a run or a recording. Where a variant was measured again, the later record counts.
    pub fn load(folder: &Path) -> Result<Self, StoreError> {
        let manifest: Manifest = required(folder, "manifest.json")?;
        if manifest.schema != SCHEMA {
            return Err(StoreError::Schema { folder: folder.to_owned(), found: manifest.schema, expected: SCHEMA });
        }
        named(folder, &manifest)?;
        let phase = journal::read_text(folder, "phase.toml")?
            .ok_or_else(|| StoreError::NotARun { folder: folder.to_owned(), missing: "phase.toml" })?
            .1;
        let run = Self {
            folder: folder.to_owned(),
            phase,
            plan: required(folder, "plan.json")?,
            workload: required(folder, "workload.json")?,
            builds: latest(journal::read(folder, "builds")?, |r: &BuildRecord| r.variant.clone()),
            checks: latest(journal::read(folder, "checks")?, |r: &CheckRecord| {
                (r.variant.clone(), r.shape.clone(), r.seed)
            }),
            latencies: latest(journal::read(folder, "latencies")?, |r: &LatencyRecord| {
                (r.variant.clone(), r.shape.clone())
            }),
            profiles: latest(journal::read(folder, "profiles")?, |r: &ProfileRecord| {
                (r.variant.clone(), r.shape.clone(), r.metrics.clone())
            }),
            close_looks: latest(journal::read(folder, "closelooks")?, |r: &DeepProfile| {
                (r.variant.clone(), r.shape.clone())
            }),
            manifest,
        };
        reported(folder, "profiles.jsonl", run.profiles.iter().map(|record| &record.outcome))?;
        reported(folder, "closelooks.jsonl", run.close_looks.iter().map(|look| &look.outcome))?;
        Ok(run)
    }

    /// Paths of the ncu reports whose counters are judged, sorted, each once.
    pub fn reports(&self) -> Vec<PathBuf> {
        self.paths(self.profiles.iter().map(|record| &record.outcome))
    }

    /// Paths of the ncu reports of deep profiles, sorted, each once.
    pub fn close_reports(&self) -> Vec<PathBuf> {
        self.paths(self.close_looks.iter().map(|record| &record.outcome))
    }

    fn paths<'a>(&self, outcomes: impl Iterator<Item = &'a ProfileOutcome>) -> Vec<PathBuf> {
        let named = outcomes.filter_map(|outcome| match outcome {
            ProfileOutcome::Profiled { report } => Some(report.as_str()),
            ProfileOutcome::Failed { .. } => None,
        });
        let names: BTreeSet<&str> = named.collect();
        names.iter().map(|name| self.folder.join("reports").join(name)).collect()
    }

    /// What is said of its reports where one turns out to be damaged.
    pub fn damaged(&self, error: &impl std::fmt::Display) -> StoreError {
        StoreError::Report { path: self.folder.join("reports"), reason: error.to_string() }
    }

    /// The variant whose measurements stand for `variant`: itself, or the one it shares with.
    pub fn measured_as<'a>(&'a self, variant: &'a VariantId) -> &'a VariantId {
        self.builds.iter().find(|b| &b.variant == variant).and_then(|b| b.shares.as_ref()).unwrap_or(variant)
    }
}

/// A run that is being written.
#[derive(Debug)]
pub struct RunWriter {
    folder: PathBuf,
    manifest: Manifest,
    builds: Journal,
    checks: Journal,
    latencies: Journal,
    profiles: Journal,
    close_looks: Journal,
}

impl RunWriter {
    /// Makes the folder of a new run, or opens that of an unfinished one.
    pub fn open(
        folder: &Path,
        manifest: Manifest,
        phase: &str,
        plan: &Plan,
        workload: &impl Serialize,
    ) -> Result<Self, StoreError> {
        for sub in ["reports", "logs"] {
            let path = folder.join(sub);
            std::fs::create_dir_all(&path)
                .and_then(|()| open::folder(&path))
                .map_err(|source| StoreError::Write { path, source })?;
        }
        super::write_atomically(&folder.join("phase.toml"), phase.as_bytes())?;
        super::write_json(&folder.join("plan.json"), plan)?;
        super::write_json(&folder.join("workload.json"), workload)?;
        let writer = Self {
            folder: folder.to_owned(),
            manifest,
            builds: Journal::open(&folder.join("builds.jsonl"))?,
            checks: Journal::open(&folder.join("checks.jsonl"))?,
            latencies: Journal::open(&folder.join("latencies.jsonl"))?,
            profiles: Journal::open(&folder.join("profiles.jsonl"))?,
            close_looks: Journal::open(&folder.join("closelooks.jsonl"))?,
        };
        writer.save_manifest()?;
        Ok(writer)
    }

    /// The folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Keeps a build.
    pub fn build(&mut self, record: &BuildRecord) -> Result<(), StoreError> {
        self.builds.append(record)
    }

    /// Keeps a correctness case.
    pub fn check(&mut self, record: &CheckRecord) -> Result<(), StoreError> {
        self.checks.append(record)
    }

    /// Keeps latency samples.
    pub fn latency(&mut self, record: &LatencyRecord) -> Result<(), StoreError> {
        self.latencies.append(record)
    }

    /// Keeps where a profile is.
    pub fn profile(&mut self, record: &ProfileRecord) -> Result<(), StoreError> {
        self.profiles.append(record)
    }

    /// Keeps a deep profile.
    pub fn close_look(&mut self, record: &DeepProfile) -> Result<(), StoreError> {
        self.close_looks.append(record)
    }

    /// Adds wall time to a stage; a continued run adds up.
    pub fn spent(&mut self, stage: &str, seconds: f64) -> Result<(), StoreError> {
        match self.manifest.stage_seconds.iter_mut().find(|(name, _)| name == stage) {
            Some((_, total)) => *total += seconds,
            None => self.manifest.stage_seconds.push((stage.to_owned(), seconds)),
        }
        self.save_manifest()
    }

    /// Keeps what an external command said it is made of.
    pub fn used(&mut self, variant: &VariantId, software: BTreeMap<String, String>) -> Result<(), StoreError> {
        self.manifest.software.insert(variant.0.clone(), software);
        self.save_manifest()
    }

    /// Keeps a warning that concerns the whole run.
    pub fn warn(&mut self, warning: &str) -> Result<(), StoreError> {
        if !self.manifest.warnings.iter().any(|w| w == warning) {
            self.manifest.warnings.push(warning.to_owned());
        }
        self.save_manifest()
    }

    /// Says how the run ended.
    pub fn finish(&mut self, state: RunState) -> Result<(), StoreError> {
        self.manifest.state = state;
        self.manifest.finished = Some(jiff::Timestamp::now());
        self.save_manifest()
    }

    /// Says how the run was judged when everything was measured.
    pub fn judged(&mut self, verdict: RunVerdict) -> Result<(), StoreError> {
        self.manifest.verdict = Some(verdict);
        self.save_manifest()
    }

    fn save_manifest(&self) -> Result<(), StoreError> {
        super::write_json(&self.folder.join("manifest.json"), &self.manifest)
    }
}

/// Folders of all runs and recordings under `profiles`, sorted; none where the folder is not there.
pub fn runs(profiles: &Path) -> Result<Vec<PathBuf>, StoreError> {
    let within = |folder: &Path| -> Result<Vec<PathBuf>, StoreError> {
        let failed = |source| StoreError::Read { path: folder.to_owned(), source };
        let entries = std::fs::read_dir(folder).map_err(failed)?;
        let paths: std::io::Result<Vec<PathBuf>> = entries.map(|entry| entry.map(|e| e.path())).collect();
        Ok(paths.map_err(failed)?.into_iter().filter(|path| path.is_dir()).collect())
    };
    if !profiles.exists() {
        return Ok(Vec::new());
    }
    let mut found = Vec::new();
    for phase in within(profiles)? {
        found.extend(within(&phase)?.into_iter().filter(|path| path.join("manifest.json").is_file()));
    }
    found.sort();
    Ok(found)
}

/// The newest run of `phase` under `profiles` that did not finish and measured the same plan with the same tools.
pub fn unfinished(profiles: &Path, manifest: &Manifest) -> Option<Run> {
    let mut folders: Vec<PathBuf> = std::fs::read_dir(profiles.join(&manifest.phase))
        .ok()?
        .filter_map(|entry| entry.ok().map(|e| e.path()))
        .filter(|path| path.join("manifest.json").is_file())
        .collect();
    folders.sort();
    folders.into_iter().rev().find_map(|folder| {
        let run = Run::load(&folder).ok()?;
        let same = folder.file_name().is_some_and(|name| name == run.manifest.run.as_str())
            && run.manifest.plan_sha256 == manifest.plan_sha256
            && run.manifest.fingerprint == manifest.fingerprint
            && !run.manifest.redacted;
        (same && run.manifest.state != RunState::Complete).then_some(run)
    })
}

/// Refuses a manifest whose names are not names: files are written to folders that have them. A run that lies where runs lie
/// is named like its folder; a recording keeps the name that the run had.
fn named(folder: &Path, manifest: &Manifest) -> Result<(), StoreError> {
    for (key, name) in [("phase", &manifest.phase), ("run", &manifest.run)] {
        if !is_name(name) {
            let shown = name.chars().take(SHOWN).collect();
            return Err(StoreError::Name { path: folder.join("manifest.json"), key, name: shown });
        }
    }
    let real = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
    let is = |path: Option<&Path>, name: &str| path.and_then(Path::file_name).is_some_and(|found| found == name);
    let among_runs = is(real.parent(), &manifest.phase);
    if among_runs && !manifest.redacted && !is(Some(&real), &manifest.run) {
        return Err(StoreError::Misplaced { folder: folder.to_owned(), run: manifest.run.clone() });
    }
    Ok(())
}

/// Refuses reports that are not files of the run.
fn reported<'a>(
    folder: &Path,
    journal: &str,
    outcomes: impl Iterator<Item = &'a ProfileOutcome>,
) -> Result<(), StoreError> {
    for outcome in outcomes {
        if let ProfileOutcome::Profiled { report } = outcome
            && !super::is_report_name(report)
        {
            let name = report.chars().take(SHOWN).collect();
            return Err(StoreError::ReportName { path: folder.join(journal), name });
        }
    }
    Ok(())
}

fn required<T: serde::de::DeserializeOwned>(folder: &Path, name: &'static str) -> Result<T, StoreError> {
    let (path, text) = journal::read_text(folder, name)?
        .ok_or_else(|| StoreError::NotARun { folder: folder.to_owned(), missing: name })?;
    serde_json::from_str(&text).map_err(|e| StoreError::Record { path, line: e.line(), reason: e.to_string() })
}

fn latest<T, K: Ord>(records: Vec<T>, key: impl Fn(&T) -> K) -> Vec<T> {
    let mut order = Vec::new();
    let mut at: BTreeMap<K, usize> = BTreeMap::new();
    for record in records {
        let place = *at.entry(key(&record)).or_insert(order.len());
        if place == order.len() {
            order.push(record);
        } else {
            order[place] = record;
        }
    }
    order
}
