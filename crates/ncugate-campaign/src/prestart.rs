//! What is started before its turn, to wait for its job: workers, and ncu over them. It loads while variants are built, and is idle
//! before anything is timed.

use super::counter_collection::book;
use super::early_passes;
use super::gpu_turn::GpuTurn;
use super::profile::{cases, counters};
use super::targets::{self, ProfilingFolders, launches_of_kernels};
use super::tools::{RunGpu, Tools};
use ncugate_cuda::host::external;
use ncugate_cuda::host::{HiddenJob, Preload, range_name};
use ncugate_judge::frame::required_metrics;
use ncugate_model::ComputeMode;
use ncugate_model::ShapeName;
use ncugate_model::disk::scratch_folder;
use ncugate_model::metric::id;
use ncugate_model::process::{RequestPipe, VISIBLE_GPUS};
use ncugate_ncu::{Effort, Group, Job, LaunchSelection, LifeSampling, Ncu, Processes, ProfileDetail, plan_groups};
use ncugate_phase::config::Phase;
use ncugate_phase::plan::{Method, Plan, VariantRole};
use std::io;
use std::path::Path;
use std::process::Command;

/// Workers that are started: one that checks and times, one for what is timed anew.
const WORKERS: usize = 2;
/// Most sessions of ncu over kernels on a GPU: a phase has one to three groups of counters, and a fourth for shapes that are only timed.
const MOST_SESSIONS: usize = 4;
/// About how many bytes of device memory a process takes that waits.
const CONTEXT_BYTES: u64 = 1 << 29;
/// The part of a GPU's memory that processes which wait may take.
const SHARE: u64 = 16;

/// What measures the variants of a run, before there is a job for it. What cannot be started now says why at its turn.
#[derive(Clone, Copy)]
pub(super) struct Prestart<'a> {
    pub phase: &'a Phase,
    pub plan: &'a Plan,
    pub tools: &'a Tools,
    /// Metrics that judging and reporting need.
    pub metrics: &'a [String],
    /// The run's folder.
    pub folder: &'a Path,
}

