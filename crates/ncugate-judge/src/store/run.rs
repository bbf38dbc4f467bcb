//! A run's folder: creating, continuing and reading it.

use super::journal::{self, Journal};
use super::ledger::Ledger;
use super::records::{bitwise, checks, confirmations, deep_profiles, latencies, latest, profiles, sanitizer};
use super::{Manifest, RunState, RunVerdict, StoreError, folder, inputs, seal};
use jiff::Timestamp;
use ncugate_model::disk::{FileLock, open};
use ncugate_model::number::text;
use ncugate_model::{
    BitwiseRecord, BuildRecord, CheckRecord, ConfirmationRecord, DeepProfile, LatencyRecord, ProfileOutcome,
    ProfileRecord, SanitizerRecord, SearchRecord, VariantId,
};
use ncugate_phase::config::{self, ConfigErrors, Phase, is_name};
use ncugate_phase::plan::Plan;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// Number of the form of a run: its files and their fields. It is raised with every change of them.
pub const SCHEMA: u32 = 4;
/// The first form whose launches were timed under the conditions of the profiler. Form 4 lacks only fields of it.
const COMPLETE: u32 = 3;
/// Recordings of form 1 that came with this program, by the hash in their seal.
const SHIPPED: &str = include_str!("shipped_1.txt");
/// Maximum number of software names per variant.
const MOST_SOFTWARE: usize = 100;
/// Maximum number of characters shown of an invalid name.
pub(super) const SHOWN: usize = 80;

/// All measurements of a run, as read from its folder.
#[derive(Debug, Clone)]
pub struct Run {
    pub folder: PathBuf,
    pub manifest: Manifest,
    /// The phase's text at the time of the run.
    pub phase: String,
    pub plan: Plan,
    /// The measured workload, as JSON.
    pub workload: serde_json::Value,
    /// One record per variant.
    pub builds: Vec<BuildRecord>,
    /// Every outcome of each variant, shape and seed, each once.
    pub checks: Vec<CheckRecord>,
    /// One record per variant and shape.
    pub latencies: Vec<LatencyRecord>,
    /// Confirmation samples of the selected variant and its comparison variants: one record per variant and shape.
    pub confirmations: Vec<ConfirmationRecord>,
    /// One record per variant, shape and group of metrics.
    pub profiles: Vec<ProfileRecord>,
    /// Deep profiles: one record per variant and shape; gates never read them.
    pub deep_profiles: Vec<DeepProfile>,
    /// Results of compute-sanitizer: one record per variant, shape and tool.
    pub sanitizer: Vec<SanitizerRecord>,
    /// Bitwise comparisons: one record per variant, shape and comparison.
    pub bitwise: Vec<BitwiseRecord>,
    /// The search that found its candidates; empty for a sweep.
    pub search: Vec<SearchRecord>,
}

/// The form of a run, as its verdict depends on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunForm {
    /// The one that this program writes, or the last one, which has the same evidence.
    Present,
    /// An older one that came with this program. It is judged by what it has.
    Shipped,
    /// An older one, which lacks evidence. Nobody can tell whether it was written to lack it.
    Older(u32),
}

impl Run {
    /// Whether `ncugate capture` wrote its phase.
    pub fn is_captured(&self) -> bool {
        let has = |list: &serde_json::Value, own: &dyn Fn(&serde_json::Value) -> bool| {
            list.as_array().is_some_and(|list| list.iter().any(own))
        };
        has(&self.workload["shapes"], &|shape| {
            shape["name"] == "captured" && has(&shape["dims"], &|dim| dim[0] == "LAUNCH")
        })
    }

    /// A run without measurements, which is in no folder.
    pub fn new(manifest: Manifest, phase: &Phase, plan: &Plan, builds: Vec<BuildRecord>) -> Self {
        Self {
            folder: PathBuf::new(),
            manifest,
            phase: phase.text.clone(),
            plan: plan.clone(),
            workload: serde_json::Value::Null,
            builds,
            checks: Vec::new(),
            latencies: Vec::new(),
            confirmations: Vec::new(),
            profiles: Vec::new(),
            deep_profiles: Vec::new(),
            sanitizer: Vec::new(),
            bitwise: Vec::new(),
            search: Vec::new(),
        }
    }

