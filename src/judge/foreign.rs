//! ncu reports that this program did not make, judged by a phase's gates: every launch of the phase's kernels is a
//! variant of its own. They hold no undisturbed latency and no proof of correctness, and nothing here makes one up.

use super::{Evidence, JudgeError, PhaseRun};
use crate::config::Phase;
use crate::expr::Template;
use crate::frame::launch_variant;
use crate::model::{Better, BuildOutcome, BuildRecord, Gpu, KernelName, ProfileOutcome, ProfileRecord, VariantId};
use crate::plan::{CommandPlan, Method, Plan, Standing, Variant};
use crate::store::{Fingerprint, Manifest, Run, RunState, StoreError, manifest, open_report};
use ncu_rep::{Launch, ReportError};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A run made of the launches of `files` whose kernels the phase names, or of all where it names none of them.
///
/// # Errors
/// A report cannot be read, or none holds a launch of the phase's kernels.
pub fn foreign_run(mut phase: Phase, files: &[PathBuf], evidence: Evidence) -> Result<PhaseRun, JudgeError> {
    let entries = entries(&phase);
    let mut read = Launches::default();
    for file in files {
        read.file(file, &entries)?;
    }
    if read.variants.is_empty() {
        let names = entries.iter().map(KernelName::function).collect::<Vec<_>>().join("', '");
        return Err(JudgeError::NotFound(format!("no launch of '{names}' in {}", paths(files))));
    }
    // No undisturbed latency is there: the launch that took ncu the shortest stands for the rest.
    phase.objective.metric = "duration".to_owned();
    phase.objective.better = Better::Lower;
    let plan = Plan { variants: read.variants };
    let shape = phase.objective.shape.clone();
    let profiles = read.owners.into_iter().map(|(variant, report)| ProfileRecord {
        variant,
        shape: shape.clone(),
        metrics: Vec::new(),
        outcome: ProfileOutcome::Profiled { report },
    });
    let mut manifest = manifest(&phase, &plan, read.fingerprint);
    manifest.state = RunState::Complete;
    manifest.finished = Some(manifest.started);
    manifest.warnings.push("judged from ncu reports alone: no latency was measured, so the variant with the shortest launch under ncu is selected".to_owned());
    if evidence == Evidence::AssumedCorrect {
        manifest
            .warnings
            .push("results are assumed to be correct (--assume-correct); nothing here proves it".to_owned());
    }
    let run = run(manifest, &phase, &plan, profiles.collect());
    Ok(PhaseRun { phase, plan, run: Arc::new(run), evidence })
}

fn run(manifest: Manifest, phase: &Phase, plan: &Plan, profiles: Vec<ProfileRecord>) -> Run {
    Run {
        folder: PathBuf::new(),
        manifest,
        phase: phase.text.clone(),
        plan: plan.clone(),
        workload: serde_json::Value::Null,
        builds: plan.variants.iter().map(not_built).collect(),
        checks: Vec::new(),
        latencies: Vec::new(),
        confirmations: Vec::new(),
        profiles,
        close_looks: Vec::new(),
    }
}

fn not_built(variant: &Variant) -> BuildRecord {
    BuildRecord { variant: variant.id.clone(), shares: None, outcome: BuildOutcome::NotNeeded }
}

/// Paths in one line.
pub fn paths(files: &[PathBuf]) -> String {
    files.iter().map(|file| file.display().to_string()).collect::<Vec<_>>().join(", ")
}

/// Kernels that the phase names.
fn entries(phase: &Phase) -> Vec<KernelName> {
    use crate::config::VariantSpecKind;
    let named = phase.variants.iter().chain(&phase.baselines).filter_map(|variant| match &variant.kind {
        VariantSpecKind::Kernel(kernel) => Some(name_of(&kernel.entry)),
        VariantSpecKind::Function(_) | VariantSpecKind::Command(_) => None,
    });
    phase.kernel.iter().map(|kernel| name_of(&kernel.entry)).chain(named).collect()
}

/// The name of a kernel as far as no parameter decides it: the function, where parameters are template arguments.
fn name_of(entry: &Template) -> KernelName {
    let name = KernelName::parse(entry.text());
    if entry.names().is_empty() { name } else { KernelName::parse(name.function()) }
}

/// What was read so far.
#[derive(Default)]
struct Launches {
    variants: Vec<Variant>,
    /// The report of each variant, by path.
    owners: Vec<(VariantId, String)>,
    fingerprint: Fingerprint,
}

impl Launches {
    fn file(&mut self, file: &Path, entries: &[KernelName]) -> Result<(), StoreError> {
        let failed = |reason: String| StoreError::Report { path: file.to_owned(), reason };
        let path = std::path::absolute(file).map_err(|e| failed(e.to_string()))?;
        let report = open_report(file)?;
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        for launch in report.launches() {
            let (function, demangled) = (launch.kernel_name(), launch.demangled_name());
            if !entries.is_empty() && !entries.iter().any(|entry| entry.launched_as(&function, &demangled)) {
                continue;
            }
            let id = launch_variant(&name, launch.id());
            self.owners.push((id.clone(), path.display().to_string()));
            self.variants.push(Variant {
                id,
                standing: Standing::Candidate,
                params: Vec::new(),
                method: Method::Command(CommandPlan { argv: Vec::new(), kernel_filter: None }),
            });
            if self.fingerprint.gpu.is_none() {
                self.fingerprint.gpu = gpu(&launch).map_err(|e| failed(e.to_string()))?;
            }
        }
        if self.fingerprint.ncu.is_none() {
            let session = report.session().map_err(|e| failed(e.to_string()))?;
            self.fingerprint.ncu = session.ncu_version().map(str::to_owned);
        }
        Ok(())
    }
}

fn gpu(launch: &Launch<'_>) -> Result<Option<Gpu>, ReportError> {
    let (Some(name), Some(compute_capability), Some(sms)) =
        (launch.device_name()?, launch.compute_capability()?, launch.sm_count()?)
    else {
        return Ok(None);
    };
    let attribute = |name: &str| Ok(launch.metric(name)?.and_then(|value| value.as_u64()).unwrap_or(0));
    Ok(Some(Gpu {
        name: name.into_owned(),
        compute_capability: compute_capability.into(),
        sms,
        memory: 0,
        shared_memory_optin: u32::try_from(attribute("device__attribute_max_shared_memory_per_block_optin")?)
            .unwrap_or(0),
    }))
}
