//! Processes started before their turn: they load while variants build, and wait for their job on a pipe.
//!
//! `docs/internals.md` has the times that they save.

mod passes;
mod sessions;

use super::error::CampaignError;
use super::gpu_turn::GpuTurn;
use super::progress::Progress;
use super::targets::command_folder;
use super::tools::Tools;
use ncugate_cuda::PythonEnvironment;
use ncugate_cuda::host::external::PrestartedCommand;
use ncugate_cuda::host::{ImportTime, Preload, PrestartedWorker, WorkerJob, reference_servers};
use ncugate_judge::frame::required_metrics;
use ncugate_model::process::{self, LOAD_TIMEOUT};
use ncugate_model::{ComputeMode, VariantId};
use ncugate_ncu::PrestartedSessions;
use ncugate_phase::config::Phase;
use ncugate_phase::plan::{CommandPlan, Method, Plan};
use std::path::{Path, PathBuf};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

/// Workers without ncu, and when they import Python functions: the first checks and times, and the second, idle by then,
/// confirms.
const WORKERS: [ImportTime; 2] = [ImportTime::DuringJob, ImportTime::BeforeJob];

/// Processor cores for each interpreter that imports while variants build.
const IMPORT_CORES: usize = 3;

/// Processes of a run that were started before their turn. A process that cannot be started now reports why at its
/// turn. Drop terminates the unused ones.
pub struct PrestartedProcesses<'a> {
    phase: &'a Phase,
    plan: &'a Plan,
    tools: &'a Tools,
    turn: &'a GpuTurn<'a>,
    progress: &'a (dyn Progress + Sync),
    /// The run's folder.
    folder: PathBuf,
    /// Metrics required for judging and reports.
    metrics: Vec<String>,
    commands: Mutex<Vec<PrestartedCommand>>,
    workers: Arc<Mutex<Vec<PrestartedWorker>>>,
    sessions: PrestartedSessions,
}

