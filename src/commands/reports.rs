//! ncu reports that this program did not make, judged by a phase's gates: every launch of the phase's kernels is a
//! variant of its own. They hold no undisturbed latency and no proof of correctness, and nothing here makes one up.

use super::CommandError;
use super::judge::Subject;
use crate::campaign;
use crate::config::Phase;
use crate::frame::launch_variant;
use crate::judge::Correctness;
use crate::model::Better;
use crate::model::Gpu;
use crate::model::VariantId;
use crate::model::{BuildOutcome, BuildRecord};
use crate::model::{ProfileOutcome, ProfileRecord};
use crate::ncu_rep::{Launch, Report};
use crate::plan::{CommandPlan, Method, Plan, Standing, Variant};
use crate::report::RunSource;
use crate::store::{Fingerprint, Manifest, Run, RunState, StoreError};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// Whether a launch whose result nobody compared is taken to be right.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trust {
    /// Gates are inconclusive.
    Unproven,
    /// The user said so.
    Assumed,
}

/// What gates are judged on: the launches of `files` whose kernels the phase names, or all where it names none of them.
pub fn subject(mut phase: Phase, files: &[PathBuf], assume_correct: bool) -> Result<Subject, CommandError> {
    let entries = entries(&phase);
    let mut read = Reading::default();
    for file in files {
        read.file(file, &entries)?;
    }
    if read.variants.is_empty() {
        let names = entries.iter().cloned().collect::<Vec<_>>().join("', '");
        return Err(CommandError::Usage(format!("no launch of '{names}' in {}", paths(files))));
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
    let mut manifest = campaign::manifest(&phase, &plan, read.fingerprint);
    manifest.state = RunState::Complete;
    manifest.finished = Some(manifest.started);
    manifest.warnings.push("judged from ncu reports alone: nothing was timed undisturbed, the launch that took ncu the shortest is selected".to_owned());
    let trust = if assume_correct { Trust::Assumed } else { Trust::Unproven };
    if trust == Trust::Assumed {
        manifest
            .warnings
            .push("results were taken to be correct (--assume-correct); nothing here proves it".to_owned());
    }
    let run = run(manifest, &phase, &plan, profiles.collect());
    Ok(Subject { phase, plan, run, source: RunSource::Recorded { folder: paths(files) }, foreign: Some(trust) })
}

/// Correctness of launches that nobody checked.
pub fn proofs(plan: &Plan, trust: Trust) -> BTreeMap<VariantId, Correctness> {
    let proof = match trust {
        Trust::Assumed => Correctness::Proven { cases: 0, max_abs: 0.0 },
        Trust::Unproven => Correctness::Unproven {
            reason: "an ncu report does not tell whether the result was right; --assume-correct judges all the same"
                .to_owned(),
        },
    };
    plan.variants.iter().map(|variant| (variant.id.clone(), proof.clone())).collect()
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
        profiles,
        close_looks: Vec::new(),
    }
}

fn not_built(variant: &Variant) -> BuildRecord {
    BuildRecord { variant: variant.id.clone(), shares: None, outcome: BuildOutcome::NotNeeded }
}

fn paths(files: &[PathBuf]) -> String {
    files.iter().map(|file| file.display().to_string()).collect::<Vec<_>>().join(", ")
}

/// Kernels that the phase names.
fn entries(phase: &Phase) -> BTreeSet<String> {
    use crate::config::VariantSpecKind;
    let named = phase.variants.iter().chain(&phase.baselines).filter_map(|variant| match &variant.kind {
        VariantSpecKind::Kernel(kernel) => Some(kernel.entry.clone()),
        VariantSpecKind::Command(_) => None,
    });
    phase.kernel.iter().map(|kernel| kernel.entry.clone()).chain(named).collect()
}

/// What was read so far.
#[derive(Default)]
struct Reading {
    variants: Vec<Variant>,
    /// The report of each variant, by path.
    owners: Vec<(VariantId, String)>,
    fingerprint: Fingerprint,
}

impl Reading {
    fn file(&mut self, file: &Path, entries: &BTreeSet<String>) -> Result<(), CommandError> {
        let failed = |reason: String| StoreError::Report { path: file.to_owned(), reason };
        let path = std::path::absolute(file).map_err(|e| failed(e.to_string()))?;
        let report = Report::open(&path).map_err(|e| failed(e.to_string()))?;
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        for launch in report.launches() {
            if !entries.is_empty() && !entries.contains(launch.kernel_name().as_ref()) {
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

fn gpu(launch: &Launch<'_>) -> Result<Option<Gpu>, crate::ncu_rep::ReportError> {
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
