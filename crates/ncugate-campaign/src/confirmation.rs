//! Re-times the selected variants and their comparison partners for the gates.
//!
//! The samples that make a variant the fastest of many are biased in its favour. After the selection, the chosen
//! variants are timed again in new processes, and only those samples are judged. Processes differ by more than rounds,
//! so that the rounds of each look are split over several. Judging happens several times: while
//! noise leaves a required gate open, the number of samples doubles ([`ncugate_model::stats::looks`]).

use super::cubins::cubins;
use super::error::CampaignError;
use super::prestart::PrestartedProcesses;
use super::progress::{Progress, begun};
use super::targets::command_folder;
use ncugate_cuda::host::external;
use ncugate_cuda::host::{
    JobPurpose, PrestartedWorker, SharedOutputs, SinkError, WorkerCommand, WorkerEvent, WorkerJob, measure,
};
use ncugate_judge::store::{Run, RunWriter, StoreError};
use ncugate_model::process::{self, LOAD_TIMEOUT};
use ncugate_model::stats::looks;
use ncugate_model::{BuiltKernel, ConfirmationRecord, LatencyOutcome, LatencyRecord, ShapeName, VariantId};
use ncugate_phase::config::Phase;
use ncugate_phase::plan::{CommandPlan, Plan};
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

/// Limit on commands started before their turn: an interpreter with its libraries takes some hundred megabytes.
const MOST_PRESTARTED: usize = 12;

pub type TimedCases = BTreeSet<(VariantId, ShapeName)>;

/// Re-times the selection of a complete run.
pub struct Confirmation<'a> {
    pub phase: &'a Phase,
    pub plan: &'a Plan,
    pub worker: &'a WorkerCommand,
    /// Prestarted Python workers and commands.
    pub early: &'a PrestartedProcesses<'a>,
    /// The reference entry, if it has a separate source.
    pub reference: &'a BTreeMap<VariantId, BuiltKernel>,
    pub writer: &'a mut RunWriter,
    pub progress: &'a (dyn Progress + Sync),
    /// Expected outputs that the processes of all looks share, once a look has kernels.
    pub shared: Option<SharedOutputs>,
}

/// Which cases a pass asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ConfirmationPass {
    /// Cases to re-time, by the samples of the sweep.
    Chosen,
    /// Cases that noise leaves open, by the re-timed samples.
    Open,
}

/// Samples of the re-timed cases so far.
type FreshRecords = BTreeMap<(VariantId, ShapeName), ConfirmationRecord>;