    /// Its form.
    pub fn form(&self) -> RunForm {
        let hash = self.manifest.seal.as_ref().map(|seal| seal.manifest_sha256.as_str());
        let is_shipped = |hash: &str| SHIPPED.lines().any(|line| line.split(' ').next() == Some(hash));
        match self.manifest.schema {
            COMPLETE.. => RunForm::Present,
            _ if hash.is_some_and(is_shipped) => RunForm::Shipped,
            older => RunForm::Older(older),
        }
    }

    /// The phase that it was measured with.
    ///
    /// # Errors
    /// Its `phase.toml` is not a phase.
    pub fn measured_phase(&self) -> Result<Phase, ConfigErrors> {
        config::parse_in(&self.folder.join("phase.toml"), &self.phase, self.manifest.project.as_deref())
    }

    /// Number of SMs of its GPU, if known.
    pub fn sms(&self) -> Option<u32> {
        self.manifest.fingerprint.gpu.as_ref().map(|gpu| gpu.sms)
    }

    /// Reads a run or a recording. If a variant was built or profiled again, or timed in more rounds, the later
    /// record is used; a wrong case stays wrong.
    ///
    /// # Errors
    /// A file is missing, damaged, or different from the one in the manifest.
    pub fn load(folder: &Path) -> Result<Self, StoreError> {
        let (text, manifest) = Self::manifest_text(folder)?;
        seal::verify(folder, &manifest, &text)?;
        let (version, is_sealed) = (manifest.ncugate.clone(), manifest.seal.is_some());
        Self::read(folder, manifest).map_err(|error| match error {
            // The files are as they were written.
            StoreError::Record { path, reason, .. } if is_sealed => {
                let file = path.file_name().unwrap_or_default().to_string_lossy();
                StoreError::form(folder, &version, format!("{file}: {reason}"))
            }
            error => error,
        })
    }

    /// Reads the files of a run whose seal is verified.
    fn read(folder: &Path, manifest: Manifest) -> Result<Self, StoreError> {
        let phase = journal::read_text(folder, "phase.toml")?
            .ok_or_else(|| StoreError::NotARun { folder: folder.to_owned(), missing: "phase.toml" })?
            .1;
        let run = Self {
            folder: folder.to_owned(),
            phase,
            plan: required(folder, "plan.json")?.1,
            workload: required(folder, "workload.json")?.1,
            builds: latest(journal::read(folder, "builds")?, |r: &BuildRecord| r.variant.clone()),
            checks: checks(journal::read(folder, "checks")?),
            latencies: latencies(journal::read(folder, "latencies")?),
            confirmations: confirmations(journal::read(folder, "confirmations")?),
            profiles: profiles(journal::read(folder, "profiles")?),
            deep_profiles: deep_profiles(journal::read(folder, "deep_profiles")?),
            sanitizer: sanitizer(journal::read(folder, "sanitizer")?),
            bitwise: bitwise(journal::read(folder, "bitwise")?),
            search: journal::read(folder, "search")?,
            manifest,
        };
        reported(folder, "profiles.jsonl", run.profiles.iter().map(|record| &record.outcome))?;
        reported(folder, "deep_profiles.jsonl", run.deep_profiles.iter().map(|deep| &deep.outcome))?;
        Ok(run)
    }

    /// The manifest in a folder and its text; other files are not read.
    ///
    /// # Errors
    /// It is missing or damaged, or of another layout, or its names do not fit.
    pub(super) fn manifest_text(folder: &Path) -> Result<(String, Manifest), StoreError> {
        let (text, manifest) = of_known_form(folder)?;
        named(folder, &manifest)?;
        Ok((text, manifest))
    }

    /// The manifest in a folder, regardless of other files.
    ///
    /// # Errors
    /// It is missing or damaged.
    pub(super) fn manifest(folder: &Path) -> Result<Manifest, StoreError> {
        Ok(of_known_form(folder)?.1)
    }

    /// Paths of the ncu reports whose counters are judged, sorted, each once.
    pub fn reports(&self) -> Vec<PathBuf> {
        self.paths(self.profiles.iter().map(|record| &record.outcome))
    }

    /// Paths of the ncu reports of deep profiles, sorted, each once.
    pub fn deep_reports(&self) -> Vec<PathBuf> {
        self.paths(self.deep_profiles.iter().map(|record| &record.outcome))
    }

