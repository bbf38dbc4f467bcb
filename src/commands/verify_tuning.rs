//! `ncugate tools verify-tuning`: the picks of an autotuner, measured again.

use super::project::open_phase;
use super::run::refuse_reports;
use super::{CommandError, print, report_error, signal, verbosity};
use crate::cli::{OutputFormat, VerifyTuningArgs};
use crate::console::Output;
use crate::exit::Outcome;
use crate::invocation::Invocation;
use ncugate_campaign::{CampaignError, LiveError, LiveRun, MeasuredRun, ResumePolicy, Tools};
use ncugate_cuda::build::Deduplication;
use ncugate_cuda::host::null_test;
use ncugate_exchange::{RivalConfiguration, TunedBucket, TunedTable, TuningFormat, TuningPhase};
use ncugate_judge::Judgement;
use ncugate_judge::reference_runs::{MismatchPolicy, ReferenceRequest};
use ncugate_model::number::{counted, short};
use ncugate_model::{Verdict, process};
use ncugate_phase::config::Phase;
use ncugate_phase::plan::unroll;
use ncugate_report::write::{replace, write};
use ncugate_report::{RunSource, assemble};
use serde::Serialize;
use std::collections::BTreeSet;
use std::io::Write;
use std::path::{Path, PathBuf};

/// How fast the pick is compared with another configuration.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum RelativeSpeed {
    Faster,
    /// The interval holds 1, or the runs differ.
    Tied,
    Slower,
    /// A run has no confirmed latency of both.
    Unknown,
}

impl RelativeSpeed {
    const fn word(self) -> &'static str {
        match self {
            Self::Faster => "faster",
            Self::Tied => "tied",
            Self::Slower => "slower",
            Self::Unknown => "unknown",
        }
    }
}

/// The pick of a bucket compared with another configuration.
#[derive(Debug, Clone, Serialize)]
struct PickComparison {
    /// The default's name, or that of a rival.
    against: String,
    standing: RelativeSpeed,
    /// The latency of the other, divided by that of the pick: the value and its interval in each run.
    speedups: Vec<Option<[f64; 3]>>,
}

impl PickComparison {
    fn standing(speedups: &[Option<[f64; 3]>]) -> (RelativeSpeed, Stability) {
        let of = |speedup: &Option<[f64; 3]>| match speedup {
            Some([_, low, _]) if *low > 1.0 => RelativeSpeed::Faster,
            Some([_, _, high]) if *high < 1.0 => RelativeSpeed::Slower,
            Some(_) => RelativeSpeed::Tied,
            None => RelativeSpeed::Unknown,
        };
        let all: Vec<RelativeSpeed> = speedups.iter().map(of).collect();
        match all.as_slice() {
            [] => (RelativeSpeed::Unknown, Stability::Unstable),
            all if all.contains(&RelativeSpeed::Unknown) => (RelativeSpeed::Unknown, Stability::Unstable),
            [first, rest @ ..] if rest.iter().all(|one| one == first) => (*first, Stability::Stable),
            _ => (RelativeSpeed::Tied, Stability::Unstable),
        }
    }

    /// The median of the runs, and the hull of their intervals.
    fn summary(&self) -> Option<[f64; 3]> {
        let mut all = self.speedups.iter().copied().collect::<Option<Vec<_>>>()?;
        all.sort_by(|a, b| a[0].total_cmp(&b[0]));
        let (low, high) = all.iter().fold((f64::MAX, f64::MIN), |(low, high), [_, l, h]| (low.min(*l), high.max(*h)));
        Some([all.get(all.len() / 2)?[0], low, high])
    }
}

/// Whether all runs of a bucket order its configurations alike.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum Stability {
    Stable,
    Unstable,
}

/// A verified bucket.
#[derive(Debug, Serialize)]
struct VerifiedBucket {
    table: PathBuf,
    key: String,
    result: &'static str,
    /// Why, if it is not a pass.
    reason: Option<String>,
    comparisons: Vec<PickComparison>,
    /// Configurations that are as fast as the pick, or not proven otherwise.
    ties: Vec<String>,
    stability: Stability,
    /// The configuration in the written table: the pick unless a rival is proven faster in every run; none if the pick has no
    /// confirmed latency in every run, so that it is compared with nothing.
    pinned: Option<String>,
    /// Folders of the runs.
    runs: Vec<PathBuf>,
}

