//! Merges shards of a phase into one run. Only sealed data are trusted, and the shards' measurement conditions must
//! match.
//!
//! The merged table contains latencies of different GPUs. These select variants but do not judge them: the merged run
//! is unfinished, and when it continues, the selected variant and its comparison variants are re-timed on one GPU.

use super::folder::new_folder;
use super::{Fingerprint, Manifest, MergedShard, Run, RunState, RunWriter, StoreError, changed_between};
use jiff::Timestamp;
use ncugate_model::number::text;
use ncugate_model::stats::median;
use ncugate_model::{LatencyOutcome, ProfileOutcome, ProfileRecord, ShapeName, VariantId};
use ncugate_phase::config::{self, ConfigErrors, Phase};
use ncugate_phase::plan::{Plan, PlanErrors, VariantRole, unroll};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// Relative difference of a baseline's medians on two GPUs above which a warning is added.
const UNLIKE_SPEED: f64 = 0.03;
/// Maximum number of differences listed.
const SHOWN: usize = 8;

/// Why shards cannot be merged.
#[derive(Debug, thiserror::Error)]
pub enum MergeError {
    /// A run cannot be read or written.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The phase stored with the shards cannot be read.
    #[error(transparent)]
    Config(#[from] ConfigErrors),
    /// The phase stored with the shards cannot be unrolled.
    #[error("{}", .0.0)]
    Plan(#[from] PlanErrors),
    /// A run is not a complete shard.
    #[error("cannot merge {}: {reason}", folder.display())]
    Unfit { folder: PathBuf, reason: String },
    /// Two runs differ in their measurement conditions or in their plan.
    /// `other`: the run that differs.
    #[error("cannot merge {} with {}: {}", one.display(), other.display(), differences)]
    Unlike { one: PathBuf, other: PathBuf, differences: String },
    /// Two runs measured the same shard.
    #[error("cannot merge: shard {shard} is in both {} and {}; name one of them", one.display(), other.display())]
    Twice { shard: String, one: PathBuf, other: PathBuf },
    /// `count`: number of shards of the phase.
    /// `missing`: the first missing shard.
    /// `more`: the number of further missing shards, in words.
    #[error(
        "cannot merge: shard {missing} of {count} is missing; measure it with `ncugate run CONFIG --shard {missing}/{count}`{more}"
    )]
    Missing { count: u32, missing: u32, more: String },
}

/// A merged run.
#[derive(Debug)]
pub struct MergedRun {
    pub folder: PathBuf,
    pub shards: usize,
    /// Number of GPUs that measured.
    pub gpus: usize,
    /// Warnings for the reader.
    pub warnings: Vec<String>,
}

/// Which of the given runs are merged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MergeChoice {
    /// All of them: each must be a complete shard, and no shard may occur twice.
    All,
    /// For each shard, the complete run that ended last; the others are left out. Cluster tasks can be lost and
    /// restarted.
    Newest,
}

/// Merges all shards of a phase into a new run under `profiles`, which starts `now`.
///
/// # Errors
/// A shard is missing, duplicated, incomplete or different from the others, or a run cannot be read or written.
pub fn merge(
    folders: &[PathBuf],
    profiles: &Path,
    choice: MergeChoice,
    now: Timestamp,
) -> Result<MergedRun, MergeError> {
    let mut shards = match choice {
        MergeChoice::All => folders.iter().map(|folder| ShardRun::load(folder)).collect::<Result<Vec<_>, _>>()?,
        // Unreadable or incomplete runs are skipped; if that leaves a shard missing, the merge fails below.
        MergeChoice::Newest => newest(folders.iter().filter_map(|folder| ShardRun::load(folder).ok())),
    };
    shards.sort_by_key(|shard| shard.part.shard);
    let Some(first) = shards.first() else {
        return Err(MergeError::Missing { count: 1, missing: 1, more: String::new() });
    };
    shards.iter().skip(1).try_for_each(|other| first.prove_like(other))?;
    prove_complete(&shards)?;
    let project = first.run.manifest.project.as_deref();
    let phase =
        config::parse_in(&first.run.folder.join("phase.toml"), &first.run.phase, project)?.on_gpu(first.run.sms());
    let plan = unroll(&phase)?;
    shards.iter().try_for_each(|shard| shard.prove_planned(&plan))?;
    write(&phase, &plan, &shards, profiles, now)
}