    fn paths<'a>(&self, outcomes: impl Iterator<Item = &'a ProfileOutcome>) -> Vec<PathBuf> {
        let named = outcomes.filter_map(|outcome| match outcome {
            ProfileOutcome::Profiled { report } => Some(report.as_str()),
            ProfileOutcome::Traced { .. } | ProfileOutcome::Failed { .. } => None,
        });
        let names: BTreeSet<&str> = named.collect();
        names.iter().map(|name| self.folder.join("reports").join(name)).collect()
    }

    /// Whether it is complete and lists its files, which then are those that were measured.
    pub fn is_sealed(&self) -> bool {
        self.manifest.seal.is_some() && self.manifest.state == RunState::Complete
    }

    /// The error for a damaged report of the run.
    pub fn damaged(&self, error: &impl std::fmt::Display) -> StoreError {
        StoreError::Report { path: self.folder.join("reports"), reason: error.to_string() }
    }

    /// The variant whose measurements are used for `variant`: itself, or the one it shares with.
    pub fn measured_as<'a>(&'a self, variant: &'a VariantId) -> &'a VariantId {
        self.builds.iter().find(|b| &b.variant == variant).and_then(|b| b.shares.as_ref()).unwrap_or(variant)
    }
}

/// A run that is being written.
#[derive(Debug)]
pub struct RunWriter {
    folder: PathBuf,
    lock: FileLock,
    ledger: Ledger,
    manifest: Manifest,
    journals: BTreeMap<&'static str, Journal>,
}

/// Journals of every run; others are created with their first record.
const JOURNALS: [&str; 6] = ["builds", "checks", "latencies", "confirmations", "profiles", "deep_profiles"];

/// A record of a journal.
pub trait JournalRecord: Serialize + DeserializeOwned {
    /// The file of its journal, without `.jsonl`.
    const STEM: &str;

    /// The outcome that names its report.
    fn profiled(&self) -> Option<&ProfileOutcome> {
        None
    }
}

macro_rules! journals {
    ($($record:ty: $stem:literal $(, $outcome:ident)?;)*) => {$(
        impl JournalRecord for $record {
            const STEM: &str = $stem;
            $(fn profiled(&self) -> Option<&ProfileOutcome> {
                Some(&self.$outcome)
            })?
        }
    )*};
}

journals! {
    BuildRecord: "builds";
    CheckRecord: "checks";
    LatencyRecord: "latencies";
    ConfirmationRecord: "confirmations";
    ProfileRecord: "profiles", outcome;
    DeepProfile: "deep_profiles", outcome;
    SanitizerRecord: "sanitizer";
    BitwiseRecord: "bitwise";
}

impl RunWriter {
    /// Creates the folder of a new run, or opens that of an unfinished one. It stays locked until the writer is
    /// dropped.
    ///
    /// # Errors
    /// Another process writes the run, or the folder cannot be written.
    pub fn open(
        folder: &Path,
        manifest: Manifest,
        phase: &str,
        plan: &Plan,
        workload: &impl Serialize,
    ) -> Result<Self, StoreError> {
        std::fs::create_dir_all(folder).map_err(|source| StoreError::Write { path: folder.to_owned(), source })?;
        let owned = (folder::claim(folder)?, Ledger::begin(folder));
        Self::continuing(owned, folder, manifest, phase, plan, workload)
    }

    /// Opens the folder of a run that this process has locked, with its ledger.
    ///
    /// # Errors
    /// The folder cannot be written.
    pub fn continuing(
        (lock, ledger): (FileLock, Ledger),
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
        let mut writer = Self {
            folder: folder.to_owned(),
            lock,
            ledger,
            manifest: Manifest { seal: None, ..manifest },
            journals: BTreeMap::new(),
        };
        JOURNALS.into_iter().try_for_each(|stem| writer.journal(stem).map(drop))?;
        writer.save_manifest()?;
        Ok(writer)
    }

    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The journal, created with its first use.
    fn journal(&mut self, stem: &'static str) -> Result<&mut Journal, StoreError> {
        Ok(match self.journals.entry(stem) {
            Entry::Occupied(journal) => journal.into_mut(),
            Entry::Vacant(none) => none.insert(Journal::open(&self.folder.join(format!("{stem}.jsonl")))?),
        })
    }