/// Measures every bucket of the tables. Returns the worst outcome of the required gate over buckets and runs.
pub fn verify_tuning(
    args: &VerifyTuningArgs,
    invocation: &Invocation,
    out: &mut Output,
) -> Result<Outcome, CommandError> {
    let paths: Vec<PathBuf> = args.tables.iter().map(|table| invocation.here.join(table)).collect();
    let output = args.output.as_ref().map(|folder| invocation.here.join(folder));
    let phase = open_phase(&args.phase, invocation)?;
    refuse_reports(&phase)?;
    let tables: Vec<TunedTable> = paths.iter().map(|path| TunedTable::read(path)).collect::<Result<_, _>>()?;
    // Every bucket has a phase before the first is measured.
    let planned = |table: &TunedTable| {
        let phase = |bucket| TuningPhase::new(&phase, bucket, &args.key, &args.require).map_err(CommandError::Usage);
        table.buckets.iter().map(phase).collect::<Result<Vec<_>, _>>()
    };
    let phases = tables.iter().map(planned).collect::<Result<Vec<_>, _>>()?;
    let pinned = tables.iter().zip(&paths).map(|(table, path)| pinned_file(Path::new(""), path, table.format));
    if let (true, Some(twice)) = (output.is_some(), repeated(pinned)) {
        let what = format!("two tables have the name {}: give each its own --output", twice.display());
        return Err(CommandError::Usage(what));
    }
    signal::watch();
    let tools = Tools::find(&phase)?;
    if let Some((table, path)) = tables.iter().zip(&paths).find(|(table, _)| !table.is_for(&tools.device.name)) {
        let (gpu, own) = (table.gpu.as_deref().unwrap_or_default(), &tools.device.name);
        let why = format!("{} is for {gpu}, but this GPU is {own}", path.display());
        return Err(CampaignError::NoGpu { reason: why }.into());
    }
    let is_text = args.format == OutputFormat::Text;
    let (mut verified, mut outcome) = (Vec::new(), Outcome::Passed);
    for ((table, path), phases) in tables.iter().zip(&paths).zip(&phases) {
        let (mut pins, mut unmeasured) = (Vec::new(), None);
        for (at, (bucket, phase)) in table.buckets.iter().zip(phases).enumerate() {
            let (one, ended) = verify_bucket(path, bucket, phase, &tools, args, invocation)?;
            outcome = outcome.and(ended);
            let pin = |rival: &RivalConfiguration| one.pinned.as_ref() == Some(&rival.name);
            pins.extend(bucket.rivals.iter().position(pin).map(|rival| (at, rival)));
            if is_text {
                write!(out, "{}", bucket_text(&one))?;
            }
            unmeasured = unmeasured.or_else(|| one.pinned.is_none().then(|| one.key.clone()));
            verified.push(one);
        }
        if let Some(folder) = &output {
            let file = pinned_file(folder, path, table.format);
            if let Some(key) = unmeasured {
                if is_text {
                    writeln!(out, "{} is not written: the pick of {key} was not measured", file.display())?;
                }
                continue;
            }
            let text = table.pinned(&pins).map_err(std::io::Error::from)?;
            if let Some(parent) = file.parent() {
                std::fs::create_dir_all(parent)
                    .map_err(|source| CommandError::Output { path: parent.to_owned(), source })?;
            }
            replace(&file, &text)?;
            if is_text {
                writeln!(out, "pinned: {}", file.display())?;
            }
        }
    }
    if verified.is_empty() {
        outcome = outcome.and(Outcome::Inconclusive);
    }
    if is_text {
        let ties = verified.iter().filter(|bucket| !bucket.ties.is_empty()).count();
        let unstable = verified.iter().filter(|bucket| bucket.stability == Stability::Unstable).count();
        let buckets = counted(verified.len(), "bucket");
        writeln!(out, "{}: {buckets}, {ties} with ties, {unstable} unstable", outcome.words())?;
    } else {
        print::json(&verified, out)?;
    }
    Ok(outcome)
}

/// The first path that occurs twice.
fn repeated(paths: impl Iterator<Item = PathBuf>) -> Option<PathBuf> {
    let mut known = BTreeSet::new();
    paths.into_iter().find(|path| !known.insert(path.clone()))
}

/// Triton's cache has a folder for each key of a kernel, and all files in them have the same name.
fn pinned_file(folder: &Path, table: &Path, format: TuningFormat) -> PathBuf {
    let name = table.file_name().unwrap_or_default();
    match (format, table.parent().and_then(Path::file_name)) {
        (TuningFormat::Triton, Some(parent)) => folder.join(parent).join(name),
        (TuningFormat::Triton | TuningFormat::Vllm | TuningFormat::FlashInfer, _) => folder.join(name),
    }
}

