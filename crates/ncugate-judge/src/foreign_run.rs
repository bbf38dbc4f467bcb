//! ncu reports of other programs, judged by a phase's gates. The phase's patterns (`match`) assign launches to
//! variants. In a phase without patterns, every launch of its kernels becomes a separate variant. Such reports have
//! no undisturbed latency and no proof of correctness; both stay missing.

use super::reference_runs::MismatchPolicy;
use super::{Evidence, JudgeError, PhaseRun};
use crate::frame::CapturedVariants;
use crate::store::{Fingerprint, Manifest, Run, RunState, StoreError, open_report};
use jiff::Timestamp;
use ncu_rep::{Launch, Report, ReportError, ReportForm};
use ncugate_model::expr::Template;
use ncugate_model::number::text;
use ncugate_model::{Better, BuildOutcome, BuildRecord, Gpu, KernelName, ProfileOutcome, ProfileRecord, VariantId};
use ncugate_phase::config::{KernelTemplate, LaunchPattern, Phase};
use ncugate_phase::plan::{Method, Plan, Variant, VariantRole};
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A run built from reports of another program.
#[derive(Debug)]
pub struct ForeignRun {
    pub run: PhaseRun,
    /// Its variants, in plan order.
    pub captured: Vec<CapturedVariant>,
    /// Time of the first and the last profiled launch; `None` if a report has no timestamp.
    pub made: Option<(Timestamp, Timestamp)>,
}

/// A variant that consists of launches in ncu reports.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CapturedVariant {
    pub variant: VariantId,
    /// File name of the report and launch number, for each launch.
    pub launches: Vec<(String, u32)>,
    /// Names of the launched kernels, each once, with scopes and template arguments.
    pub kernels: Vec<String>,
}

/// Builds a run from launches in `files`: those that match the phase's patterns, else those of its kernels, else all.
/// The files are absolute paths; `manifest` creates the manifest from a phase and a plan.
///
/// # Errors
/// A report cannot be read or contains no matching launch, a launch matches the patterns of two variants, or the
/// launches are of unlike GPUs. Unlike settings of ncu are an error too, unless `mismatch` allows them.
pub fn foreign_run(
    mut phase: Phase,
    plan: Plan,
    files: &[PathBuf],
    evidence: Evidence,
    mismatch: MismatchPolicy,
    manifest: impl FnOnce(&Phase, &Plan, Fingerprint) -> Manifest,
) -> Result<ForeignRun, JudgeError> {
    let reports = files.iter().map(|file| OpenedReport::open(file)).collect::<Result<Vec<_>, _>>()?;
    let plan = match phase.is_of_reports() {
        true => plan,
        false => {
            // There is no undisturbed latency, so the launch with the shortest ncu duration is selected.
            phase.objective.metric = "duration".to_owned();
            phase.objective.better = Better::Lower;
            by_launch(&phase, &reports)?
        }
    };
    let captured = captured(&plan, &reports)?;
    let shape = phase.objective.shape.clone();
    let profiles = captured.iter().flat_map(|one| {
        let files = reports.iter().filter(|report| one.launches.iter().any(|(name, _)| *name == report.name));
        files.map(|report| ProfileRecord {
            variant: one.variant.clone(),
            shape: shape.clone(),
            metrics: Vec::new(),
            outcome: ProfileOutcome::Profiled { report: report.path.display().to_string() },
            outputs: None,
        })
    });
    let (fingerprint, unlike) = fingerprint(&reports, &captured, mismatch)?;
    let mut manifest = manifest(&phase, &plan, fingerprint);
    let made = profiling_period(&reports);
    if let Some((first, last)) = made {
        (manifest.started, manifest.finished) = (first, Some(last));
    }
    manifest.state = RunState::Complete;
    let csv = reports.iter().filter(|report| report.report.form() == ReportForm::Csv);
    let rounded = csv.map(|report| {
        format!(
            "values of {} are rounded (CSV): one that its last digit can move over its limit decides nothing",
            report.name
        )
    });
    manifest.warnings.extend(warnings(&phase, evidence).into_iter().chain(unlike).chain(rounded));
    let profiles = profiles.collect();
    let built = plan.variants.iter().map(not_built).collect();
    let run = Arc::new(Run { profiles, ..Run::new(manifest, &phase, &plan, built) });
    Ok(ForeignRun { run: PhaseRun { phase, plan, run, evidence }, captured, made })
}

fn warnings(phase: &Phase, evidence: Evidence) -> Vec<String> {
    let mut said = Vec::new();
    if !phase.is_of_reports() {
        said.push("judged from ncu reports alone: no latency was measured, so the variant with the shortest launch under ncu is selected".to_owned());
    }
    if matches!(evidence, Evidence::AssumedCorrect(_)) {
        said.push("results are assumed to be correct (--assume correct), not proven".to_owned());
    }
    said
}

fn not_built(variant: &Variant) -> BuildRecord {
    BuildRecord { variant: variant.id.clone(), shares: None, outcome: BuildOutcome::NotNeeded }
}

