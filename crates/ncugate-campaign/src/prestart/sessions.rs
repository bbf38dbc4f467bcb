//! ncu started before its turn, over a program that waits for its job.

use super::passes;
use super::{PrestartedProcesses, WORKERS, settle_workers};
use crate::counter_collection::book;
use crate::deep_profile::EARLY_STEM;
use crate::profile::{ShapeCounters, cases, counters, counters_by_shape};
use crate::targets::{self, ProfilingFolders, launches_of_kernels};
use ncugate_cuda::host::external;
use ncugate_cuda::host::{ImportTime, Preload};
use ncugate_judge::frame::required_metrics;
use ncugate_model::VariantId;
use ncugate_model::disk::scratch_folder;
use ncugate_model::process::{self, RequestPipe};
use ncugate_ncu::{
    Effort, Group, Job, LaunchSelection, LifeSampling, Ncu, Processes, ProfileDetail, ProfiledCase, Runner, plan_groups,
};
use ncugate_phase::config::DeepProfileTarget;
use ncugate_phase::plan::{CommandPlan, Method};
use std::io;
use std::process::Command;
use std::sync::Arc;

/// Limit on sessions of a kind on a GPU: a phase has one to three groups of counters, and a fourth for shapes that are
/// only timed.
const MOST_SESSIONS: usize = 4;
/// Approximate device memory of a waiting process, in bytes.
const CONTEXT_BYTES: u64 = 1 << 29;
/// Waiting processes may take one part in this many of a GPU's memory.
const SHARE: u64 = 16;
/// Processor cores for each interpreter that imports under ncu.
const CORES: usize = 4;

/// A group of counters to collect, and the launches to collect them of.
type PlannedSession = (Group, LaunchSelection);

