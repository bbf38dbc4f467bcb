//! Profiling as a stage of a campaign.

use super::activity::Tracing;
use super::error::CampaignError;
use super::lanes::{GpuName, Lane};
use super::progress::Progress;
use super::targets::{ByRange, CommandTarget, Folders, WorkerTarget};
use super::tools::Tools;
use crate::config::{Counting, Phase};
use crate::frame::wanted;
use crate::gpu::DeviceAttributes;
use crate::host::{JobPurpose, WorkerCommand, WorkerJob, range_name};
use crate::metric::id;
use crate::model::BuiltKernel;
use crate::model::ShapeName;
use crate::model::VariantId;
use crate::model::{ProfileOutcome, ProfileRecord, TracedLaunch};
use crate::ncu::{
    Collected, Counters, Covered, Expect, LaunchSelection, Ncu, NcuFailure, PassBook, Processes, ProfileError,
    ProfiledCase, Profiler, Runner, Subject, cache_folder, scratch_folder,
};
use crate::number;
use crate::plan::{Method, Plan, Standing, Variant};
use crate::process;
use crate::store::RunWriter;
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// How long to wait before counters are asked for again that another tool holds.
const BACK_OFF: [Duration; 3] = [Duration::from_secs(1), Duration::from_secs(2), Duration::from_secs(4)];
/// Beginnings of the names that ncu collects without permission: what a launch says of itself, and what patched machine code
/// counts.
const NEEDS_NO_PERMISSION: [&str; 3] = ["launch__", "smsp__sass_", "sass__"];

/// Profiling of the variants of a campaign.
pub(super) struct Profiling<'a> {
    /// The phase.
    pub phase: &'a Phase,
    /// Its variants.
    pub plan: &'a Plan,
    /// What to profile with.
    pub tools: &'a Tools,
    /// Metrics that judging and reporting need.
    pub metrics: &'a [String],
    /// Where records go.
    pub writer: &'a Mutex<&'a mut RunWriter>,
    /// The run's folder.
    pub folder: &'a Path,
    /// The GPU that counts, where that is not the run's first, and its number among the others.
    pub lane: Option<(usize, &'a Lane)>,
    /// What the user sees meanwhile.
    pub progress: &'a (dyn Progress + Sync),
    /// What stands in where ncu may not count, once it is known what is profiled.
    pub tracing: Option<Tracing>,
}

/// Profiles on all GPUs at once: each takes its share of the variants, with a worker, an ncu and locks of ncu of its own.
pub(super) fn over_lanes(
    (phase, plan, tools): (&Phase, &Plan, &Tools),
    metrics: &[String],
    writer: &mut RunWriter,
    progress: &(dyn Progress + Sync),
    cubins: &BTreeMap<VariantId, BuiltKernel>,
    verified: &BTreeSet<VariantId>,
    earlier: &[ProfileRecord],
) -> Result<(), CampaignError> {
    let folder = writer.folder().to_owned();
    let (writer, folder) = (&Mutex::new(writer), folder.as_path());
    let count = tools.others.len() + 1;
    // Commands take longest, and are dealt out first.
    let mut dealt: Vec<&VariantId> = verified.iter().collect();
    dealt.sort_by_key(|id| !matches!(plan.variant(id).map(|variant| &variant.method), Some(Method::Command(_))));
    let share = |number: usize| -> BTreeSet<VariantId> {
        dealt.iter().skip(number).step_by(count).map(|id| (*id).clone()).collect()
    };
    std::thread::scope(|scope| {
        let others = tools.others.iter().enumerate().map(|(number, lane)| {
            let own = share(number + 1);
            let lane = Some((number, lane));
            scope.spawn(move || {
                let tracing = None;
                Profiling { phase, plan, tools, metrics, writer, folder, lane, progress, tracing }
                    .run(cubins, &own, earlier)
            })
        });
        let others: Vec<_> = others.collect();
        let mut home = Profiling { phase, plan, tools, metrics, writer, folder, lane: None, progress, tracing: None };
        let ended = home.run(cubins, &share(0), earlier);
        others.into_iter().fold(ended, |ended, other| ended.and(other.join().unwrap_or(Err(CampaignError::LaneLost))))
    })
}

