//! Profiling as a stage of a campaign.

use super::activity::Tracing;
use super::counter_collection::{CounterCollection, ProfiledRun};
use super::error::CampaignError;
use super::prestart::PrestartedProcesses;
use super::progress::Progress;
use super::targets::{self, CommandTarget, WorkerTarget, launches_of_kernels};
use super::tools::{RunGpu, Tools};
use ncugate_cuda::gpu::DeviceAttributes;
use ncugate_cuda::host::{JobPurpose, WorkerJob};
use ncugate_judge::frame::required_metrics;
use ncugate_judge::store::RunWriter;
use ncugate_model::{BuiltKernel, ProfileRecord, ShapeName, VariantId};
use ncugate_ncu::{LaunchExpectation, Processes, ProfileError, ProfiledCase, ProfiledMetrics, Subject};
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
        let is_of = |standing: VariantRole| move |v: &&Variant| v.standing == standing && verified.contains(&v.id);
        let candidates = self.commands(is_of(VariantRole::Candidate));
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
        let each = |target| shapes.iter().map(move |shape| CommandTarget::subject(target, std::slice::from_ref(shape)));
        subjects.extend(candidates.iter().flat_map(each));
        collecting.collect(&subjects, &counters)?;
        let unseen: Vec<ShapeName> =
            required_metrics::timed_shapes(phase).into_iter().filter(|shape| !shapes.contains(shape)).collect();
        let unseen_cases = cases(kernels.iter().copied(), &unseen).into_iter().filter(is_launched).collect();
        let launched = self.launched(&worker, unseen_cases);
        let called = called(&worker, cases(functions.iter().copied(), &unseen));
        collecting.collect(&[launched, called], &witness)?;
        self.commands(is_of(VariantRole::Baseline))
            .iter()
            .try_for_each(|target| self.baseline(&mut collecting, target, &counters))
    }

    /// Profiles an external baseline. If that fails, its counters are absent with the reason, gates that read them or
    /// compare with it are inconclusive, and the rest of the run stands.
    fn baseline(
        self,
        collecting: &mut CounterCollection<'_>,
        target: &CommandTarget,
        counters: &[String],
    ) -> Result<(), CampaignError> {
        let shapes = &self.run.phase.profile.shapes;
        let why = match collecting.collect(&[target.subject(shapes)], counters) {
            Err(CampaignError::Profile(ProfileError::Unprofilable(why))) => why.to_string(),
            ended => return ended,
        };
        collecting.warn(&format!("no kernel of the external baseline {} was profiled: {why}", target.variant))?;
        targets::unprofiled(&target.variant, shapes, &why).iter().try_for_each(|record| collecting.keep(record))
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

    fn commands(self, wanted: impl FnMut(&&Variant) -> bool) -> Vec<CommandTarget> {
        let ProfiledRun { phase, plan, folder, gpu, .. } = self.run;
        let (logs, variants) = (folder.join("logs"), plan.variants.iter().filter(wanted));
        variants.filter_map(|variant| CommandTarget::of(phase, variant, &logs, gpu.name())).collect()
    }
}

/// Launches of functions that our worker calls. Launches during their setup are outside the ranges.
fn called(worker: &WorkerTarget, cases: Vec<ProfiledCase>) -> Subject<'_> {
    Subject {
        selection: targets::in_ranges(&cases),
        cases,
        target: worker,
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
