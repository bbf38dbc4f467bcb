//! More rounds of a few variants, where the noise of those there are leaves a required gate open.

use super::cubins::cubins;
use super::error::CampaignError;
use super::progress::Progress;
use super::targets;
use crate::config::Phase;
use crate::host::external::{self, PrestartedCommands};
use crate::host::{Finish, JobPurpose, SinkError, WorkerCommand, WorkerEvent, WorkerJob, measure};
use crate::model::ShapeName;
use crate::model::VariantId;
use crate::model::{Audit, LatencyOutcome, LatencyRecord};
use crate::plan::Plan;
use crate::store::{Run, RunWriter, StoreError};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

/// Variants at shapes.
pub type TimedCases = BTreeSet<(VariantId, ShapeName)>;

/// Measures more rounds of a run that is complete.
pub struct MoreRounds<'a> {
    /// The phase.
    pub phase: &'a Phase,
    /// Its variants.
    pub plan: &'a Plan,
    /// What times kernels.
    pub worker: &'a WorkerCommand,
    /// Where records go.
    pub writer: &'a mut RunWriter,
    /// What the user sees meanwhile.
    pub progress: &'a (dyn Progress + Sync),
}

/// How often all open cases are timed anew because more rounds opened another one.
const MAX_RETIMES: usize = 4;

/// How samples of more rounds are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EarlierSamples {
    /// After the ones there are.
    Append,
    /// In place of the ones there are.
    Replace,
}

impl MoreRounds<'_> {
    /// Measures until `open` finds nothing open, or `[bench] max_rounds` is reached. Each time the samples are doubled.
    ///
    /// What was open once stays among what is timed, so that samples of the same index are of the same round. Where more
    /// rounds open another case (the selected variant is another now), all of them are timed anew for as many rounds as
    /// they have had, up to `MAX_RETIMES` times: what is opened late has the budget of what was open first.
    pub fn settle<E: From<CampaignError> + From<StoreError>>(
        &mut self,
        mut open: impl FnMut(&Arc<Run>) -> Result<TimedCases, E>,
    ) -> Result<(), E> {
        let mut cases = TimedCases::new();
        let mut retimes = 0;
        loop {
            let run = Arc::new(Run::load(self.writer.folder())?);
            let found = open(&run)?;
            if found.is_empty() {
                return Ok(());
            }
            let known = cases.len();
            cases.extend(found.iter().map(|(id, shape)| (run.measured_as(id).clone(), shape.clone())));
            let is_new = known > 0 && cases.len() > known;
            let have = cases.iter().filter_map(|case| Some(samples(&run, case)?.len())).max().unwrap_or(0);
            let have = u32::try_from(have).unwrap_or(u32::MAX);
            let more = have.min(self.phase.bench.max_rounds.saturating_sub(have));
            if is_new && retimes < MAX_RETIMES {
                retimes += 1;
                self.measure(&run, &cases, have, EarlierSamples::Replace)?;
            } else if more > 0 {
                self.measure(&run, &cases, more, EarlierSamples::Append)?;
            } else {
                return Ok(());
            }
        }
    }

    /// Times these cases for so many rounds, interleaved.
    pub fn measure(
        &mut self,
        run: &Run,
        cases: &TimedCases,
        rounds: u32,
        keep: EarlierSamples,
    ) -> Result<(), CampaignError> {
        let started = Instant::now();
        let mut phase = self.phase.clone();
        phase.bench.rounds = rounds;
        let folder = fresh_folder(&self.writer.folder().join("logs"))?;
        self.progress.stage("more rounds", cases.len());
        let before = match keep {
            EarlierSamples::Append => Some(run),
            EarlierSamples::Replace => None,
        };
        let batch = Batch { phase: &phase, run, before, cases, folder: &folder };
        self.kernels(&batch)?;
        self.commands(&batch)?;
        Ok(self.writer.spent("bench", started.elapsed().as_secs_f64())?)
    }

    fn kernels(&mut self, batch: &Batch<'_>) -> Result<(), CampaignError> {
        // A reference entry may be in the cubin of a variant that is not timed.
        let cubins = cubins(&batch.run.builds, |build| build.shares.is_none());
        let mut job = WorkerJob::new(batch.phase, self.plan, &cubins, JobPurpose::Time)?;
        for kernel in &mut job.kernels {
            kernel.shapes.retain(|shape| batch.cases.contains(&(kernel.variant.clone(), shape.clone())));
        }
        let worker = self.worker;
        let mut keep = |event| self.keep(batch, event);
        match measure(job, worker, batch.phase.bench.timeout, batch.folder, &mut keep)? {
            Finish::Complete => Ok(()),
            Finish::Interrupted => Err(CampaignError::Interrupted),
        }
    }

    fn commands(&mut self, batch: &Batch<'_>) -> Result<(), CampaignError> {
        let plan = self.plan;
        for (variant, command) in
            plan.commands().filter(|(variant, _)| batch.cases.iter().any(|(id, _)| id == *variant))
        {
            let place = batch.folder.join(targets::file_name(variant));
            std::fs::create_dir_all(&place)
                .map_err(|source| CampaignError::Io { what: "make a folder for an external command", source })?;
            let mut keep = |event| self.keep(batch, event);
            external::measure(batch.phase, variant, command, &place, &mut PrestartedCommands::default(), &mut keep)?;
        }
        Ok(())
    }

    /// A variant that fails now has failed: its samples of before do not stand for it any more.
    fn keep(&mut self, batch: &Batch<'_>, event: WorkerEvent) -> Result<(), SinkError> {
        match event {
            WorkerEvent::Checked(record) => self.writer.check(&record)?,
            WorkerEvent::Timed(record) if batch.cases.contains(&(record.variant.clone(), record.shape.clone())) => {
                self.progress.step(&record.variant.0);
                let record = match batch.before {
                    Some(run) => appended(run, record),
                    None => record,
                };
                self.writer.latency(&record)?;
            }
            _ => {}
        }
        Ok(())
    }
}