/// Paths in one line.
pub fn paths(files: &[PathBuf]) -> String {
    files.iter().map(|file| file.display().to_string()).collect::<Vec<_>>().join(", ")
}

/// Every launch of the phase's kernels as a separate variant, named after its report, launch number and function.
fn by_launch(phase: &Phase, reports: &[OpenedReport]) -> Result<Plan, JudgeError> {
    let entries = entries(phase);
    let mut variants = Vec::new();
    for report in reports {
        for launch in report.report.launches() {
            let (function, demangled) = (launch.kernel_name(), launch.demangled_name());
            if !entries.is_empty() && !entries.iter().any(|entry| entry.launched_as(&function, &demangled)) {
                continue;
            }
            let name = KernelName::parse(&function);
            variants.push(Variant {
                id: VariantId(format!("{}#{} {}", report.name, launch.id(), name.function()).into()),
                standing: VariantRole::Candidate,
                params: Vec::new(),
                method: Method::Captured(LaunchPattern {
                    launches: vec![launch.id()],
                    report: Some(globset::escape(&report.name)),
                    ..LaunchPattern::default()
                }),
            });
        }
    }
    if variants.is_empty() {
        let names: BTreeSet<_> = entries.iter().map(KernelName::function).collect();
        let names = names.into_iter().collect::<Vec<_>>().join("', '");
        let (listed, kernels) = (listed(reports), kernels(reports));
        return Err(JudgeError::NoLaunch(format!("no launch of '{names}' in {listed}; {kernels}")));
    }
    Ok(Plan { variants })
}

fn entries(phase: &Phase) -> Vec<KernelName> {
    let named = phase.variants.iter().chain(&phase.baselines).filter_map(|variant| variant.kind.kernel());
    let kernels = phase.kernel.iter().chain(named);
    kernels.flat_map(KernelTemplate::launches).map(|launch| name_of(&launch.entry)).collect()
}

/// The part of a kernel's name that does not depend on parameters: the function name if parameters are template
/// arguments.
fn name_of(entry: &Template) -> KernelName {
    let name = KernelName::parse(entry.text());
    if entry.names().is_empty() { name } else { KernelName::parse(name.function()) }
}

/// The launches of every variant of the plan.
fn captured(plan: &Plan, reports: &[OpenedReport]) -> Result<Vec<CapturedVariant>, JudgeError> {
    let patterns = CapturedVariants::of(plan);
    let mut found: BTreeMap<&VariantId, CapturedVariant> = BTreeMap::new();
    for report in reports {
        for launch in report.report.launches() {
            let (kernel, demangled) = (launch.kernel_name(), launch.demangled_name());
            let owners = patterns.owners_of(&report.name, &launch).map_err(|e| report.failed(e.to_string()))?;
            let id = match owners.as_slice() {
                [] => continue,
                [id] => *id,
                [first, second, ..] => {
                    return Err(JudgeError::Overlap(format!(
                        "launch {} of {} ({kernel}) matches both {first} and {second}: narrow the `match` of one, with `kernel`, `nvtx`, `launch` or `report`",
                        launch.id(),
                        report.name
                    )));
                }
            };
            let one = found.entry(id).or_insert_with(|| CapturedVariant {
                variant: id.clone(),
                launches: Vec::new(),
                kernels: Vec::new(),
            });
            one.launches.push((report.name.clone(), launch.id()));
            let name = KernelName::parse(&demangled).to_string();
            if !one.kernels.contains(&name) {
                one.kernels.push(name);
            }
        }
    }
    if let Some(absent) = plan.variants.iter().find(|variant| !found.contains_key(&variant.id)) {
        return Err(JudgeError::NoLaunch(format!(
            "no launch of {} matches {}; {}",
            listed(reports),
            absent.id,
            kernels(reports)
        )));
    }
    Ok(plan.variants.iter().filter_map(|variant| found.remove(&variant.id)).collect())
}

/// Maximum number of kernels listed in an error.
const NAMED: usize = 12;

/// `it has the kernels a, b and 3 more`.
fn kernels(reports: &[OpenedReport]) -> String {
    let mut names: Vec<String> =
        reports.iter().flat_map(|r| r.report.launches().map(|l| l.kernel_name().into_owned())).collect();
    names.sort_unstable();
    names.dedup();
    match names.is_empty() {
        true => "it has no launches".to_owned(),
        false => format!("it has the kernels {}", text::listed(names, NAMED, ", ")),
    }
}

fn listed(reports: &[OpenedReport]) -> String {
    reports.iter().map(|report| report.path.display().to_string()).collect::<Vec<_>>().join(", ")
}

struct OpenedReport {
    path: PathBuf,
    name: String,
    report: Report,
}

impl OpenedReport {
    fn open(file: &Path) -> Result<Self, StoreError> {
        let name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
        Ok(Self { report: open_report(file)?, path: file.to_owned(), name })
    }

    fn failed(&self, reason: String) -> StoreError {
        StoreError::Report { path: self.path.clone(), reason }
    }
}

