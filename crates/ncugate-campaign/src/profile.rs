//! Profiling as a stage of a campaign.

use super::activity::Tracing;
use super::counter_collection::{CounterCollection, ProfiledRun};
use super::error::CampaignError;
use super::prestart::PrestartedProcesses;
use super::progress::Progress;
use super::targets::{self, CommandTarget, WorkerTarget, launches_of_kernels};
use super::tools::Tools;
use ncugate_cuda::gpu::DeviceAttributes;
use ncugate_cuda::host::{JobPurpose, WorkerJob};
use ncugate_judge::frame::required_metrics;
use ncugate_judge::store::RunWriter;
use ncugate_model::{BuiltKernel, ProfileRecord, ShapeName, VariantId};
use ncugate_ncu::{LaunchExpectation, Processes, ProfileError, ProfiledCase, ProfiledMetrics, Subject};
use ncugate_phase::config::Phase;
use ncugate_phase::plan::{Method, Plan, Variant, VariantRole};
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

/// Most launches at shapes without a profile for which all counters are collected. Replays of more launches take longer
/// than another ncu process.
const MOST_JOINED: usize = 8;
/// Most bytes of the buffers at such a shape: ncu keeps a copy of them between passes.
const MOST_JOINED_BYTES: f64 = (1_u64 << 30) as f64;

/// Counters to collect at some shapes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ShapeCounters {
    pub counters: Vec<String>,
    pub shapes: Vec<ShapeName>,
}