/// Cases that are timed together.
struct Batch<'a> {
    /// The phase, with as many rounds as are asked for now.
    phase: &'a Phase,
    /// What was built.
    run: &'a Run,
    /// The run whose samples come before the ones that are taken now.
    before: Option<&'a Run>,
    /// Variants at shapes.
    cases: &'a TimedCases,
    /// For the worker's files.
    folder: &'a Path,
}

/// A folder for one batch of more rounds that no batch before it has used.
fn fresh_folder(logs: &Path) -> Result<PathBuf, CampaignError> {
    let folder = |number: usize| logs.join(format!("rounds-{number}"));
    let path = (1..).map(folder).find(|path| !path.exists()).unwrap_or_else(|| folder(0));
    std::fs::create_dir_all(&path)
        .map_err(|source| CampaignError::Io { what: "make a folder for more rounds", source })?;
    Ok(path)
}

fn appended(run: &Run, mut record: LatencyRecord) -> LatencyRecord {
    let case = (record.variant.clone(), record.shape.clone());
    if let (LatencyOutcome::Timed { samples: new, audit: found, .. }, Some((before, audit))) =
        (&mut record.outcome, timed(run, &case))
    {
        *new = before.iter().chain(new.iter()).copied().collect();
        *found = audit.zip(found.as_ref()).map(|(before, new)| before.clone().and(new));
    }
    record
}

fn samples<'r>(run: &'r Run, case: &(VariantId, ShapeName)) -> Option<&'r [f64]> {
    timed(run, case).map(|(samples, _)| samples)
}

/// The samples of a case, and what was verified of their launches.
fn timed<'r>(run: &'r Run, (variant, shape): &(VariantId, ShapeName)) -> Option<(&'r [f64], Option<&'r Audit>)> {
    let record = run.latencies.iter().find(|r| &r.variant == variant && &r.shape == shape)?;
    match &record.outcome {
        LatencyOutcome::Timed { samples, audit, .. } => Some((samples, audit.as_ref())),
        LatencyOutcome::Cheats { .. } | LatencyOutcome::Failed { .. } => None,
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests;