    /// Appends a record to its journal, and notes it in the ledger.
    ///
    /// # Errors
    /// Another process owns the run, or the record cannot be written.
    pub fn record<T: JournalRecord>(&mut self, record: &T) -> Result<(), StoreError> {
        self.prove_owned()?;
        self.unseal()?;
        if let Some(outcome) = record.profiled() {
            self.ledger.note_report(&self.folder, outcome);
        }
        let journal = self.journal(T::STEM)?;
        journal.append(record)?;
        let (name, bytes, hash) = journal.state();
        self.ledger.note(&name, bytes, &hash);
        Ok(())
    }

    /// Adds wall time to a finished stage; a continued run accumulates it. From here on the stage's data survive a
    /// power loss.
    pub fn spent(&mut self, stage: &str, seconds: f64) -> Result<(), StoreError> {
        self.journals.values().try_for_each(Journal::sync)?;
        let seconds = if seconds.is_finite() { seconds } else { 0.0 };
        match self.manifest.stage_seconds.iter_mut().find(|(name, _)| name == stage) {
            Some((_, total)) => *total += seconds,
            None => self.manifest.stage_seconds.push((stage.to_owned(), seconds)),
        }
        self.save_manifest()
    }

    /// Stores the software that an external command reported.
    pub fn used(&mut self, variant: &VariantId, software: BTreeMap<String, String>) -> Result<(), StoreError> {
        let short = |text: &str| text::clip(text, text::LABEL);
        let named = software.iter().take(MOST_SOFTWARE).map(|(name, version)| (short(name), short(version)));
        self.manifest.software.insert(variant.0.to_string(), named.collect());
        self.save_manifest()
    }

    /// Stores the SHA-256 of files that the compiler read for the project at `root`, and the paths of the project without a
    /// file that it would have read instead.
    pub fn compiled_from(
        &mut self,
        root: &Path,
        files: BTreeMap<PathBuf, String>,
        absent: BTreeSet<PathBuf>,
    ) -> Result<(), StoreError> {
        let named = files.into_iter().map(|(path, hash)| (inputs::inside(root, &path).display().to_string(), hash));
        self.manifest.inputs.extend(named);
        for path in absent.iter().filter_map(|path| inputs::absent_inside(root, path)) {
            self.manifest.inputs.entry(path.display().to_string()).or_insert_with(|| inputs::ABSENT.to_owned());
        }
        self.save_manifest()
    }

    pub fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    /// Adds a warning about the whole run.
    pub fn warn(&mut self, warning: &str) -> Result<(), StoreError> {
        let warning = text::clean(warning);
        if !self.manifest.warnings.contains(&warning) {
            self.manifest.warnings.push(warning);
        }
        self.save_manifest()
    }

    /// Sets the run's final state and end time; a complete run is sealed.
    pub fn finish(&mut self, state: RunState, at: Timestamp) -> Result<(), StoreError> {
        self.manifest.state = state;
        if state == RunState::Complete {
            self.manifest.stopped = None;
        }
        self.manifest.finished = Some(at);
        self.save_manifest()?;
        self.seal()
    }

    /// Sets the reason why measuring ends early.
    pub fn stopped(&mut self, why: &str) -> Result<(), StoreError> {
        self.manifest.stopped = Some(text::clean(why));
        self.save_manifest()
    }

    /// Sets the verdict of the run after everything was measured.
    pub fn judged(&mut self, verdict: RunVerdict) -> Result<(), StoreError> {
        self.manifest.verdict = Some(verdict);
        self.save_manifest()
    }

    /// Lists the files of a complete run in its manifest. A later record removes the list.
    pub fn seal(&mut self) -> Result<(), StoreError> {
        match self.manifest.state {
            RunState::Complete => seal::seal(&self.folder, &mut self.manifest),
            RunState::Running | RunState::Interrupted => Ok(()),
        }
    }

    /// Removes the list of files.
    pub fn unseal(&mut self) -> Result<(), StoreError> {
        match self.manifest.seal.take() {
            Some(_) => self.save_manifest(),
            None => Ok(()),
        }
    }

    fn prove_owned(&self) -> Result<(), StoreError> {
        match self.lock.is_lost() {
            true => Err(StoreError::Lost { folder: self.folder.clone() }),
            false => Ok(()),
        }
    }