impl Confirmation<'_> {
    /// Times the cases that `cases` returns at the first look, then those still open, until none is open or `[bench]
    /// max_rounds` is reached.
    ///
    /// All cases run their first rounds together, and later looks only drop cases. The first samples of any two cases
    /// therefore come from the same rounds.
    pub fn run<E: From<CampaignError> + From<StoreError>>(
        &mut self,
        mut cases: impl FnMut(&Arc<Run>, ConfirmationPass) -> Result<TimedCases, E>,
    ) -> Result<(), E> {
        let mut run = Arc::new(Run::load(self.writer.folder())?);
        let mut chosen = timed_cases(&run, &cases(&run, ConfirmationPass::Chosen)?);
        let (mut taken, mut have) = (FreshRecords::new(), 0);
        for rounds in looks(self.phase.bench.rounds, self.phase.bench.max_rounds) {
            if chosen.is_empty() {
                break;
            }
            self.look(&run, &chosen, rounds - have, &mut taken)?;
            have = rounds;
            run = Arc::new(Run::load(self.writer.folder())?);
            let open = timed_cases(&run, &cases(&run, ConfirmationPass::Open)?);
            chosen.retain(|case| open.contains(case));
        }
        Ok(())
    }

    /// Times these cases for `rounds` more rounds, and stores all their samples.
    fn look(
        &mut self,
        run: &Run,
        cases: &TimedCases,
        rounds: u32,
        taken: &mut FreshRecords,
    ) -> Result<(), CampaignError> {
        let started = Instant::now();
        let folder = fresh_folder(&self.writer.folder().join("logs"))?;
        let commands: Vec<_> =
            self.plan.commands().filter(|(id, _)| cases.iter().any(|(case, _)| case == *id)).collect();
        let mut new = BTreeMap::new();
        let batches: Vec<(u32, PathBuf)> =
            split(rounds, self.phase.bench.processes).into_iter().zip(process_folders(&folder)).collect();
        self.progress.stage("confirm", cases.len() * batches.len());
        for together in batches.chunks(started_together(commands.len())) {
            for (_, folder) in together {
                std::fs::create_dir_all(folder).map_err(no_folder)?;
                for (variant, command) in &commands {
                    self.early.load_command(command, &command_folder(folder, variant)?);
                }
            }
            self.early.settle();
            let phases: Vec<Phase> = together.iter().map(|(rounds, _)| self.of_rounds(*rounds)).collect();
            let batches = phases.iter().zip(together).map(|(phase, (_, folder))| Batch { phase, run, cases, folder });
            let batches: Vec<Batch<'_>> = batches.collect();
            let turns = self.prepared(&batches)?;
            for (batch, turn) in batches.iter().zip(turns) {
                self.kernels(batch, turn, &mut new)?;
                for command in &commands {
                    self.command(*command, batch, &mut new)?;
                }
            }
        }
        for (case, batches) in new {
            let record = grown(taken.remove(&case), &case, batches);
            self.writer.record(&record)?;
            taken.insert(case, record);
        }
        Ok(self.writer.spent("confirm", started.elapsed().as_secs_f64())?)
    }

    fn of_rounds(&self, rounds: u32) -> Phase {
        let mut phase = self.phase.clone();
        phase.bench.rounds = rounds;
        phase
    }

    /// Jobs for the kernels of processes, and workers that have prepared them, all at once: while one is timed, no other may
    /// use the cores or the GPU.
    fn prepared(&mut self, batches: &[Batch<'_>]) -> Result<Vec<Turn>, CampaignError> {
        let mut turns = Vec::new();
        for batch in batches {
            let job = self.job(batch)?;
            turns.push(Turn { worker: self.early.worker(&job), job });
        }
        // The first one computes the outputs that the others read.
        let alone = usize::from(self.shared.is_some()).min(turns.len());
        let (first, others) = turns.split_at_mut(alone);
        for together in [first, others] {
            for Turn { job, worker } in &mut *together {
                // A worker that is lost is replaced at its turn.
                *worker = worker.take().and_then(|worker| worker.prepare(job).ok());
            }
            let deadline = Instant::now() + LOAD_TIMEOUT;
            together.iter_mut().filter_map(|turn| turn.worker.as_mut()).for_each(|worker| {
                worker.settle(deadline);
            });
        }
        Ok(turns)
    }

    fn job(&mut self, batch: &Batch<'_>) -> Result<WorkerJob, CampaignError> {
        // A reference entry may be in the cubin of a variant that is not timed.
        let mut cubins = cubins(self.plan, &batch.run.builds, |build| build.shares.is_none());
        cubins.extend(self.reference.clone());
        let mut job = WorkerJob::new(batch.phase, self.plan, &cubins, JobPurpose::Time)?;
        for kernel in &mut job.kernels {
            kernel.shapes.retain(|shape| batch.cases.contains(&(kernel.variant.clone(), shape.clone())));
        }
        job.kernels.retain(|kernel| !kernel.shapes.is_empty());
        self.shared = self.shared.take().or_else(|| SharedOutputs::of(&job));
        if let Some(shared) = &self.shared {
            shared.lend(&mut job);
        }
        Ok(job)
    }

    fn kernels(&mut self, batch: &Batch<'_>, turn: Turn, new: &mut Batches) -> Result<(), CampaignError> {
        let (worker, Turn { job, worker: first }) = (self.worker, turn);
        let mut keep = |event| self.keep(batch, event, new);
        CampaignError::unless_complete(measure(job, worker, first, batch.phase.bench.timeout, batch.folder, &mut keep)?)
    }

    /// Runs a command in a separate process, prestarted if available; it checks and times the requested shapes.
    fn command(
        &mut self,
        (variant, command): (&VariantId, &CommandPlan),
        batch: &Batch<'_>,
        new: &mut Batches,
    ) -> Result<(), CampaignError> {
        let cases = batch.cases;
        let mut phase = batch.phase.clone();
        phase.bench.shapes.retain(|shape| cases.contains(&(variant.clone(), shape.clone())));
        phase.workload.shapes.retain(|shape| phase.bench.shapes.contains(&shape.name));
        let folder = command_folder(batch.folder, variant)?;
        let waiting = self.early.command(&folder);
        let mut keep = |event| self.keep(batch, event, new);
        external::measure(&phase, variant, command, &folder, waiting, &mut keep)?;
        Ok(())
    }

    fn keep(&mut self, batch: &Batch<'_>, event: WorkerEvent, new: &mut Batches) -> Result<(), SinkError> {
        if let Some(task) = begun(&event, batch.phase.bench.rounds) {
            self.progress.task(&task);
        }
        match event {
            WorkerEvent::Checked(record) => self.writer.record(&record)?,
            WorkerEvent::Timed(LatencyRecord { variant, shape, outcome }) => {
                let case = (variant, shape);
                if batch.cases.contains(&case) {
                    self.progress.step(&case.0.0);
                    new.entry(case).or_default().push(outcome);
                }
            }
            _ => {}
        }
        Ok(())
    }
}

