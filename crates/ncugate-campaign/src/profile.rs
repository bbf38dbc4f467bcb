//! Profiling as a stage of a campaign.

use super::activity::Tracing;
use super::counter_collection::{CounterCollection, ProfiledRun};
use super::error::CampaignError;
use super::prestart::PrestartedProcesses;
use super::progress::Progress;
use super::targets::{CommandTarget, WorkerTarget, launches_of_kernels};
use super::tools::{RunGpu, Tools};
use ncugate_cuda::gpu::DeviceAttributes;
use ncugate_cuda::host::{JobPurpose, WorkerJob, range_name};
use ncugate_judge::frame::required_metrics;
use ncugate_judge::store::RunWriter;
use ncugate_model::metric::id;
use ncugate_model::{BuiltKernel, ProfileRecord, ShapeName, VariantId};
use ncugate_ncu::{
    LaunchExpectation, LaunchSelection, Processes, ProfileError, ProfiledCase, ProfiledMetrics, Subject,
};
use ncugate_phase::config::Phase;
use ncugate_phase::plan::{Method, Plan, Variant, VariantRole};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Mutex;

/// Profiling of variants on one GPU.
#[derive(Clone, Copy)]
struct Profiling<'a> {
    run: ProfiledRun<'a>,
    /// Metrics required for judging and reports.
    metrics: &'a [String],
}

/// Profiles on all GPUs at once. Each takes its share of the variants, with a separate worker, ncu and ncu lock.
pub(super) fn over_lanes(
    (phase, plan, tools, early): (&Phase, &Plan, &Tools, &PrestartedProcesses<'_>),
    metrics: &[String],
    writer: &mut RunWriter,
    progress: &(dyn Progress + Sync),
    cubins: &BTreeMap<VariantId, BuiltKernel>,
    verified: &BTreeSet<VariantId>,
    earlier: &[ProfileRecord],
) -> Result<(), CampaignError> {
    let folder = writer.folder().to_owned();
    let (writer, folder) = (&Mutex::new(writer), folder.as_path());
    let gpus: Vec<RunGpu<'_>> = tools.gpus().collect();
    // Commands take longest and are assigned first.
    let mut dealt: Vec<&VariantId> = verified.iter().collect();
    dealt.sort_by_key(|id| !matches!(plan.variant(id).map(|variant| &variant.method), Some(Method::Command(_))));
    std::thread::scope(|scope| {
        let working = gpus.iter().enumerate().map(|(number, &gpu)| {
            let own = dealt.iter().skip(number).step_by(gpus.len()).map(|id| (*id).clone()).collect();
            let run = ProfiledRun { phase, plan, tools, early, writer, folder, gpu, progress };
            scope.spawn(move || Profiling { run, metrics }.work(cubins, &own, earlier))
        });
        let working: Vec<_> = working.collect();
        let ended = working.into_iter().map(|gpu| gpu.join().unwrap_or(Err(CampaignError::LaneLost)));
        ended.fold(Ok(()), Result::and)
    })
}

impl Profiling<'_> {
    /// Profiles every correct variant at the profiled shapes, and collects the witness counters at every other shape
    /// with a judged latency. Other variants get a record with the reason.
    fn work(
        self,
        cubins: &BTreeMap<VariantId, BuiltKernel>,
        verified: &BTreeSet<VariantId>,
        earlier: &[ProfileRecord],
    ) -> Result<(), CampaignError> {
        let ProfiledRun { phase, plan, tools, folder, gpu, .. } = self.run;
        let (counters, witness) = counters(self.metrics, &tools.device);
        // The reference is in one of the built cubins.
        let mut job = WorkerJob::new(phase, plan, cubins, JobPurpose::Profile)?;
        let cubins: BTreeMap<_, _> = cubins.iter().filter(|(id, _)| verified.contains(id)).collect();
        for kernel in &mut job.kernels {
            kernel.shapes = phase.workload.shapes.iter().map(|shape| shape.name.clone()).collect();
        }
        let (logs, prefix) = (folder.join("logs"), gpu.prefix());
        let tracing = Tracing::new(job.clone(), gpu.worker(), phase.bench.timeout, &logs, &prefix);
        let mut collecting = CounterCollection { run: self.run, covered: ProfiledMetrics::by(earlier), tracing };
        let worker = WorkerTarget::new(job, logs, gpu.worker(), &prefix);
        let commands = self.command_targets(verified);
        let shapes = &phase.profile.shapes;
        let is_launched =
            |(id, shape): &ProfiledCase| cubins.get(id).is_none_or(|built| !built.left_out.contains(shape));
        let (kernels, functions): (Vec<&VariantId>, Vec<&VariantId>) = cubins
            .keys()
            .copied()
            .partition(|id| !matches!(plan.variant(id).map(|v| &v.method), Some(Method::Function(_))));
        let mut subjects = vec![
            self.launched(&worker, cases(kernels.iter().copied(), shapes).into_iter().filter(is_launched).collect()),
            called(&worker, cases(functions.iter().copied(), shapes)),
        ];
        for target in &commands {
            let own = cases(std::iter::once(&target.variant), shapes);
            subjects.extend(own.into_iter().map(|case| target.subject(case)));
        }
        collecting.collect(&subjects, &counters)?;
        let unseen: Vec<ShapeName> =
            required_metrics::timed_shapes(phase).into_iter().filter(|shape| !shapes.contains(shape)).collect();
        let unseen_cases = cases(kernels.iter().copied(), &unseen).into_iter().filter(is_launched).collect();
        let launched = self.launched(&worker, unseen_cases);
        let called = called(&worker, cases(functions.iter().copied(), &unseen));
        collecting.collect(&[launched, called], &witness)?;
        self.see_baselines(&mut collecting, verified)
    }

    /// Profiles one launch of every external command that latencies are compared with. Its latency is self-reported,
    /// and ncugate sees its launches only here.
    fn see_baselines(
        self,
        collecting: &mut CounterCollection<'_>,
        verified: &BTreeSet<VariantId>,
    ) -> Result<(), CampaignError> {
        let ProfiledRun { phase, tools, .. } = self.run;
        if !required_metrics::sees_baselines(phase) {
            return Ok(());
        }
        let standing = |variant: &&Variant| variant.standing == VariantRole::Baseline && verified.contains(&variant.id);
        let commands = self.commands(standing);
        let shape = required_metrics::timed_shapes(phase).into_iter().next();
        let case = |target: &CommandTarget| Some((target.variant.clone(), shape.clone()?));
        let subjects: Vec<Subject<'_>> =
            commands.iter().filter_map(|target| Some(target.subject(case(target)?))).collect();
        let duration = required_metrics::counters(&[id::DURATION.to_string()], Some(tools.device.compute_capability));
        match collecting.collect(&subjects, &duration) {
            // gates that compare with these baselines report it; the rest of the run stands
            Err(CampaignError::Profile(ProfileError::Unprofilable(why))) => {
                collecting.warn(&format!("no kernel of an external baseline was profiled: {why}"))
            }
            ended => ended,
        }
    }

    /// Launches of our worker.
    fn launched<'s>(self, worker: &'s WorkerTarget, cases: Vec<ProfiledCase>) -> Subject<'s> {
        Subject {
            selection: launches_of_kernels(self.run.phase, &cases),
            cases,
            target: worker,
            processes: Processes::Application,
            expect: expected(self.run.plan, self.run.phase.profile.repeat),
        }
    }

    /// External commands that can be profiled; baselines only if a requirement reads their counters.
    fn command_targets(self, verified: &BTreeSet<VariantId>) -> Vec<CommandTarget> {
        let baselines = required_metrics::profiles_baselines(self.run.phase);
        let wanted = |variant: &&Variant| {
            verified.contains(&variant.id) && (baselines || variant.standing == VariantRole::Candidate)
        };
        self.commands(wanted)
    }

    fn commands(self, wanted: impl FnMut(&&Variant) -> bool) -> Vec<CommandTarget> {
        let ProfiledRun { phase, plan, folder, gpu, .. } = self.run;
        let (logs, variants) = (folder.join("logs"), plan.variants.iter().filter(wanted));
        variants.filter_map(|variant| CommandTarget::of(phase, variant, &logs, gpu.name())).collect()
    }
}