/// Profiles the verified variants of a run.
pub(super) fn profile(
    (phase, plan, tools, early): (&Phase, &Plan, &Tools, &PrestartedProcesses<'_>),
    metrics: &[String],
    writer: &mut RunWriter,
    progress: &(dyn Progress + Sync),
    cubins: &BTreeMap<VariantId, BuiltKernel>,
    verified: &BTreeSet<VariantId>,
    earlier: &[ProfileRecord],
) -> Result<(), CampaignError> {
    let (folder, writer) = (writer.folder().to_owned(), RefCell::new(writer));
    let run = ProfiledRun { phase, plan, tools, early, metrics, writer: &writer, folder: &folder, progress };
    run.profile(cubins, verified, earlier)
}

impl ProfiledRun<'_> {
    /// Profiles every correct variant at the profiled shapes, and collects the witness counters at every other shape
    /// with a judged latency. Other variants get a record with the reason.
    fn profile(
        self,
        cubins: &BTreeMap<VariantId, BuiltKernel>,
        verified: &BTreeSet<VariantId>,
        earlier: &[ProfileRecord],
    ) -> Result<(), CampaignError> {
        let Self { phase, plan, tools, folder, metrics, .. } = self;
        // The reference is in one of the built cubins.
        let mut job = WorkerJob::new(phase, plan, cubins, JobPurpose::Profile)?;
        let cubins: BTreeMap<_, _> = cubins.iter().filter(|(id, _)| verified.contains(id)).collect();
        for kernel in &mut job.kernels {
            kernel.shapes = phase.workload.shapes.iter().map(|shape| shape.name.clone()).collect();
        }
        let logs = folder.join("logs");
        let tracing = Tracing::new(job.clone(), tools.worker.clone(), phase.bench.timeout, &logs);
        let mut collecting = CounterCollection { run: self, covered: ProfiledMetrics::by(earlier), tracing };
        let worker = WorkerTarget::new(job, logs, tools.worker.clone());
        let is_of = |standing: VariantRole| move |v: &&Variant| v.standing == standing && verified.contains(&v.id);
        let candidates = self.commands(is_of(VariantRole::Candidate));
        let shapes = &phase.profile.shapes;
        let is_launched =
            |(id, shape): &ProfiledCase| cubins.get(id).is_none_or(|built| !built.left_out.contains(shape));
        let (kernels, functions): (Vec<&VariantId>, Vec<&VariantId>) = cubins
            .keys()
            .copied()
            .partition(|id| !matches!(plan.variant(id).map(|v| &v.method), Some(Method::Function(_))));
        let each = |target| shapes.iter().map(move |shape| CommandTarget::subject(target, std::slice::from_ref(shape)));
        for (number, ShapeCounters { counters, shapes }) in
            counters_by_shape(phase, plan, metrics, &tools.device).iter().enumerate()
        {
            let mut subjects = vec![
                self.launched(
                    &worker,
                    cases(kernels.iter().copied(), shapes).into_iter().filter(is_launched).collect(),
                ),
                called(&worker, cases(functions.iter().copied(), shapes)),
            ];
            if number == 0 {
                subjects.extend(candidates.iter().flat_map(each));
            }
            collecting.collect(&subjects, counters)?;
        }
        let (counters, _) = counters(metrics, &tools.device);
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
        let shapes = &self.phase.profile.shapes;
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
            selection: launches_of_kernels(self.phase, &cases),
            cases,
            target: worker,
            processes: Processes::Application,
            expect: expected(self.plan, self.phase.profile.repeat),
        }
    }

    fn commands(self, wanted: impl FnMut(&&Variant) -> bool) -> Vec<CommandTarget> {
        let Self { phase, plan, folder, .. } = self;
        let (logs, variants) = (folder.join("logs"), plan.variants.iter().filter(wanted));
        variants.filter_map(|variant| CommandTarget::of(phase, variant, &logs)).collect()
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

/// The counters of kernels and functions: all of them at the profiled shapes, then the witness at every other shape
/// with a judged latency. Few launches at the other shapes get all counters too, in the same ncu process.
pub(super) fn counters_by_shape(
    phase: &Phase,
    plan: &Plan,
    metrics: &[String],
    device: &DeviceAttributes,
) -> Vec<ShapeCounters> {
    let (counters, witness) = counters(metrics, device);
    let mut shapes = phase.profile.shapes.clone();
    let mut others = required_metrics::timed_shapes(phase);
    others.retain(|shape| !shapes.contains(shape));
    let is_small = |shape: &ShapeName| {
        let shape = phase.workload.shapes.iter().find(|known| known.name == *shape);
        let bytes = shape.and_then(|shape| phase.workload.buffer_bytes(shape, |_| true));
        bytes.is_some_and(|bytes| bytes <= MOST_JOINED_BYTES)
    };
    let is_ours = |variant: &&Variant| matches!(variant.method, Method::Kernel(_) | Method::Function(_));
    let launches = plan.variants.iter().filter(is_ours).count() * others.len() * phase.profile.repeat as usize;
    if launches <= MOST_JOINED && others.iter().all(is_small) {
        shapes.append(&mut others);
    }
    let mut all = vec![ShapeCounters { counters, shapes }];
    if !others.is_empty() {
        all.push(ShapeCounters { counters: witness, shapes: others });
    }
    all
}

/// Counters of every variant, and the subset that is the witness of every latency.
pub(super) fn counters(metrics: &[String], device: &DeviceAttributes) -> (Vec<String>, Vec<String>) {
    let capability = Some(device.compute_capability);
    let witness = required_metrics::counters(&required_metrics::witness_counters(), capability);
    let mut counters = required_metrics::counters(metrics, capability);
    counters.extend(witness.iter().filter(|name| !counters.contains(name)).cloned().collect::<Vec<_>>());
    (counters, witness)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::tools;
    use ncugate_cuda::host::WorkerCommand;
    use ncugate_phase::plan::unroll;
    use std::path::Path;

    /// The shapes of each set of counters, and whether it has all counters. The shape `other` has the given number of
    /// elements and is not profiled.
    fn sets(elements: u64, profile: &str) -> Vec<(Vec<String>, bool)> {
        let text = include_str!("../../../tests/data/copy.toml");
        let shapes = format!("other = {{ S = {elements} }}\nonly = {{ S = 2048 }}");
        let text = text.replacen("only = { S = 2048 }", &shapes, 1);
        let more = "[[variant]]\nname = \"a\"\nparams = { THREADS = 32 }\n[[gate]]\nrequire = \"latency_p50 <= 1 s\"\n";
        let text = format!("{text}{more}shapes = [\"other\", \"only\"]\n[profile]\nshapes = [\"only\"]\n{profile}");
        let phase = ncugate_phase::config::parse(Path::new("sets.toml"), &text).unwrap();
        let place = tempfile::tempdir().unwrap();
        let device = tools(place.path(), WorkerCommand::new("false".into(), Vec::new())).device;
        let metrics = required_metrics::metrics(&phase);
        let (all, witness) = counters(&metrics, &device);
        let set = |set: ShapeCounters| {
            assert!(witness.iter().all(|counter| set.counters.contains(counter)));
            (set.shapes.iter().map(|shape| shape.0.to_string()).collect(), set.counters == all)
        };
        counters_by_shape(&phase, &unroll(&phase).unwrap(), &metrics, &device).into_iter().map(set).collect()
    }

    #[test]
    fn few_launches_on_small_buffers_are_counted_with_the_profiled_ones() {
        let (only, other) = ("only".to_owned(), "other".to_owned());
        let together = [(vec![only.clone(), other.clone()], true)];
        let apart = [(vec![only], true), (vec![other], false)];
        assert_eq!(sets(4096, ""), together);
        assert_eq!(sets(4096, "repeat = 9"), apart);
        // Two buffers of two bytes an element: 1 GiB.
        assert_eq!((sets(1 << 28, ""), sets((1 << 28) + 1, "")), (together.into(), apart.into()));
    }
}