/// Latencies of each process for a case, at one look.
type Batches = BTreeMap<(VariantId, ShapeName), Vec<LatencyOutcome>>;

/// Cases timed together.
struct Batch<'a> {
    /// The phase with the rounds of this look.
    phase: &'a Phase,
    run: &'a Run,
    cases: &'a TimedCases,
    /// Folder for files of the worker and of commands.
    folder: &'a Path,
}

/// The job of a process, and its worker if it was started before.
struct Turn {
    job: WorkerJob,
    worker: Option<PrestartedWorker>,
}

/// The cases to time for `cases`: a variant that shares its code with another is represented by the one that the
/// sweep has samples of.
fn timed_cases(run: &Run, cases: &TimedCases) -> TimedCases {
    let timed: BTreeSet<(&VariantId, &ShapeName)> = run
        .latencies
        .iter()
        .filter(|record| matches!(record.outcome, LatencyOutcome::Timed { .. }))
        .map(|record| (&record.variant, &record.shape))
        .collect();
    let owner = |(id, shape): &(VariantId, ShapeName)| (run.measured_as(id).clone(), shape.clone());
    cases.iter().map(owner).filter(|(id, shape)| timed.contains(&(id, shape))).collect()
}

/// Rounds of each process.
fn split(rounds: u32, processes: u32) -> Vec<u32> {
    let processes = processes.clamp(1, rounds.max(1));
    (0..processes).map(|at| rounds / processes + u32::from(at < rounds % processes)).collect()
}

/// The samples of a case extended with those of its processes. A case that failed in any process fails: its earlier
/// samples no longer count.
fn grown(
    before: Option<ConfirmationRecord>,
    (variant, shape): &(VariantId, ShapeName),
    batches: Vec<LatencyOutcome>,
) -> ConfirmationRecord {
    let looks = before.as_ref().map_or(1, |record| record.looks + 1);
    let (mut processes, mut whole) = before.map_or((Vec::new(), None), |r| (r.processes, Some(r.timed.outcome)));
    for batch in batches {
        if let LatencyOutcome::Timed { samples, .. } = &batch {
            processes.push(u32::try_from(samples.len()).unwrap_or(u32::MAX));
        }
        whole = Some(match whole {
            Some(whole) => joined(whole, batch),
            None => batch,
        });
    }
    let outcome = whole.unwrap_or_else(|| LatencyOutcome::Failed { reason: "it was not re-timed".to_owned() });
    let timed = LatencyRecord { variant: variant.clone(), shape: shape.clone(), outcome };
    ConfirmationRecord { timed, looks, processes }
}

fn joined(before: LatencyOutcome, after: LatencyOutcome) -> LatencyOutcome {
    match (before, after) {
        (
            LatencyOutcome::Timed { mut samples, launches, audit, gpu },
            LatencyOutcome::Timed { samples: more, launches: least, audit: later, gpu: after, .. },
        ) => {
            samples.extend(more);
            let audit = match (audit, later) {
                (Some(audit), Some(later)) => Some(audit.and(&later)),
                (_, None) | (None, _) => None,
            };
            let gpu = gpu.zip(after).map(|(mut gpu, after)| {
                gpu.extend(&after);
                gpu
            });
            LatencyOutcome::Timed { samples, launches: launches.min(least), audit, gpu }
        }
        (cheats @ LatencyOutcome::Cheats { .. }, _) | (_, cheats @ LatencyOutcome::Cheats { .. }) => cheats,
        (wrong @ LatencyOutcome::Wrong { .. }, _) | (_, wrong @ LatencyOutcome::Wrong { .. }) => wrong,
        (failed @ LatencyOutcome::Failed { .. }, _) | (_, failed @ LatencyOutcome::Failed { .. }) => failed,
    }
}

/// Number of commands to load at once, at least one: loading takes seconds, and each needs a core and memory.
fn started_together(commands: usize) -> usize {
    (MOST_PRESTARTED.min(2 * process::cores()) / commands.max(1)).max(1)
}

fn no_folder(source: io::Error) -> CampaignError {
    CampaignError::Io { what: "create a folder for a confirmation", source }
}

fn process_folders(look: &Path) -> impl Iterator<Item = PathBuf> {
    (1..).map(|number| look.join(format!("process-{number}")))
}

/// A folder for one look that no earlier look has used.
fn fresh_folder(logs: &Path) -> Result<PathBuf, CampaignError> {
    let folder = |number: usize| logs.join(format!("confirmation-{number}"));
    let path = (1..).map(folder).find(|path| !path.exists()).unwrap_or_else(|| folder(0));
    std::fs::create_dir_all(&path).map_err(no_folder)?;
    Ok(path)
}

#[cfg(test)]
mod tests;
