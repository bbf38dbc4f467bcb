//! Collects counters, and fallbacks if ncu is not permitted to read counters.

use super::activity::{Tracing, VerifiedTrace};
use super::error::CampaignError;
use super::prestart::PrestartedProcesses;
use super::progress::Progress;
use super::targets::{NvtxReader, ProfilingFolders};
use super::tools::Tools;
use ncugate_cuda::gpu::DeviceAttributes;
use ncugate_judge::store::RunWriter;
use ncugate_model::disk::scratch_folder;
use ncugate_model::number;
use ncugate_model::process;
use ncugate_model::{ProfileOutcome, ProfileRecord, TracedLaunch};
use ncugate_ncu::{
    CounterConditions, Ncu, NcuFailure, PassBook, ProfileError, ProfiledCase, ProfiledMetrics, Profiler,
    ProfilingSummary, Runner, Subject, cache_folder,
};
use ncugate_phase::config::{CounterPolicy, Phase};
use ncugate_phase::plan::{Method, Plan};
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::io;
use std::path::Path;
use std::time::Duration;

/// Delays before retrying while another tool holds the counters.
const BACK_OFF: [Duration; 3] = [Duration::from_secs(1), Duration::from_secs(2), Duration::from_secs(4)];
/// Name prefixes of metrics that ncu collects without permission: launch attributes, and counts of patched machine
/// code.
const NEEDS_NO_PERMISSION: [&str; 3] = ["launch__", "smsp__sass_", "sass__"];

/// A run to profile.
#[derive(Clone, Copy)]
pub(super) struct ProfiledRun<'a> {
    pub phase: &'a Phase,
    pub plan: &'a Plan,
    pub tools: &'a Tools,
    pub early: &'a PrestartedProcesses<'a>,
    /// Metrics required for judging and reports.
    pub metrics: &'a [String],
    pub writer: &'a RefCell<&'a mut RunWriter>,
    pub folder: &'a Path,
    pub progress: &'a (dyn Progress + Sync),
}

/// The collection of counters.
pub(super) struct CounterCollection<'a> {
    pub run: ProfiledRun<'a>,
    /// Metrics profiled by earlier sessions of the run.
    pub covered: ProfiledMetrics,
    /// The fallback if ncu is not permitted to read counters.
    pub tracing: Tracing,
}