/// For each shard, the run that ended last.
fn newest(shards: impl Iterator<Item = ShardRun>) -> Vec<ShardRun> {
    let mut kept: BTreeMap<_, ShardRun> = BTreeMap::new();
    for shard in shards {
        let ended = |shard: &ShardRun| (shard.run.manifest.finished, shard.run.manifest.run.clone());
        if kept.get(&shard.part.shard).is_none_or(|other| ended(other) < ended(&shard)) {
            kept.insert(shard.part.shard, shard);
        }
    }
    kept.into_values().collect()
}

/// A run that measured a part of a phase.
struct ShardRun {
    run: Run,
    part: super::ShardOf,
}

impl ShardRun {
    fn load(folder: &Path) -> Result<Self, MergeError> {
        let unfit = |reason: &str| MergeError::Unfit { folder: folder.to_owned(), reason: reason.to_owned() };
        let run = Run::load(folder)?;
        let part = run.manifest.shard.clone();
        let part = part.ok_or_else(|| unfit("it is not a shard; measure one with `ncugate run CONFIG --shard I/N`"))?;
        if run.manifest.state != RunState::Complete {
            return Err(unfit("it is incomplete; run the shard again to continue"));
        }
        if !run.is_sealed() {
            return Err(unfit("it is not sealed: its manifest does not list its files (measure again)"));
        }
        Ok(Self { run, part })
    }

    /// Rejects two shards with different plans or measurement conditions.
    fn prove_like(&self, other: &Self) -> Result<(), MergeError> {
        let (one, two) = (&self.run.manifest, &other.run.manifest);
        let mut differences = Vec::new();
        let mut differ = |what: &str, a: String, b: String| {
            if a != b {
                differences.push(format!("{what} {a} and {b}"));
            }
        };
        differ("ncugate", one.ncugate.clone(), two.ncugate.clone());
        differ("phase", one.phase.clone(), two.phase.clone());
        differ("shards", self.part.shard.count.to_string(), other.part.shard.count.to_string());
        for (what, of) in TELLING {
            differ(what, of(&one.fingerprint), of(&two.fingerprint));
        }
        if differences.is_empty() && one.fingerprint.anywhere() != two.fingerprint.anywhere() {
            differences.push("the GPU or settings of ncu".to_owned());
        }
        if one.config_sha256 != two.config_sha256 || self.run.phase != other.run.phase || one.project != two.project {
            differences.push("a different phase or project file".to_owned());
        } else if self.part.whole_sha256 != other.part.whole_sha256 {
            differences.push("other programs or another compiler environment".to_owned());
        }
        differences.extend(changed_between(one, two));
        if differences.is_empty() {
            return Ok(());
        }
        let differences = text::listed(differences, SHOWN, "; ");
        Err(MergeError::Unlike { one: self.run.folder.clone(), other: other.run.folder.clone(), differences })
    }

    /// Rejects a shard that did not measure exactly its part of the plan.
    fn prove_planned(&self, plan: &Plan) -> Result<(), MergeError> {
        match self.run.plan == plan.shard(self.part.shard) {
            true => Ok(()),
            false => Err(MergeError::Unfit {
                folder: self.run.folder.clone(),
                reason: format!("its variants are not shard {} of its phase", self.part.shard),
            }),
        }
    }

    /// The name of one of its reports in the merged run.
    fn report(&self, name: &str) -> String {
        format!("s{}-{name}", self.part.shard.index)
    }
}