    fn save_manifest(&mut self) -> Result<(), StoreError> {
        self.prove_owned()?;
        let text = seal::text(&self.folder, &mut self.manifest)?;
        readable(&self.folder, &text)?;
        self.ledger.note("manifest.json", text.len() as u64, &ncugate_model::digest::sha256(&text));
        super::write_atomically(&self.folder.join("manifest.json"), &text)
    }
}

impl Drop for RunWriter {
    fn drop(&mut self) {
        if self.manifest.state == RunState::Complete {
            self.ledger.end();
        }
    }
}

/// Verifies that a manifest can be read back, before it replaces the existing one.
fn readable(folder: &Path, text: &[u8]) -> Result<(), StoreError> {
    let refused = |reason| StoreError::Encode { path: folder.join("manifest.json"), reason };
    if text.len() as u64 > super::MANIFEST {
        return Err(refused(format!("it would be larger than {} bytes", super::MANIFEST)));
    }
    serde_json::from_slice::<Manifest>(text).map(drop).map_err(|error| refused(error.to_string()))
}

/// Folders of all runs and recordings under `profiles`, sorted; empty if the folder does not exist.
pub fn runs(profiles: &Path) -> Result<Vec<PathBuf>, StoreError> {
    if !profiles.exists() {
        return Ok(Vec::new());
    }
    let mut found = Vec::new();
    for phase in folders(profiles)? {
        found.extend(runs_of_phase(&phase)?);
    }
    found.sort();
    Ok(found)
}

/// Folders of the runs and recordings in the folder of a phase.
pub fn runs_of_phase(folder: &Path) -> Result<Vec<PathBuf>, StoreError> {
    Ok(folders(folder)?.into_iter().filter(|path| path.join("manifest.json").is_file()).collect())
}

/// The run that was started last; `None` without runs.
///
/// # Errors
/// The manifest of a run cannot be read, so the newest run is unknown.
pub fn newest(runs: Vec<PathBuf>) -> Result<Option<PathBuf>, StoreError> {
    let started = |run: PathBuf| Ok((Run::manifest(&run)?.started, run));
    let runs = runs.into_iter().map(started).collect::<Result<Vec<_>, StoreError>>()?;
    Ok(runs.into_iter().max().map(|(_, run)| run))
}

fn folders(folder: &Path) -> Result<Vec<PathBuf>, StoreError> {
    let failed = |source| StoreError::Read { path: folder.to_owned(), source };
    let entries = std::fs::read_dir(folder).map_err(failed)?;
    let paths: std::io::Result<Vec<PathBuf>> = entries.map(|entry| entry.map(|e| e.path())).collect();
    Ok(paths.map_err(failed)?.into_iter().filter(|path| path.is_dir()).collect())
}

/// Rejects a manifest with invalid names, because they become folder names. A run in its usual place must have the
/// name of its folder; a recording keeps the run's name.
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

/// Rejects reports that are not files of the run.
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

/// The part of a manifest that every form has.
#[derive(Deserialize)]
struct ManifestHead {
    schema: u32,
    ncugate: String,
}

/// Reads a manifest, and says which version wrote one in another form.
fn of_known_form(folder: &Path) -> Result<(String, Manifest), StoreError> {
    let (_, ManifestHead { schema, ncugate }) = required(folder, "manifest.json")?;
    if !(1..=SCHEMA).contains(&schema) {
        let version = ncugate.chars().take(SHOWN).collect();
        let expected = format!("1 to {SCHEMA}");
        return Err(StoreError::Schema { folder: folder.to_owned(), version, found: schema, expected });
    }
    required(folder, "manifest.json").map_err(|error| match error {
        StoreError::Record { reason, .. } => StoreError::form(folder, &ncugate, format!("manifest.json: {reason}")),
        error => error,
    })
}

/// Reads a file; returns its text and its parsed value.
fn required<T: DeserializeOwned>(folder: &Path, name: &'static str) -> Result<(String, T), StoreError> {
    let (path, text) = journal::read_text(folder, name)?
        .ok_or_else(|| StoreError::NotARun { folder: folder.to_owned(), missing: name })?;
    match serde_json::from_str(&text) {
        Ok(value) => Ok((text, value)),
        Err(e) => Err(StoreError::Record { path, line: e.line(), reason: e.to_string() }),
    }
}