impl CounterCollection<'_> {
    /// Collects counters. Without permission, collects those that need none, and records the rest as absent with the
    /// reason, unless the phase requires counters.
    pub fn collect(&mut self, subjects: &[Subject<'_>], counters: &[String]) -> Result<(), CampaignError> {
        let ncu = match &self.run.tools.ncu {
            Ok(ncu) => ncu,
            Err(absent) => return self.absent(subjects, (counters, &[]), &absent.to_string()),
        };
        let failure = match self.patiently(ncu, (subjects, counters)) {
            Err(CampaignError::Profile(ProfileError::Environment(failure)))
                if failure.denies_counters() && self.run.phase.counting == CounterPolicy::IfPossible =>
            {
                failure
            }
            Ok(collected) => return self.warn_of(&collected),
            Err(error) => return Err(error),
        };
        let (free, denied): (Vec<String>, Vec<String>) =
            counters.iter().cloned().partition(|name| failure == NcuFailure::Permission && needs_no_permission(name));
        if !free.is_empty() {
            match self.started(ncu, (subjects, &free)) {
                Ok(collected) => self.warn_of(&collected)?,
                Err(CampaignError::Profile(ProfileError::Environment(again))) if again.denies_counters() => {
                    return self.absent(subjects, (counters, &[]), &failure.to_string());
                }
                Err(error) => return Err(error),
            }
        }
        self.absent(subjects, (&denied, &free), &failure.to_string())
    }

    /// Records why ncu has none of these counters, with CUPTI's values in their place; ncu has the `counted` ones.
    fn absent(
        &mut self,
        subjects: &[Subject<'_>],
        (counters, counted): (&[String], &[String]),
        why: &str,
    ) -> Result<(), CampaignError> {
        let ProfiledRun { plan, writer, progress, .. } = self.run;
        let cases: Vec<&ProfiledCase> = subjects.iter().flat_map(|subject| &subject.cases).collect();
        if cases.is_empty() || counters.is_empty() {
            return Ok(());
        }
        let (kernels, others): (Vec<&ProfiledCase>, Vec<&ProfiledCase>) = cases
            .into_iter()
            .partition(|(id, _)| matches!(plan.variant(id).map(|v| &v.method), Some(Method::Kernel(_))));
        let given: Vec<String> = (TracedLaunch::COUNTERS.iter())
            .map(|name| (*name).to_owned())
            .filter(|name| !counted.contains(name))
            .collect();
        let denied: Vec<String> = counters.iter().filter(|name| !given.contains(name)).cloned().collect();
        let record = |(variant, shape): &ProfiledCase, metrics: &[String], (outcome, outputs)| {
            let (variant, shape, metrics) = (variant.clone(), shape.clone(), metrics.to_vec());
            writer.borrow_mut().record(&ProfileRecord { variant, shape, metrics, outcome, outputs })
        };
        let failed = |reason: String| (ProfileOutcome::Failed { reason }, None);
        for case in others {
            record(case, counters, failed(why.to_owned()))?;
        }
        let mut count = 0;
        let mut keep = |case: &ProfiledCase, outcome: Result<VerifiedTrace, String>| -> Result<(), CampaignError> {
            match outcome {
                Ok((trace, outputs)) => {
                    count += 1;
                    record(case, &given, (ProfileOutcome::Traced { trace }, Some(outputs)))?;
                    if !denied.is_empty() {
                        record(case, &denied, failed(why.to_owned()))?;
                    }
                }
                Err(reason) => {
                    record(case, counters, failed(format!("{why}; CUPTI did not trace it either: {reason}")))?
                }
            }
            Ok(())
        };
        if !kernels.is_empty() {
            self.tracing.trace(&kernels, &mut keep)?;
            if let Some(release) = self.tracing.release().filter(|_| count > 0) {
                let traced = number::counted(count, "case");
                progress.say(&format!("ncu collected no counters; CUPTI {release} traced {traced} instead"));
            }
        }
        self.warn(&format!("counters were not collected: {why}"))
    }

    /// Retries while another tool holds the counters: it may release them.
    fn patiently(&self, ncu: &Ncu, wanted: (&[Subject<'_>], &[String])) -> Result<ProfilingSummary, CampaignError> {
        for pause in BACK_OFF {
            match self.started(ncu, wanted) {
                Err(CampaignError::Profile(ProfileError::Environment(NcuFailure::DriverResourceUnavailable))) => {
                    let seconds = pause.as_secs();
                    self.run.progress.say(&format!("another tool holds the counters; retrying in {seconds} s"));
                    process::sleep(pause);
                }
                ended => return ended,
            }
        }
        self.started(ncu, wanted)
    }

    fn started(
        &self,
        ncu: &Ncu,
        (subjects, counters): (&[Subject<'_>], &[String]),
    ) -> Result<ProfilingSummary, CampaignError> {
        let ProfiledRun { phase, tools, early, writer, folder, progress, .. } = self.run;
        let io = |what| move |source| CampaignError::Io { what, source };
        let scratch = scratch_folder(tools.device.uuid.as_deref()).map_err(io("create a folder for ncu's locks"))?;
        let folders = ProfilingFolders { reports: folder.join("reports"), logs: folder.join("logs"), scratch };
        let runner = Runner { prestarted: Some(early.sessions()), ..folders.runner(ncu, phase) };
        let mut book = book(ncu, &tools.device);
        let verify = NvtxReader;
        let profiler = Profiler::new(runner, &verify, &self.covered);
        // A variant has a record for each shape and group of metrics.
        let mut counted = BTreeSet::new();
        let mut sink = |record: ProfileRecord| {
            if counted.insert(record.variant.clone()) {
                progress.step(&record.variant.0);
            }
            writer.borrow_mut().record(&record).map_err(io::Error::other)
        };
        Ok(profiler.profile(subjects, counters, &mut book, &mut sink)?)
    }

    /// Adds a warning to the run.
    pub fn warn(&self, warning: &str) -> Result<(), CampaignError> {
        Ok(self.run.writer.borrow_mut().warn(warning)?)
    }

    /// Adds a record to the run.
    pub fn keep(&self, record: &ProfileRecord) -> Result<(), CampaignError> {
        Ok(self.run.writer.borrow_mut().record(record)?)
    }

    fn warn_of(&self, collected: &ProfilingSummary) -> Result<(), CampaignError> {
        collected.warnings.iter().cloned().chain(unknown(collected)).try_for_each(|warning| self.warn(&warning))
    }
}

fn needs_no_permission(counter: &str) -> bool {
    NEEDS_NO_PERMISSION.iter().any(|beginning| counter.starts_with(beginning))
}

fn unknown(collected: &ProfilingSummary) -> Option<String> {
    (!collected.unknown.is_empty())
        .then(|| format!("not counted, because this ncu does not know these metrics: {}", collected.unknown.join(", ")))
}

/// The known replay passes of a GPU.
pub(super) fn book(ncu: &Ncu, device: &DeviceAttributes) -> PassBook {
    let chip = CounterConditions {
        gpu: device.name.clone(),
        compute_capability: device.compute_capability,
        ncu: ncu.version.to_string(),
        driver: device.driver.clone().unwrap_or_default(),
    };
    match cache_folder(|name| std::env::var_os(name)) {
        Some(folder) => PassBook::open(&folder, chip),
        None => PassBook::unkept(chip),
    }
}