/// Time of the first and the last profiled launch; `None` if one has no timestamp.
fn profiling_period(reports: &[OpenedReport]) -> Option<(Timestamp, Timestamp)> {
    let launches = reports.iter().flat_map(|report| report.report.launches());
    let seconds: Vec<i64> = launches.map(|launch| i64::try_from(launch.created()?).ok()).collect::<Option<_>>()?;
    let at = |seconds: Option<&i64>| Timestamp::from_second(*seconds?).ok();
    Some((at(seconds.iter().min())?, at(seconds.iter().max())?))
}

/// GPU, ncu version and settings of the captured launches, which all share them, and a warning for each report with
/// other settings that `mismatch` allows.
fn fingerprint(
    reports: &[OpenedReport],
    captured: &[CapturedVariant],
    mismatch: MismatchPolicy,
) -> Result<(Fingerprint, Vec<String>), JudgeError> {
    let captured: HashSet<(&str, u32)> =
        captured.iter().flat_map(|one| &one.launches).map(|(report, launch)| (report.as_str(), *launch)).collect();
    let mut first: Option<(String, Fingerprint)> = None;
    let mut warnings = Vec::new();
    for report in reports {
        let settings = settings(report)?;
        let launches = report.report.launches().filter(|launch| captured.contains(&(&report.name, launch.id())));
        for (place, launch) in launches.enumerate() {
            let gpu = gpu(&launch).map_err(|e| report.failed(e.to_string()))?;
            let label = format!("launch {} of {}", launch.id(), report.name);
            let own = Fingerprint { gpu, ..settings.clone() };
            let Some((other, shared)) = &first else {
                first = Some((label, own));
                continue;
            };
            // Unknown GPUs of two reports can be different.
            if own.gpu != shared.gpu || own.gpu.is_none() && place == 0 {
                let (here, there) = (described(own.gpu.as_ref()), described(shared.gpu.as_ref()));
                return Err(JudgeError::UnlikeLaunches(format!(
                    "{label} was profiled on {here}, and {other} on {there}: give reports of one kind of GPU"
                )));
            }
            let unlike = unlike_settings(&own, shared);
            if unlike.is_empty() || place > 0 {
                continue;
            }
            let told = format!("{label} was not profiled like {other}: {}", unlike.join("; "));
            match mismatch {
                MismatchPolicy::Allow => warnings.push(told),
                MismatchPolicy::Refuse => {
                    return Err(JudgeError::UnlikeLaunches(format!(
                        "{told}\nprofile both in the same way, or judge them anyway with --allow-mismatch"
                    )));
                }
            }
        }
    }
    Ok((first.map(|(_, shared)| shared).unwrap_or_default(), warnings))
}

/// ncu's version, and clock control, cache control and replay mode from its command line.
fn settings(report: &OpenedReport) -> Result<Fingerprint, StoreError> {
    let session = report.report.session().map_err(|e| report.failed(e.to_string()))?;
    let asked = |value: Option<&str>| value.unwrap_or("not in the report").to_owned();
    Ok(Fingerprint {
        ncu: session.ncu_version().map(str::to_owned),
        clock_control: asked(session.clock_control()),
        cache_control: asked(session.option("--cache-control")),
        replay_mode: asked(session.replay_mode()),
        ..Fingerprint::default()
    })
}

/// The settings of ncu that differ, a phrase each.
fn unlike_settings(own: &Fingerprint, shared: &Fingerprint) -> Vec<String> {
    let version = |fingerprint: &Fingerprint| fingerprint.ncu.clone().unwrap_or_else(|| "unknown".to_owned());
    let told = [
        ("ncu", version(own), version(shared)),
        ("clock control", own.clock_control.clone(), shared.clock_control.clone()),
        ("cache control", own.cache_control.clone(), shared.cache_control.clone()),
        ("replay mode", own.replay_mode.clone(), shared.replay_mode.clone()),
    ];
    let unlike = told.into_iter().filter(|(_, own, shared)| own != shared);
    unlike.map(|(what, own, shared)| format!("{what}: {own}, not {shared}")).collect()
}

fn described(gpu: Option<&Gpu>) -> String {
    gpu.map_or_else(
        || "an unknown GPU".to_owned(),
        |gpu| format!("{} (compute capability {}, {} SMs)", gpu.name, gpu.compute_capability, gpu.sms),
    )
}

fn gpu(launch: &Launch<'_>) -> Result<Option<Gpu>, ReportError> {
    let (Some(name), Some(compute_capability), Some(sms)) =
        (launch.device_name()?, launch.compute_capability()?, launch.sm_count()?)
    else {
        return Ok(None);
    };
    let optin = launch.metric("device__attribute_max_shared_memory_per_block_optin")?.and_then(|value| value.as_u64());
    Ok(Some(Gpu {
        name: name.into_owned(),
        compute_capability: compute_capability.into(),
        sms,
        memory: None,
        shared_memory_optin: optin.and_then(|bytes| u32::try_from(bytes).ok()),
    }))
}