/// Launches of functions that our worker calls. Launches during their setup are outside the ranges.
fn called(worker: &WorkerTarget, cases: Vec<ProfiledCase>) -> Subject<'_> {
    let ranges = cases.iter().map(|(variant, shape)| range_name(variant, shape)).collect();
    Subject {
        cases,
        target: worker,
        selection: LaunchSelection::Ranges(ranges),
        processes: Processes::Application,
        expect: LaunchExpectation::Some,
    }
}

/// Expected contents of a report for variants launched here.
pub(super) fn expected(plan: &Plan, repeats: u32) -> LaunchExpectation {
    let kernels = plan.variants.iter().filter_map(|variant| match &variant.method {
        Method::Kernel(kernel) => Some((&variant.id, kernel)),
        Method::Function(_) | Method::Command(_) | Method::Captured(_) => None,
    });
    let launches = kernels.flat_map(|(id, kernel)| {
        let count = |shape: &ShapeName| kernel.launched_entries(shape).len() as u32;
        kernel.programs.iter().map(move |program| ((id.clone(), program.shape.clone()), count(&program.shape)))
    });
    LaunchExpectation::Exactly { repeats, launches: launches.filter(|(_, launches)| *launches != 1).collect() }
}

pub(super) fn cases<'b>(variants: impl Iterator<Item = &'b VariantId>, shapes: &[ShapeName]) -> Vec<ProfiledCase> {
    variants.flat_map(|id| shapes.iter().map(move |shape| (id.clone(), shape.clone()))).collect()
}

/// Counters of every variant, and the subset that is the witness of every latency.
pub(super) fn counters(metrics: &[String], device: &DeviceAttributes) -> (Vec<String>, Vec<String>) {
    let capability = Some(device.compute_capability);
    let witness = required_metrics::counters(&required_metrics::witness_counters(), capability);
    let mut counters = required_metrics::counters(metrics, capability);
    counters.extend(witness.iter().filter(|name| !counters.contains(name)).cloned().collect::<Vec<_>>());
    (counters, witness)
}
