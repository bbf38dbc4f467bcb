//! ncu started before its turn, over a program that waits for its job.

use super::PrestartedProcesses;
use super::passes;
use crate::counter_collection::book;
use crate::profile::{cases, counters};
use crate::targets::{self, ProfilingFolders, launches_of_kernels};
use crate::tools::RunGpu;
use ncugate_cuda::host::Preload;
use ncugate_cuda::host::external;
use ncugate_judge::frame::required_metrics;
use ncugate_model::disk::scratch_folder;
use ncugate_model::process::{RequestPipe, VISIBLE_GPUS};
use ncugate_model::{ShapeName, VariantId};
use ncugate_ncu::{Effort, Group, Job, LaunchSelection, Ncu, Processes, ProfileDetail, plan_groups};
use ncugate_phase::plan::{CommandPlan, Method};
use std::io;
use std::process::Command;

/// Limit on sessions over kernels on a GPU: a phase has one to three groups of counters, and a fourth for shapes that
/// are only timed.
const MOST_SESSIONS: usize = 4;
/// Approximate device memory of a waiting process, in bytes.
const CONTEXT_BYTES: u64 = 1 << 29;
/// Waiting processes may take one part in this many of a GPU's memory.
const SHARE: u64 = 16;

impl PrestartedProcesses<'_> {
    /// Measures the replay passes for the counters of kernels, if they are not known for this chip. The GPU is held
    /// meanwhile; if another run measures on it, profiling measures the passes later.
    pub(super) fn find_passes(&self) {
        let Ok(ncu) = &self.tools.ncu else { return };
        let gpu = self.tools.timing_gpu();
        let unknown: Vec<_> = (self.counted().into_iter())
            .filter(|(counters, shapes)| passes::are_unknown(ncu, gpu, counters, self.launches(shapes)))
            .collect();
        if unknown.is_empty() {
            return;
        }
        let (Some(_hold), Ok(folders)) = (self.turn.hold(), self.folders(gpu)) else { return };
        for (counters, shapes) in &unknown {
            let runner = folders.runner(ncu, self.phase, "early-");
            passes::find(runner, gpu, counters, self.launches(shapes));
        }
    }

    /// Starts ncu over a worker with an open device, for each group of counters on each GPU; fewer on GPUs with
    /// little memory. Nothing is started if another run measures on a GPU. The GPUs are held until everything has
    /// loaded.
    pub(super) fn start_over_kernels(&self) {
        let Ok(ncu) = &self.tools.ncu else { return };
        let most = usize::try_from(self.tools.device.memory / SHARE / CONTEXT_BYTES).unwrap_or(usize::MAX);
        let (Some(hold), true) = (self.turn.hold(), most > 0) else { return };
        let kernels = self.plan.variants.iter().filter(|variant| matches!(variant.method, Method::Kernel(_)));
        let kernels: Vec<_> = kernels.map(|variant| &variant.id).collect();
        let mut groups: Vec<(Group, LaunchSelection)> = Vec::new();
        for (counters, shapes) in self.counted() {
            let selection = launches_of_kernels(self.phase, &cases(kernels.iter().copied(), &shapes));
            groups.extend(
                self.groups(ncu, &counters, self.launches(&shapes)).into_iter().map(|group| (group, selection.clone())),
            );
        }
        for gpu in self.tools.gpus() {
            for (number, (group, selection)) in groups.iter().take(MOST_SESSIONS.min(most)).enumerate() {
                // Groups of different shapes share a name, and each session waits on a separate pipe.
                let stem = format!("launched-{number}-{}", group.name);
                let _ = self.start_over_worker(ncu, gpu, &stem, (&group.metrics, selection), &Preload::Device);
            }
        }
        // A loaded process disturbs nobody: other runs may measure until the builds have ended.
        let sessions = self.sessions.clone();
        std::thread::spawn(move || {
            sessions.settle();
            drop(hold);
        });
    }

    /// Starts ncu over Python functions, if one session collects all of their counters.
    pub(super) fn start_over_functions(&self, preload: &Preload) {
        let Ok(ncu) = &self.tools.ncu else { return };
        let (counted, _) = counters(&self.metrics, &self.tools.device);
        let launches = self.launches(&self.phase.profile.shapes);
        let [group] = &self.groups(ncu, &counted, launches)[..] else { return };
        let functions = self.plan.variants.iter().filter(|variant| matches!(variant.method, Method::Function(_)));
        let selection = targets::in_ranges(&cases(functions.map(|variant| &variant.id), &self.phase.profile.shapes));
        let _ = self.start_over_worker(ncu, self.tools.timing_gpu(), "called", (&group.metrics, &selection), preload);
    }

    /// Starts ncu over external baselines, if one session collects all counters of one. The turn is already taken.
    pub(super) fn start_over_baselines(&self) {
        let Ok(ncu) = &self.tools.ncu else { return };
        let (counted, _) = counters(&self.metrics, &self.tools.device);
        let [group] = &self.groups(ncu, &counted, self.phase.profile.shapes.len())[..] else { return };
        let is_baseline = |id: &VariantId| self.plan.baselines().any(|baseline| &baseline.id == id);
        let commands = self.plan.commands().filter(|(id, _)| is_baseline(id)).take(MOST_SESSIONS);
        // Same distribution over GPUs as in profiling.
        let gpus: Vec<RunGpu<'_>> = self.tools.gpus().collect();
        for ((variant, plan), gpu) in commands.zip(gpus.into_iter().cycle()) {
            let _ = self.start_over_command(ncu, gpu, (variant, plan), &group.metrics);
        }
    }

    fn start_over_command(
        &self,
        ncu: &Ncu,
        gpu: RunGpu<'_>,
        (variant, plan): (&VariantId, &CommandPlan),
        metrics: &[String],
    ) -> io::Result<()> {
        let stem = targets::file_name(variant);
        let pipe = RequestPipe::make(&self.folder.join("logs").join(format!("{stem}.waiting.json")))?;
        let mut target = external::command(plan, pipe.path()).ok_or(io::ErrorKind::InvalidInput)?;
        if let Some(name) = gpu.name() {
            target.env(VISIBLE_GPUS, &name.0);
        }
        let selection = targets::launches_of(plan, &cases(std::iter::once(variant), &self.phase.profile.shapes));
        self.start(ncu, gpu, (&stem, metrics, &selection), (&target, Processes::All), pipe)
    }

    fn start_over_worker(
        &self,
        ncu: &Ncu,
        gpu: RunGpu<'_>,
        stem: &str,
        (metrics, selection): (&[String], &LaunchSelection),
        preload: &Preload,
    ) -> io::Result<()> {
        let place = self.folder.join("logs").join(format!("{}{stem}", gpu.prefix()));
        let about = place.with_extension("preload.json");
        std::fs::write(&about, serde_json::to_vec(preload)?)?;
        let pipe = RequestPipe::make(&place.with_extension("json"))?;
        let mut target = gpu.worker().command();
        target.arg("--preload").arg(&about).arg(pipe.path());
        self.start(ncu, gpu, (stem, metrics, selection), (&target, Processes::Application), pipe)
    }

    /// Starts ncu over a program that receives its job through the pipe.
    fn start(
        &self,
        ncu: &Ncu,
        gpu: RunGpu<'_>,
        (stem, metrics, selection): (&str, &[String], &LaunchSelection),
        (target, processes): (&Command, Processes),
        pipe: RequestPipe,
    ) -> io::Result<()> {
        let job = Job { stem, metrics, detail: ProfileDetail::Counters, target, selection, processes };
        self.folders(gpu)?.runner(ncu, self.phase, &gpu.prefix()).prestart(&self.sessions, &job, pipe)
    }

    /// The counters of kernels and their shapes: all counters at the profiled shapes, the witness of latencies at the
    /// others.
    fn counted(&self) -> Vec<(Vec<String>, Vec<ShapeName>)> {
        let (counted, witness) = counters(&self.metrics, &self.tools.device);
        let shapes = &self.phase.profile.shapes;
        let unseen: Vec<ShapeName> =
            required_metrics::timed_shapes(self.phase).into_iter().filter(|shape| !shapes.contains(shape)).collect();
        let all = [(counted, shapes.clone()), (witness, unseen)];
        all.into_iter().filter(|(_, shapes)| !shapes.is_empty()).collect()
    }

    fn launches(&self, shapes: &[ShapeName]) -> usize {
        self.plan.variants.len() * shapes.len()
    }

    /// The groups of counters to collect, as far as they are known before the first session.
    fn groups(&self, ncu: &Ncu, counters: &[String], launches: usize) -> Vec<Group> {
        let effort = Effort { launches, probes: 0 };
        let mut unasked = |_: &[String]| Err(());
        plan_groups(counters, effort, &mut unasked, &mut book(ncu, &self.tools.device)).unwrap_or_default()
    }

    fn folders(&self, gpu: RunGpu<'_>) -> io::Result<ProfilingFolders> {
        Ok(ProfilingFolders {
            reports: self.folder.join("reports"),
            logs: self.folder.join("logs"),
            scratch: scratch_folder(gpu.device().uuid.as_deref())?,
        })
    }
}