impl PrestartedProcesses<'_> {
    /// Measures the replay passes for the counters of kernels, if they are not known for this chip. The GPU is held
    /// meanwhile; if another run measures on it, profiling measures the passes later.
    pub(super) fn find_passes(&self) {
        let Ok(ncu) = &self.tools.ncu else { return };
        let kernels = self.variants(is_kernel).len();
        let unknown: Vec<_> = (self.counted().into_iter())
            .filter(|set| passes::are_unknown(ncu, self.tools, &set.counters, kernels * set.shapes.len()))
            .collect();
        if unknown.is_empty() {
            return;
        }
        let (Some(_hold), Ok(folders)) = (self.turn.hold(), self.folders()) else { return };
        for ShapeCounters { counters, shapes } in &unknown {
            let runner = Runner { prefix: "early-", ..folders.runner(ncu, self.phase) };
            passes::find(runner, self.tools, counters, kernels * shapes.len());
        }
    }

    /// Starts workers with an open device: the ones that check, time and confirm kernels, and one under ncu for each group
    /// of counters and for the deep profile; fewer on a GPU with little memory. Nothing is started if another run measures
    /// on the GPU. It is held until everything has loaded.
    pub(super) fn start_over_kernels(&self) {
        let kernels = self.variants(is_kernel);
        let most = usize::try_from(self.tools.device.memory / SHARE / CONTEXT_BYTES).unwrap_or(usize::MAX);
        if kernels.is_empty() || most == 0 {
            return;
        }
        let Some(hold) = self.turn.hold() else { return };
        let sessions = match &self.tools.ncu {
            Ok(ncu) => self.planned(ncu, &kernels, |cases| launches_of_kernels(self.phase, cases)),
            Err(_) => Vec::new(),
        };
        let sessions = &sessions[..sessions.len().min(MOST_SESSIONS).min(most)];
        let left = most - sessions.len();
        let is_of_kernels = self.variants(is_function).is_empty();
        // The first worker is needed first.
        let workers = if is_of_kernels { left.min(WORKERS.len()) } else { 0 };
        if workers > 0 {
            self.open_device(0);
        }
        if let Ok(ncu) = &self.tools.ncu {
            for (number, (group, selection)) in sessions.iter().enumerate() {
                // Groups of different shapes share a name, and each session waits on a separate pipe.
                let stem = format!("launched-{number}-{}", group.name);
                let wanted = (&group.metrics[..], ProfileDetail::Counters, selection);
                let _ = self.start_over_worker(ncu, &stem, wanted, &Preload::Device);
            }
            if left > workers {
                self.start_deep_profile(ncu, &kernels);
            }
        }
        // and one for each process of a confirmation's first look, if memory allows
        let confirming =
            if is_of_kernels { left.saturating_sub(1).min(1 + self.phase.bench.processes as usize) } else { 0 };
        (1..workers.max(confirming)).for_each(|number| self.open_device(number));
        // A loaded process disturbs nobody: other runs may measure until the builds have ended.
        let (sessions, workers) = (self.sessions.clone(), Arc::clone(&self.workers));
        std::thread::spawn(move || {
            sessions.settle();
            settle_workers(&workers);
            drop(hold);
        });
    }

    /// Starts ncu for the deep profile of a kernel. Latencies are not known yet: the session serves a kernel whose
    /// launches are sampled at the shortest interval.
    fn start_deep_profile(&self, ncu: &Ncu, kernels: &[&VariantId]) {
        if self.phase.profile.deep_profile == DeepProfileTarget::None {
            return;
        }
        let capability = self.tools.device.compute_capability;
        let metrics = required_metrics::deep_counters(Some(capability));
        let detail = ProfileDetail::Deep(LifeSampling::shortest(ncu.version, capability));
        let selection = launches_of_kernels(
            self.phase,
            &cases(kernels.iter().copied(), std::slice::from_ref(&self.phase.objective.shape)),
        );
        let wanted = (&metrics[..], detail, &selection);
        let _ = self.start_over_worker(ncu, EARLY_STEM, wanted, &Preload::Device);
    }

    /// Starts ncu over functions if some are in Python, for each group of their counters; for fewer if cores are few.
    pub(super) fn start_over_functions(&self) {
        let Ok(ncu) = &self.tools.ncu else { return };
        let Some(preload) = self.functions(ImportTime::BeforeJob) else { return };
        let most = (process::cores() / CORES).clamp(1, MOST_SESSIONS);
        let sessions = self.planned(ncu, &self.variants(is_function), targets::in_ranges);
        for (number, (group, selection)) in sessions.iter().take(most).enumerate() {
            let stem = format!("called-{number}-{}", group.name);
            let wanted = (&group.metrics[..], ProfileDetail::Counters, selection);
            let _ = self.start_over_worker(ncu, &stem, wanted, &preload);
        }
    }

    /// Starts ncu over external baselines, if one session collects all counters of one. The turn is already taken.
    pub(super) fn start_over_baselines(&self) {
        let Ok(ncu) = &self.tools.ncu else { return };
        let (counted, _) = counters(&self.metrics, &self.tools.device);
        let [group] = &self.groups(ncu, &counted, self.phase.profile.shapes.len())[..] else { return };
        let is_baseline = |id: &VariantId| self.plan.baselines().any(|baseline| &baseline.id == id);
        let commands = self.plan.commands().filter(|(id, _)| is_baseline(id)).take(MOST_SESSIONS);
        for (variant, plan) in commands {
            let _ = self.start_over_command(ncu, (variant, plan), &group.metrics);
        }
    }

    fn start_over_command(
        &self,
        ncu: &Ncu,
        (variant, plan): (&VariantId, &CommandPlan),
        metrics: &[String],
    ) -> io::Result<()> {
        let stem = targets::file_name(variant);
        let pipe = RequestPipe::make(&self.folder.join("logs").join(format!("{stem}.waiting.json")))?;
        let target = external::command(plan, pipe.path()).ok_or(io::ErrorKind::InvalidInput)?;
        let selection = targets::launches_of(plan, &cases(std::iter::once(variant), &self.phase.profile.shapes));
        let wanted = (metrics, ProfileDetail::Counters, &selection);
        self.start(ncu, (&stem, wanted), (&target, Processes::All), pipe)
    }

    fn start_over_worker(
        &self,
        ncu: &Ncu,
        stem: &str,
        wanted: (&[String], ProfileDetail, &LaunchSelection),
        preload: &Preload,
    ) -> io::Result<()> {
        let place = self.folder.join("logs").join(stem);
        let about = place.with_extension("preload.json");
        std::fs::write(&about, serde_json::to_vec(preload)?)?;
        let pipe = RequestPipe::make(&place.with_extension("json"))?;
        let mut target = self.tools.worker.command();
        target.arg("--preload").arg(&about).arg(pipe.path());
        self.start(ncu, (stem, wanted), (&target, Processes::Application), pipe)
    }

    /// Starts ncu over a program that receives its job through the pipe.
    fn start(
        &self,
        ncu: &Ncu,
        (stem, (metrics, detail, selection)): (&str, (&[String], ProfileDetail, &LaunchSelection)),
        (target, processes): (&Command, Processes),
        pipe: RequestPipe,
    ) -> io::Result<()> {
        let job = Job { stem, metrics, detail, target, selection, processes };
        self.folders()?.runner(ncu, self.phase).prestart(&self.sessions, &job, pipe)
    }

    /// The counters of kernels and functions.
    fn counted(&self) -> Vec<ShapeCounters> {
        counters_by_shape(self.phase, self.plan, &self.metrics, &self.tools.device)
    }

    /// The sessions over the worker that launches some variants, as far as they are known before the first session.
    fn planned(
        &self,
        ncu: &Ncu,
        variants: &[&VariantId],
        select: impl Fn(&[ProfiledCase]) -> LaunchSelection,
    ) -> Vec<PlannedSession> {
        let mut sessions = Vec::new();
        for ShapeCounters { counters, shapes } in self.counted().into_iter().filter(|_| !variants.is_empty()) {
            let groups = self.groups(ncu, &counters, variants.len() * shapes.len());
            let selection = select(&cases(variants.iter().copied(), &shapes));
            sessions.extend(groups.into_iter().map(|group| (group, selection.clone())));
        }
        sessions
    }

    /// The groups of counters to collect, as far as they are known before the first session.
    fn groups(&self, ncu: &Ncu, counters: &[String], launches: usize) -> Vec<Group> {
        let effort = Effort { launches, probes: 0 };
        let mut unasked = |_: &[String]| Err(());
        plan_groups(counters, effort, &mut unasked, &mut book(ncu, &self.tools.device)).unwrap_or_default()
    }

    fn variants(&self, is_such: impl Fn(&Method) -> bool) -> Vec<&VariantId> {
        self.plan.variants.iter().filter(|variant| is_such(&variant.method)).map(|variant| &variant.id).collect()
    }

    fn folders(&self) -> io::Result<ProfilingFolders> {
        Ok(ProfilingFolders {
            reports: self.folder.join("reports"),
            logs: self.folder.join("logs"),
            scratch: scratch_folder(self.tools.device.uuid.as_deref())?,
        })
    }
}

fn is_kernel(method: &Method) -> bool {
    matches!(method, Method::Kernel(_))
}

fn is_function(method: &Method) -> bool {
    matches!(method, Method::Function(_))
}