fn verify_bucket(
    table: &Path,
    bucket: &TunedBucket,
    tuning: &TuningPhase,
    tools: &Tools,
    args: &VerifyTuningArgs,
    invocation: &Invocation,
) -> Result<(VerifiedBucket, Outcome), CommandError> {
    let names: Vec<&String> =
        std::iter::once(&tuning.default).chain(bucket.rivals.iter().map(|rival| &rival.name)).collect();
    let mut speedups = vec![Vec::new(); names.len()];
    let (mut outcome, mut reason, mut runs) = (Outcome::Passed, None, Vec::new());
    for _ in 0..args.runs {
        let (ended, found) = measured(&tuning.phase, tools, args, invocation, |judgement, run| {
            if Outcome::from(judgement.verdict) != Outcome::Passed {
                reason.get_or_insert_with(|| judgement.reason.clone());
            }
            runs.push(run.to_owned());
            (1..=names.len()).map(|gate| speedup(judgement, gate)).collect::<Vec<_>>()
        })?;
        outcome = outcome.and(ended);
        speedups.iter_mut().zip(found).for_each(|(all, one)| all.push(one));
        if process::interrupted() {
            return Err(LiveError::Campaign(CampaignError::Interrupted).into());
        }
    }
    let (mut comparisons, mut stability) = (Vec::new(), Stability::Stable);
    for (name, speedups) in names.iter().zip(speedups) {
        let (standing, agrees) = PickComparison::standing(&speedups);
        if agrees == Stability::Unstable {
            stability = Stability::Unstable;
        }
        comparisons.push(PickComparison { against: (*name).clone(), standing, speedups });
    }
    let is_tied = |one: &&PickComparison| matches!(one.standing, RelativeSpeed::Tied | RelativeSpeed::Unknown);
    let ties = comparisons.iter().filter(is_tied).map(|one| one.against.clone()).collect();
    // The first is the default, which the table does not have.
    let slower = comparisons.iter().skip(1).filter(|one| one.standing == RelativeSpeed::Slower);
    let fastest = slower.filter_map(|one| Some((one.summary()?[0], &one.against)));
    let fastest = fastest.min_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, name)| name.clone());
    let is_measured = comparisons.iter().any(|one| one.standing != RelativeSpeed::Unknown);
    if !is_measured {
        outcome = outcome.and(Outcome::Inconclusive);
        reason.get_or_insert_with(|| "the pick has no confirmed latency in every run".to_owned());
    }
    let verified = VerifiedBucket {
        table: table.to_owned(),
        key: bucket.key.clone(),
        result: outcome.words(),
        reason,
        comparisons,
        ties,
        stability,
        pinned: is_measured.then(|| fastest.unwrap_or_else(|| "pick".to_owned())),
        runs,
    };
    Ok((verified, outcome))
}

/// Measures a bucket once, and writes its report.
fn measured<T>(
    phase: &Phase,
    tools: &Tools,
    args: &VerifyTuningArgs,
    invocation: &Invocation,
    read: impl FnOnce(&Judgement, &Path) -> T,
) -> Result<(Outcome, T), CommandError> {
    let phase = &tools.on_gpu(phase);
    let plan = unroll(phase)?;
    let tried = null_test(phase, &[])?;
    let progress = verbosity::progress();
    let request = ReferenceRequest { name: None, mismatch: MismatchPolicy::Refuse };
    let run = LiveRun {
        phase,
        plan: &plan,
        tools,
        profiles: &args.folders.profiles,
        request: &request,
        today: invocation.today(),
        start: ResumePolicy::Continue,
        sharing: Deduplication::Share,
        patience: args.waiting.into(),
        progress: &progress,
        narrowed: None,
        searched: None,
        deep: &[],
        null_test: &tried,
    };
    let measured = run.measure();
    progress.clear();
    let MeasuredRun { session, ended } = measured?;
    let manifest = &session.measurements().run().manifest;
    let report = assemble(&session, RunSource::Live, Some(invocation.report_time))?;
    write(&report, &args.folders.report(&phase.name, &manifest.run))?;
    let judged = Outcome::from(session.judgement().verdict);
    let outcome = match ended {
        Ok(()) => judged,
        Err(error) => report_error(&error.into()).and(judged),
    };
    Ok((outcome, read(session.judgement(), &session.measurements().run().folder)))
}

/// The speedup of the pick that a gate has, with its interval.
fn speedup(judgement: &Judgement, gate: usize) -> Option<[f64; 3]> {
    let outcome = &judgement.gates.get(gate)?.cases.first()?.outcome;
    // Equal machine code has no interval.
    let is_same = outcome.measured == Some(1.0) && outcome.verdict == Verdict::Pass;
    let (low, high) = outcome.interval.or(is_same.then_some((1.0, 1.0)))?;
    Some([outcome.measured?, low, high]).filter(|values| values.iter().all(|value| value.is_finite()))
}

fn bucket_text(bucket: &VerifiedBucket) -> String {
    let mut text = format!("{}: {}\n", bucket.key, bucket.result);
    text.extend(bucket.reason.iter().map(|reason| format!("  {reason}\n")));
    for one in &bucket.comparisons {
        let number = |value: f64| short((value * 1e3).round() / 1e3);
        let value = one.summary().map_or_else(
            || "no confirmed latency in every run".to_owned(),
            |[value, low, high]| format!("{}x ({} to {})", number(value), number(low), number(high)),
        );
        text += &format!("  pick {} against {}: {value}\n", one.standing.word(), one.against);
    }
    let stability = match bucket.stability {
        Stability::Stable => "the same in every run",
        Stability::Unstable => "not the same in every run",
    };
    text + &format!("  {stability}; pinned: {}\n", bucket.pinned.as_deref().unwrap_or("none"))
}