/// Reads a property of a machine and its tools.
type FingerprintField = fn(&Fingerprint) -> String;
/// The properties that are compared by name.
const TELLING: [(&str, FingerprintField); 5] = [
    ("GPU", |print| print.gpu.as_ref().map_or_else(|| "unknown".to_owned(), |gpu| gpu.name.clone())),
    ("driver", |print| print.driver.clone().unwrap_or_else(|| "unknown".to_owned())),
    ("ncu", |print| print.ncu.clone().unwrap_or_else(|| "none".to_owned())),
    ("nvcc", |print| print.nvcc.clone().unwrap_or_else(|| "none".to_owned())),
    ("power limit", |print| {
        print.machine.power_limit_w.map_or_else(|| "unknown".to_owned(), |watts| format!("{watts} W"))
    }),
];

/// Rejects sorted shards if one is missing or duplicated.
fn prove_complete(shards: &[ShardRun]) -> Result<(), MergeError> {
    for pair in shards.windows(2) {
        if let [one, other] = pair
            && one.part.shard == other.part.shard
        {
            let shard = one.part.shard.to_string();
            return Err(MergeError::Twice { shard, one: one.run.folder.clone(), other: other.run.folder.clone() });
        }
    }
    let Some(count) = shards.first().map(|shard| shard.part.shard.count) else { return Ok(()) };
    let there: BTreeSet<u32> = shards.iter().map(|shard| shard.part.shard.index).collect();
    let missing: Vec<u32> = (1..=count).filter(|index| !there.contains(index)).collect();
    match missing.split_first() {
        None => Ok(()),
        Some((first, rest)) => {
            let more = if rest.is_empty() { String::new() } else { format!(", and {} more", rest.len()) };
            Err(MergeError::Missing { count, missing: *first, more })
        }
    }
}

fn write(
    phase: &Phase,
    plan: &Plan,
    shards: &[ShardRun],
    profiles: &Path,
    now: Timestamp,
) -> Result<MergedRun, MergeError> {
    let mut manifest = manifest(shards, now);
    let folder = new_folder(profiles, &mut manifest)?;
    let mut writer = RunWriter::open(&folder, manifest, &phase.text, plan, &phase.workload)?;
    let baselines: BTreeSet<&VariantId> =
        plan.variants.iter().filter(|v| v.standing == VariantRole::Baseline).map(|v| &v.id).collect();
    for (at, shard) in shards.iter().enumerate() {
        // Each shard measured the baselines: the first measurement is used, but checks and failures of every shard
        // count.
        let again = |variant: &VariantId| at > 0 && baselines.contains(variant);
        let run = &shard.run;
        run.builds.iter().filter(|r| !again(&r.variant)).try_for_each(|record| writer.record(record))?;
        run.checks.iter().try_for_each(|record| writer.record(record))?;
        run.sanitizer.iter().try_for_each(|record| writer.record(record))?;
        run.bitwise.iter().try_for_each(|record| writer.record(record))?;
        let failed = |outcome: &LatencyOutcome| !matches!(outcome, LatencyOutcome::Timed { .. });
        let counts = |record: &&_| -> bool {
            let record: &ncugate_model::LatencyRecord = record;
            !again(&record.variant) || failed(&record.outcome)
        };
        run.latencies.iter().filter(counts).try_for_each(|record| writer.record(record))?;
        copy_reports(shard, &folder)?;
        let profiles = run.profiles.iter().filter(|r| !again(&r.variant));
        profiles.map(|record| renamed(record, shard)).try_for_each(|record| writer.record(&record))?;
    }
    let warnings = [of_shards(shards), unlike_speeds(shards, &baselines)].concat();
    warnings.iter().try_for_each(|warning| writer.warn(warning))?;
    writer.spent("merge", 0.0)?;
    writer.finish(RunState::Running, now)?;
    writer.stopped("its shards were merged, but the selected variant is not confirmed; `ncugate run` continues")?;
    let gpus: BTreeSet<_> = shards.iter().map(|shard| &shard.run.manifest.fingerprint.machine).map(machine).collect();
    Ok(MergedRun { folder, shards: shards.len(), gpus: gpus.len(), warnings })
}

fn machine(machine: &super::Machine) -> (Option<&str>, Option<&str>) {
    (machine.host.as_deref(), machine.gpu.as_deref())
}