impl Prestart<'_> {
    /// Starts what runs Python functions, where there are any: two workers, and ncu where one session collects all that is counted of them.
    pub fn functions(self) {
        if !self.has_functions() || !self.is_shared() {
            return;
        }
        let functions = self.plan.variants.iter().filter_map(|variant| match &variant.method {
            Method::Function(function) => Some((function.file.clone(), function.function.clone())),
            Method::Kernel(_) | Method::Command(_) | Method::Captured(_) => None,
        });
        let preload = Preload::Functions { python: self.phase.build.python.clone(), functions: functions.collect() };
        self.workers(&[preload.clone(), preload.clone()]);
        let Ok(ncu) = &self.tools.ncu else { return };
        let (counted, _) = counters(self.metrics, &self.tools.device);
        let [group] = &self.groups(ncu, &counted, &self.phase.profile.shapes)[..] else { return };
        let functions = self.plan.variants.iter().filter(|variant| matches!(variant.method, Method::Function(_)));
        let ranges = cases(functions.map(|variant| &variant.id), &self.phase.profile.shapes);
        let selection = LaunchSelection::Ranges(ranges.iter().map(|(id, shape)| range_name(id, shape)).collect());
        let wanted = (&group.metrics[..], ProfileDetail::Counters, &selection);
        let _ = self.session(ncu, self.tools.timing_gpu(), "called", wanted, &preload);
    }

    /// Finds out how many replay passes the counters of kernels need, where a first run on a chip would ask for that later, with nothing
    /// else to do. The GPU is held meanwhile, unless another run measures on it.
    pub fn find_passes(self, turn: &GpuTurn<'_>) {
        let Ok(ncu) = &self.tools.ncu else { return };
        let gpu = self.tools.timing_gpu();
        let unknown: Vec<_> = (self.counted().into_iter())
            .filter(|(counters, shapes)| early_passes::are_unknown(ncu, gpu, counters, self.launches(shapes)))
            .collect();
        if unknown.is_empty() || !self.launches_kernels() || !self.is_shared() {
            return;
        }
        let (Some(hold), Ok(folders)) = (turn.hold(), self.folders(gpu)) else { return };
        for (counters, shapes) in &unknown {
            let runner = folders.runner(ncu, self.phase, "early-");
            early_passes::find(runner, gpu, counters, self.launches(shapes));
        }
        hold.release();
    }

    /// Starts what launches kernels: workers with an open device, and ncu over one for each group of counters on each GPU; on GPUs with little
    /// memory fewer. Nothing is started where the phase has Python functions, or where another run measures on a GPU. GPUs are held until
    /// everything has loaded.
    pub fn kernels(self, turn: &GpuTurn<'_>) {
        let most = self.most_contexts();
        if !self.launches_kernels() || most < WORKERS || !self.is_shared() {
            return;
        }
        let Some(hold) = turn.hold() else { return };
        // The first checks and times; a phase whose cases only its kernels can make has none to begin with.
        let hidden = HiddenJob::of_phase(self.phase, self.plan, self.tools.device.l2_bytes).ok().map(Box::new);
        self.workers(&[Preload::Device { hidden }, Preload::Device { hidden: None }]);
        self.sessions_over_kernels(most - WORKERS);
        // What has loaded disturbs nobody: others may measure until the builds have ended.
        let (workers, sessions) = (self.tools.worker.prestarted.clone(), self.tools.prestarted.clone());
        std::thread::spawn(move || {
            workers.settle();
            sessions.settle();
            hold.release();
        });
    }

    fn sessions_over_kernels(self, most: usize) {
        let Ok(ncu) = &self.tools.ncu else { return };
        let kernels = self.plan.variants.iter().filter(|variant| matches!(variant.method, Method::Kernel(_)));
        let kernels: Vec<_> = kernels.map(|variant| &variant.id).collect();
        let mut groups: Vec<(Group, LaunchSelection)> = Vec::new();
        for (counters, shapes) in self.counted() {
            let selection = launches_of_kernels(self.phase, &cases(kernels.iter().copied(), &shapes));
            groups.extend(self.groups(ncu, &counters, &shapes).into_iter().map(|group| (group, selection.clone())));
        }
        let opened = Preload::Device { hidden: None };
        for gpu in self.tools.gpus() {
            for (number, (group, selection)) in groups.iter().take(MOST_SESSIONS.min(most)).enumerate() {
                // Groups of different shapes have the same name, and each session waits at a pipe of its own.
                let stem = format!("launched-{number}-{}", group.name);
                let wanted = (&group.metrics[..], ProfileDetail::Counters, selection);
                let _ = self.session(ncu, gpu, &stem, wanted, &opened);
            }
        }
    }

    /// Starts ncu for a deep profile of kernels with the run's metrics, on the GPU that times; not on one with little memory.
    pub fn deep_profile(self, stem: &str, sampling: LifeSampling, selection: &LaunchSelection) {
        let Ok(ncu) = &self.tools.ncu else { return };
        if self.most_contexts() <= WORKERS || !self.is_shared() {
            return;
        }
        let wanted = (self.metrics, ProfileDetail::Close(sampling), selection);
        let _ = self.session(ncu, self.tools.timing_gpu(), stem, wanted, &Preload::Device { hidden: None });
    }

    /// Starts ncu over the external commands of which one launch is looked at, since latencies are compared with theirs. The right to measure is
    /// there already.
    pub fn baselines(self) {
        let (Ok(ncu), Some(shape)) = (&self.tools.ncu, required_metrics::timed_shapes(self.phase).into_iter().next())
        else {
            return;
        };
        if !required_metrics::sees_baselines(self.phase) {
            return;
        }
        let metrics =
            required_metrics::counters(&[id::DURATION.to_string()], Some(self.tools.device.compute_capability));
        let gpus: Vec<RunGpu<'_>> = self.tools.gpus().collect();
        let baselines = self.plan.variants.iter().filter(|variant| variant.standing == VariantRole::Baseline);
        let commands = baselines.filter_map(|variant| match &variant.method {
            Method::Command(plan) => Some((&variant.id, plan)),
            Method::Kernel(_) | Method::Function(_) | Method::Captured(_) => None,
        });
        // They are dealt out to GPUs as profiling deals them out.
        for ((variant, plan), gpu) in commands.take(MOST_SESSIONS).zip(gpus.into_iter().cycle()) {
            let started = || -> io::Result<()> {
                let stem = targets::file_name(variant);
                let pipe = RequestPipe::make(&self.folder.join("logs").join(format!("{stem}.waiting.json")))?;
                let mut target = external::command(plan, pipe.path()).ok_or(io::ErrorKind::InvalidInput)?;
                if let Some(name) = gpu.name() {
                    target.env(VISIBLE_GPUS, &name.0);
                }
                let selection = targets::launches_of(plan, &(variant.clone(), shape.clone()));
                let wanted = (&metrics[..], ProfileDetail::Counters, &selection);
                let job = self.job(&stem, wanted, &target, Processes::All);
                self.wait(ncu, gpu, &job, pipe)
            };
            let _ = started();
        }
    }

    /// Whether every GPU may be open in several processes at once: in the compute mode "exclusive process" one that waits keeps out the one
    /// whose turn it is.
    fn is_shared(self) -> bool {
        self.tools.gpus().all(|gpu| gpu.device().compute_mode == ComputeMode::Default)
    }

    fn has_functions(self) -> bool {
        self.plan.variants.iter().any(|variant| matches!(variant.method, Method::Function(_)))
    }

    /// How many processes that wait may have the device open.
    fn most_contexts(self) -> usize {
        usize::try_from(self.tools.device.memory / SHARE / CONTEXT_BYTES).unwrap_or(usize::MAX)
    }

    fn workers(self, preloads: &[Preload; WORKERS]) {
        let worker = &self.tools.worker;
        worker.prestarted.start(|| worker.command(), preloads, &self.folder.join("logs"));
    }

    /// Whether there are kernels, and nothing but kernels, that this program's worker launches.
    fn launches_kernels(self) -> bool {
        let launched = self.plan.variants.iter().any(|variant| matches!(variant.method, Method::Kernel(_)));
        launched && !self.has_functions()
    }

    /// The counters of kernels, and at which shapes: all at those that the phase profiles, what latencies are held against at the others.
    fn counted(self) -> Vec<(Vec<String>, Vec<ShapeName>)> {
        let (counted, witness) = counters(self.metrics, &self.tools.device);
        let shapes = &self.phase.profile.shapes;
        let unseen: Vec<ShapeName> =
            required_metrics::timed_shapes(self.phase).into_iter().filter(|shape| !shapes.contains(shape)).collect();
        let all = [(counted, shapes.clone()), (witness, unseen)];
        all.into_iter().filter(|(_, shapes)| !shapes.is_empty()).collect()
    }

    fn launches(self, shapes: &[ShapeName]) -> usize {
        self.plan.variants.len() * shapes.len()
    }

    /// The groups that counters will be collected in, as far as can be said before anything is counted.
    fn groups(self, ncu: &Ncu, counters: &[String], shapes: &[ShapeName]) -> Vec<Group> {
        let effort = Effort { launches: self.launches(shapes), probes: 0 };
        let mut unasked = |_: &[String]| Err(());
        plan_groups(counters, effort, &mut unasked, &mut book(ncu, &self.tools.device)).unwrap_or_default()
    }

    fn folders(self, gpu: RunGpu<'_>) -> io::Result<ProfilingFolders> {
        Ok(ProfilingFolders {
            reports: self.folder.join("reports"),
            logs: self.folder.join("logs"),
            scratch: scratch_folder(gpu.device().uuid.as_deref())?,
        })
    }

    fn session(
        self,
        ncu: &Ncu,
        gpu: RunGpu<'_>,
        stem: &str,
        wanted: (&[String], ProfileDetail, &LaunchSelection),
        preload: &Preload,
    ) -> io::Result<()> {
        let place = self.folder.join("logs").join(format!("{}{stem}", gpu.prefix()));
        let about = place.with_extension("preload.json");
        std::fs::write(&about, serde_json::to_vec(preload)?)?;
        let pipe = RequestPipe::make(&place.with_extension("json"))?;
        let mut target = gpu.worker().command();
        target.arg("--preload").arg(&about).arg(pipe.path());
        self.wait(ncu, gpu, &self.job(stem, wanted, &target, Processes::Application), pipe)
    }

    fn job<'j>(
        self,
        stem: &'j str,
        (metrics, detail, selection): (&'j [String], ProfileDetail, &'j LaunchSelection),
        target: &'j Command,
        processes: Processes,
    ) -> Job<'j> {
        Job { stem, metrics, detail, target, selection, processes }
    }

    /// Starts ncu for a job whose file will come through the pipe.
    fn wait(self, ncu: &Ncu, gpu: RunGpu<'_>, job: &Job<'_>, pipe: RequestPipe) -> io::Result<()> {
        self.folders(gpu)?.runner(ncu, self.phase, &gpu.prefix()).prestart(&self.tools.prestarted, job, pipe)
    }
}