impl<'a> Profiling<'a> {
    /// Profiles every correct variant at the phase's profiled shapes, and at every other shape where a latency is judged
    /// what that is held against; the others get a record that says why not.
    pub(super) fn run(
        &mut self,
        cubins: &BTreeMap<VariantId, BuiltKernel>,
        verified: &BTreeSet<VariantId>,
        earlier: &[ProfileRecord],
    ) -> Result<(), CampaignError> {
        let (counters, witness) = counters(self.metrics, &self.tools.device);
        let folder = self.folder.to_owned();
        let covered = Covered::by(earlier);
        let cubins: BTreeMap<_, _> = cubins.iter().filter(|(id, _)| verified.contains(id)).map(clone_pair).collect();
        let mut job = WorkerJob::new(self.phase, self.plan, &cubins, JobPurpose::Profile)?;
        for kernel in &mut job.kernels {
            kernel.shapes = self.phase.workload.shapes.iter().map(|shape| shape.name.clone()).collect();
        }
        let (logs, prefix) = (folder.join("logs"), self.prefix());
        self.tracing = Some(Tracing::new(job.clone(), self.worker(), self.phase.bench.timeout, &logs, &prefix));
        let worker = WorkerTarget::new(job, logs, self.worker(), &prefix);
        let commands = self.command_targets(verified, &folder.join("logs"));
        let shapes = &self.phase.profile.shapes;
        let is_launched =
            |(id, shape): &ProfiledCase| cubins.get(id).is_none_or(|built| !built.left_out.contains(shape));
        let (kernels, functions): (Vec<&VariantId>, Vec<&VariantId>) = cubins
            .keys()
            .partition(|id| !matches!(self.plan.variant(id).map(|v| &v.method), Some(Method::Function(_))));
        let mut subjects = vec![
            self.launched(&worker, cases(kernels.iter().copied(), shapes).into_iter().filter(is_launched).collect()),
            called(&worker, cases(functions.iter().copied(), shapes)),
        ];
        for target in &commands {
            let own = cases(std::iter::once(&target.variant), shapes);
            subjects.extend(own.into_iter().map(|case| target.subject(case)));
        }
        self.collect(&subjects, &counters, &covered, &folder)?;
        let unseen: Vec<ShapeName> =
            wanted::timed_shapes(self.phase).into_iter().filter(|shape| !shapes.contains(shape)).collect();
        let unseen_cases = cases(kernels.iter().copied(), &unseen).into_iter().filter(is_launched).collect();
        let launched = self.launched(&worker, unseen_cases);
        let called = called(&worker, cases(functions.iter().copied(), &unseen));
        self.collect(&[launched, called], &witness, &covered, &folder)?;
        self.see_baselines(verified, &covered, &folder)
    }

    /// One profiled launch of every external command that a latency is compared with: it grades itself, and what it launches
    /// is seen by nobody else.
    fn see_baselines(
        &mut self,
        verified: &BTreeSet<VariantId>,
        covered: &Covered,
        folder: &Path,
    ) -> Result<(), CampaignError> {
        if !wanted::sees_baselines(self.phase) {
            return Ok(());
        }
        let standing = |variant: &&Variant| variant.standing == Standing::Baseline && verified.contains(&variant.id);
        let commands = self.commands(&folder.join("logs"), standing);
        let shape = wanted::timed_shapes(self.phase).into_iter().next();
        let case = |target: &CommandTarget| Some((target.variant.clone(), shape.clone()?));
        let subjects: Vec<Subject<'_>> =
            commands.iter().filter_map(|target| Some(target.subject(case(target)?))).collect();
        let duration = wanted::counters(&[id::DURATION.to_string()], Some(self.tools.device.compute_capability));
        match self.collect(&subjects, &duration, covered, folder) {
            // the gates that compare with them say so; everything else of the run stands
            Err(CampaignError::Profile(ProfileError::Unprofilable(why))) => {
                Ok(self.writer().warn(&format!("no kernel of an external baseline was seen: {why}"))?)
            }
            ended => ended,
        }
    }