/// The manifest of the merged run.
fn manifest(shards: &[ShardRun], now: Timestamp) -> Manifest {
    let mut manifest = shards[0].run.manifest.clone();
    manifest.run = format!("{}-merged", now.strftime("%Y%m%dT%H%M%SZ"));
    manifest.state = RunState::Running;
    manifest.seal = None;
    manifest.plan_sha256.clone_from(&shards[0].part.whole_sha256);
    manifest.shard = None;
    manifest.stage_seconds = Vec::new();
    manifest.merged = Vec::new();
    manifest.continued = Vec::new();
    for ShardRun { run, part } in shards {
        let of = &run.manifest;
        manifest.started = manifest.started.min(of.started);
        manifest.finished = manifest.finished.max(of.finished);
        manifest.software.extend(of.software.clone());
        manifest.inputs.extend(of.inputs.clone());
        let known: BTreeSet<&String> = manifest.sources.iter().map(|(path, _)| path).collect();
        let new: Vec<_> = of.sources.iter().filter(|(path, _)| !known.contains(path)).cloned().collect();
        manifest.sources.extend(new);
        for (stage, seconds) in &of.stage_seconds {
            match manifest.stage_seconds.iter_mut().find(|(name, _)| name == stage) {
                Some((_, total)) => *total += seconds,
                None => manifest.stage_seconds.push((stage.clone(), *seconds)),
            }
        }
        let machine = of.fingerprint.machine.clone();
        manifest.merged.push(MergedShard { run: of.run.clone(), shard: part.shard, machine });
    }
    manifest.warnings = Vec::new();
    manifest
}

fn copy_reports(shard: &ShardRun, folder: &Path) -> Result<(), StoreError> {
    for path in shard.run.reports() {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let copy = folder.join("reports").join(shard.report(&name));
        let mut report = ncugate_model::disk::open::regular(&path, u64::MAX)
            .map_err(|source| StoreError::Read { path: path.clone(), source })?;
        let copied = std::fs::File::create_new(&copy).and_then(|mut file| std::io::copy(&mut report, &mut file));
        copied.map_err(|source| StoreError::Write { path: copy, source })?;
    }
    Ok(())
}

fn renamed(record: &ProfileRecord, shard: &ShardRun) -> ProfileRecord {
    let mut record = record.clone();
    if let ProfileOutcome::Profiled { report } = &mut record.outcome {
        *report = shard.report(report);
    }
    record
}

/// The warnings of all shards, each once.
fn of_shards(shards: &[ShardRun]) -> Vec<String> {
    let mut warnings: Vec<String> = Vec::new();
    for warning in shards.iter().flat_map(|shard| &shard.run.manifest.warnings) {
        if !warnings.contains(warning) {
            warnings.push(warning.clone());
        }
    }
    warnings
}

/// Baselines that are faster on one GPU than on another: the ranking of these shards' candidates has the same error.
fn unlike_speeds(shards: &[ShardRun], baselines: &BTreeSet<&VariantId>) -> Vec<String> {
    let mut speeds: BTreeMap<(&VariantId, &ShapeName), Vec<(f64, u32)>> = BTreeMap::new();
    for shard in shards {
        for record in shard.run.latencies.iter().filter(|record| baselines.contains(&record.variant)) {
            if let LatencyOutcome::Timed { samples, .. } = &record.outcome
                && let Ok(us) = median(samples)
            {
                let case = (&record.variant, &record.shape);
                speeds.entry(case).or_default().push((us, shard.part.shard.index));
            }
        }
    }
    let unlike = |((variant, shape), mut timed): ((&VariantId, &ShapeName), Vec<(f64, u32)>)| {
        timed.sort_by(|a, b| a.0.total_cmp(&b.0));
        let ((fast, at), (slow, other)) = (*timed.first()?, *timed.last()?);
        (slow > fast * (1.0 + UNLIKE_SPEED)).then(|| {
            let percent = ncugate_model::number::short(((slow / fast - 1.0) * 1000.0).round() / 10.0);
            format!(
                "{variant} at {shape} is {percent} % slower in shard {other} than in shard {at}: candidates of different shards are \
                 ranked with that error, and the selected variant is re-timed on one GPU"
            )
        })
    };
    speeds.into_iter().filter_map(unlike).collect()
}