impl<'a> PrestartedProcesses<'a> {
    /// For a run in `folder`. Nothing is started yet.
    pub fn new(
        (phase, plan, tools): (&'a Phase, &'a Plan, &'a Tools),
        turn: &'a GpuTurn<'a>,
        progress: &'a (dyn Progress + Sync),
        folder: &Path,
    ) -> Self {
        Self {
            phase,
            plan,
            tools,
            turn,
            progress,
            folder: folder.to_owned(),
            metrics: required_metrics::metrics(phase),
            commands: Mutex::default(),
            workers: Arc::default(),
            sessions: PrestartedSessions::default(),
        }
    }

    /// Starts programs that import libraries: Python workers, external commands for which `is_open` returns true, and
    /// ncu over baselines of the latter. Takes the GPU for commands, which may load on it.
    ///
    /// # Errors
    /// Those of [`GpuTurn::take`].
    pub fn load_programs(&self, is_open: impl Fn(&VariantId) -> bool) -> Result<(), CampaignError> {
        if !self.is_allowed() {
            return Ok(());
        }
        if self.plan.commands().next().is_some() {
            self.turn.take()?;
            self.start_over_baselines();
        }
        // The jobs of workers name them, and a run has at least one such job.
        let _ = reference_servers(self.phase);
        self.load_functions();
        for (variant, command) in self.plan.commands().filter(|(variant, _)| is_open(variant)) {
            if let Ok(folder) = command_folder(&self.folder.join("logs"), variant) {
                self.load_command(command, &folder);
            }
        }
        Ok(())
    }

    /// Starts a command whose request will be in `folder`.
    pub fn load_command(&self, command: &CommandPlan, folder: &Path) {
        if self.is_allowed() {
            locked(&self.commands).extend(PrestartedCommand::start(command, folder));
        }
    }

    /// Runs `build`, which calls its argument for every built variant. Meanwhile measures replay passes, starts ncu over
    /// functions, and during the last builds ncu over kernels: until then other runs may measure on the GPU.
    pub fn beside_builds<T>(&self, build: impl FnOnce(&mut (dyn FnMut() + Send)) -> T) -> T {
        let last = self.plan.variants.len().saturating_sub(process::cores());
        std::thread::scope(|scope| {
            let (last_began, await_last) = channel();
            if self.is_allowed() {
                scope.spawn(move || {
                    self.find_passes();
                    self.start_over_functions();
                    if await_last.recv().is_ok() {
                        self.start_over_kernels();
                    }
                });
            }
            let mut built = 0;
            let mut count = || {
                if built == last {
                    // The receiver is gone if nothing is started.
                    let _ = last_began.send(());
                }
                built += 1;
            };
            count();
            build(&mut count)
        })
    }

    /// Waits until all processes are idle, and terminates those that are still loading after two minutes: nothing is
    /// timed while a program loads.
    pub fn settle(&self) {
        let deadline = Instant::now() + LOAD_TIMEOUT;
        let mut commands = locked(&self.commands);
        if !commands.is_empty() {
            self.progress.note("external commands load");
        }
        commands.retain_mut(|command| command.settle(deadline));
        settle_workers(&self.workers);
        self.sessions.settle();
    }

    /// The command whose request will be in `folder`.
    pub fn command(&self, folder: &Path) -> Option<PrestartedCommand> {
        let mut all = locked(&self.commands);
        let at = all.iter().position(|command| command.is_of(folder))?;
        Some(all.swap_remove(at))
    }

    /// An idle worker that has loaded the modules of a job.
    pub fn worker(&self, job: &WorkerJob) -> Option<PrestartedWorker> {
        let (mut all, deadline) = (locked(&self.workers), Instant::now() + LOAD_TIMEOUT);
        loop {
            let at = all.iter().position(|worker| worker.serves(job))?;
            let mut worker = all.remove(at);
            if worker.settle(deadline) {
                return Some(worker);
            }
        }
    }

    /// All ncu sessions; each takes only the job that it was started for.
    pub(super) const fn sessions(&self) -> &PrestartedSessions {
        &self.sessions
    }

    /// Whether processes may be started early. In the compute mode "exclusive process", a waiting process would block
    /// the one whose turn it is.
    fn is_allowed(&self) -> bool {
        self.tools.device.compute_mode == ComputeMode::Default
    }

    /// Starts workers that import the modules of Python functions: the one that checks and times, and one for each process
    /// of a confirmation's first look; fewer if cores are few.
    fn load_functions(&self) {
        let logs = self.folder.join("logs");
        let confirming = (process::cores() / IMPORT_CORES).clamp(1, self.phase.bench.processes as usize);
        let [first, later] = WORKERS;
        let imports = std::iter::once(first).chain(std::iter::repeat_n(later, confirming));
        let start = |(number, imports)| {
            PrestartedWorker::start(&self.tools.worker, &self.functions(imports)?, &logs, number).ok()
        };
        locked(&self.workers).extend(imports.enumerate().filter_map(start));
    }

    /// Starts worker number `number`, which opens the device.
    fn open_device(&self, number: usize) {
        let opened = PrestartedWorker::start(&self.tools.worker, &Preload::Device, &self.folder.join("logs"), number);
        locked(&self.workers).extend(opened);
    }

    /// The Python functions of the plan; `None` if it has none.
    fn functions(&self, imports: ImportTime) -> Option<Preload> {
        let functions = self.plan.variants.iter().filter_map(|variant| match &variant.method {
            Method::Function(function) if function.host.is_none() => {
                Some((function.file.clone(), function.function.clone()))
            }
            Method::Function(_) | Method::Kernel(_) | Method::Command(_) | Method::Captured(_) => None,
        });
        let functions: Vec<_> = functions.collect();
        let python = PythonEnvironment::of(&self.phase.build);
        (!functions.is_empty()).then_some(Preload::Functions { python, functions, imports })
    }
}

impl Drop for PrestartedProcesses<'_> {
    fn drop(&mut self) {
        // A thread that waits for sessions and workers holds a reference to them.
        self.sessions.dismiss();
        locked(&self.workers).clear();
    }
}

/// Waits until all workers are idle; terminates those that are still loading after two minutes.
fn settle_workers(workers: &Mutex<Vec<PrestartedWorker>>) {
    let deadline = Instant::now() + LOAD_TIMEOUT;
    locked(workers).retain_mut(|worker| worker.settle(deadline));
}

fn locked<T>(all: &Mutex<Vec<T>>) -> MutexGuard<'_, Vec<T>> {
    all.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests;