    /// Launches of our own worker.
    fn launched<'s>(&self, worker: &'s WorkerTarget, cases: Vec<ProfiledCase>) -> Subject<'s> {
        Subject {
            cases,
            target: worker,
            selection: LaunchSelection::Everything,
            processes: Processes::Application,
            expect: expected(self.plan, self.phase.profile.repeat),
        }
    }

    /// The run, for one record.
    fn writer(&self) -> MutexGuard<'_, &'a mut RunWriter> {
        locked(self.writer)
    }

    fn device(&self) -> &DeviceAttributes {
        self.lane.map_or(&self.tools.device, |(_, lane)| &lane.device)
    }

    fn gpu(&self) -> Option<GpuName> {
        self.lane.map(|(_, lane)| lane.name.clone())
    }

    fn worker(&self) -> WorkerCommand {
        self.lane.map_or_else(|| self.tools.worker.clone(), |(_, lane)| self.tools.worker_on(lane))
    }

    fn prefix(&self) -> String {
        self.lane.map(|(number, _)| Lane::prefix(number)).unwrap_or_default()
    }

    fn warn(&mut self, collected: &Collected) -> Result<(), CampaignError> {
        for warning in collected.warnings.iter().cloned().chain(unknown(collected)) {
            self.writer().warn(&warning)?;
        }
        Ok(())
    }

    /// Collects counters. Where that is not possible here, as many as need no permission, and the rest is recorded as absent with
    /// the reason, unless the phase requires counters.
    fn collect(
        &mut self,
        subjects: &[Subject<'_>],
        counters: &[String],
        covered: &Covered,
        folder: &Path,
    ) -> Result<(), CampaignError> {
        let ncu = match &self.tools.ncu {
            Ok(ncu) => ncu,
            Err(absent) => return self.absent(subjects, (counters, &[]), &absent.to_string()),
        };
        let failure = match self.patiently(ncu, (subjects, counters), covered, folder) {
            Err(CampaignError::Profile(ProfileError::Environment(failure)))
                if failure.denies_counters() && self.phase.counting == Counting::IfPossible =>
            {
                failure
            }
            Ok(collected) => return self.warn(&collected),
            Err(error) => return Err(error),
        };
        let (free, denied): (Vec<String>, Vec<String>) =
            counters.iter().cloned().partition(|name| failure == NcuFailure::Permission && needs_no_permission(name));
        if !free.is_empty() {
            match self.started(ncu, (subjects, &free), covered, folder) {
                Ok(collected) => self.warn(&collected)?,
                Err(CampaignError::Profile(ProfileError::Environment(again))) if again.denies_counters() => {
                    return self.absent(subjects, (counters, &[]), &failure.to_string());
                }
                Err(error) => return Err(error),
            }
        }
        self.absent(subjects, (&denied, &free), &failure.to_string())
    }

    /// Records why ncu has none of these counters, and what CUPTI has in their place; of `counted` ncu has them.
    fn absent(
        &mut self,
        subjects: &[Subject<'_>],
        (counters, counted): (&[String], &[String]),
        why: &str,
    ) -> Result<(), CampaignError> {
        let cases: Vec<&ProfiledCase> = subjects.iter().flat_map(|subject| &subject.cases).collect();
        if cases.is_empty() || counters.is_empty() {
            return Ok(());
        }
        let (kernels, others): (Vec<&ProfiledCase>, Vec<&ProfiledCase>) = cases
            .into_iter()
            .partition(|(id, _)| matches!(self.plan.variant(id).map(|v| &v.method), Some(Method::Kernel(_))));
        let given: Vec<String> = (TracedLaunch::COUNTERS.iter())
            .map(|name| (*name).to_owned())
            .filter(|name| !counted.contains(name))
            .collect();
        let denied: Vec<String> = counters.iter().filter(|name| !given.contains(name)).cloned().collect();
        let writer = self.writer;
        let record = |(variant, shape): &ProfiledCase, metrics: &[String], outcome| {
            let (variant, shape, metrics) = (variant.clone(), shape.clone(), metrics.to_vec());
            locked(writer).profile(&ProfileRecord { variant, shape, metrics, outcome })
        };
        let failed = |reason: String| ProfileOutcome::Failed { reason };
        for case in others {
            record(case, counters, failed(why.to_owned()))?;
        }
        let mut count = 0;
        let mut keep = |case: &ProfiledCase, outcome| -> Result<(), CampaignError> {
            match outcome {
                Ok(trace) => {
                    count += 1;
                    record(case, &given, ProfileOutcome::Traced { trace })?;
                    if !denied.is_empty() {
                        record(case, &denied, failed(why.to_owned()))?;
                    }
                }
                Err(reason) => record(case, counters, failed(format!("{why}; nor was it traced by CUPTI: {reason}")))?,
            }
            Ok(())
        };
        if let Some(tracing) = self.tracing.as_mut().filter(|_| !kernels.is_empty()) {
            tracing.trace(&kernels, &mut keep)?;
            if let Some(release) = tracing.release().filter(|_| count > 0) {
                let traced = number::counted(count, "case");
                self.progress.say(&format!("ncu may not count here: CUPTI {release} traced {traced}"));
            }
        }
        Ok(self.writer().warn(&format!("counters were not collected: {why}"))?)
    }

    /// Starts again where another tool holds the counters: it may let them go.
    fn patiently(
        &mut self,
        ncu: &Ncu,
        wanted: (&[Subject<'_>], &[String]),
        covered: &Covered,
        folder: &Path,
    ) -> Result<Collected, CampaignError> {
        for pause in BACK_OFF {
            match self.started(ncu, wanted, covered, folder) {
                Err(CampaignError::Profile(ProfileError::Environment(NcuFailure::DriverResourceUnavailable))) => {
                    self.progress
                        .say(&format!("another tool holds the counters; trying again in {} s", pause.as_secs()));
                    process::sleep(pause);
                }
                ended => return ended,
            }
        }
        self.started(ncu, wanted, covered, folder)
    }

    fn started(
        &mut self,
        ncu: &Ncu,
        (subjects, counters): (&[Subject<'_>], &[String]),
        covered: &Covered,
        folder: &Path,
    ) -> Result<Collected, CampaignError> {
        let io = |what| move |source| CampaignError::Io { what, source };
        let scratch = scratch_folder(self.device().uuid.as_deref()).map_err(io("make a folder for ncu's locks"))?;
        let folders = Folders { reports: folder.join("reports"), logs: folder.join("logs"), scratch };
        let prefix = self.prefix();
        let runner = Runner { prestarted: Some(&self.tools.prestarted), ..folders.runner(ncu, self.phase, &prefix) };
        let mut book = book(ncu, self.device());
        let verify = ByRange;
        let profiler = Profiler::new(runner, &verify, covered);
        let (writer, progress) = (self.writer, self.progress);
        let mut sink = |record: ProfileRecord| {
            progress.step(&record.variant.0);
            locked(writer).profile(&record).map_err(io::Error::other)
        };
        Ok(profiler.profile(subjects, counters, &mut book, &mut sink)?)
    }

    /// External commands that can be profiled; baselines only where a requirement reads their counters.
    fn command_targets(&self, verified: &BTreeSet<VariantId>, folder: &Path) -> Vec<CommandTarget> {
        let baselines = wanted::profiles_baselines(self.phase);
        let wanted = |variant: &&Variant| {
            verified.contains(&variant.id) && (baselines || variant.standing == Standing::Candidate)
        };
        self.commands(folder, wanted)
    }

    fn commands(&self, folder: &Path, wanted: impl FnMut(&&Variant) -> bool) -> Vec<CommandTarget> {
        let variants = self.plan.variants.iter().filter(wanted);
        variants.filter_map(|variant| CommandTarget::of(self.phase, variant, folder, self.gpu())).collect()
    }
}

/// Launches of functions that our own worker calls. What they launch to get ready is outside of the ranges.
fn called(worker: &WorkerTarget, cases: Vec<ProfiledCase>) -> Subject<'_> {
    let ranges = cases.iter().map(|(variant, shape)| range_name(variant, shape)).collect();
    Subject {
        cases,
        target: worker,
        selection: LaunchSelection::Ranges(ranges),
        processes: Processes::Application,
        expect: Expect::Some,
    }
}

/// What a report has to hold of variants that are launched here.
pub(super) fn expected(plan: &Plan, repeats: u32) -> Expect {
    let several = plan.variants.iter().filter_map(|variant| match &variant.method {
        Method::Kernel(kernel) => Some((variant.id.clone(), kernel.launched_entries().len() as u32)),
        Method::Function(_) | Method::Command(_) | Method::Captured(_) => None,
    });
    Expect::Exactly { repeats, launches: several.filter(|(_, launches)| *launches != 1).collect() }
}

pub(super) fn cases<'b>(variants: impl Iterator<Item = &'b VariantId>, shapes: &[ShapeName]) -> Vec<ProfiledCase> {
    variants.flat_map(|id| shapes.iter().map(move |shape| (id.clone(), shape.clone()))).collect()
}

fn locked<'m, 'w>(writer: &'m Mutex<&'w mut RunWriter>) -> MutexGuard<'m, &'w mut RunWriter> {
    writer.lock().unwrap_or_else(PoisonError::into_inner)
}

fn clone_pair((id, built): (&VariantId, &BuiltKernel)) -> (VariantId, BuiltKernel) {
    (id.clone(), built.clone())
}

fn needs_no_permission(counter: &str) -> bool {
    NEEDS_NO_PERMISSION.iter().any(|beginning| counter.starts_with(beginning))
}

fn unknown(collected: &Collected) -> Option<String> {
    (!collected.unknown.is_empty())
        .then(|| format!("this ncu does not know, and nothing was counted for: {}", collected.unknown.join(", ")))
}

/// What is counted of every variant, and the part of it that every latency is held against.
pub(super) fn counters(metrics: &[String], device: &DeviceAttributes) -> (Vec<String>, Vec<String>) {
    let capability = Some(device.compute_capability);
    let witness = wanted::counters(&wanted::witness_counters(), capability);
    let mut counters = wanted::counters(metrics, capability);
    counters.extend(witness.iter().filter(|name| !counters.contains(name)).cloned().collect::<Vec<_>>());
    (counters, witness)
}

/// What is known of replay passes on a GPU.
pub(super) fn book(ncu: &Ncu, device: &DeviceAttributes) -> PassBook {
    let chip = Counters {
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
