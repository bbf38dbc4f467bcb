//! More rounds of a few variants, where the noise of those there are leaves a required gate open.

use super::{CampaignError, Progress, profile};
use crate::bench::external::{self, Early};
use crate::bench::{Event, Finish, Job, LatencyOutcome, LatencyRecord, Purpose, SinkError, WorkerCommand, measure};
use crate::build::BuildOutcome;
use crate::config::{Phase, ShapeName};
use crate::plan::{Plan, VariantId};
use crate::store::{Run, RunWriter, StoreError};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::Instant;

/// Variants at shapes.
pub type Cases = BTreeSet<(VariantId, ShapeName)>;

/// Measures more rounds of a run that is complete.
pub struct Rounds<'a> {
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

impl Rounds<'_> {
    /// Measures until `open` finds nothing open, or `[bench] max_rounds` is reached. Each time the samples are doubled.
    ///
    /// What was open once stays among what is timed, so that samples of the same index are of the same round.
    pub fn settle<E: From<CampaignError> + From<StoreError>>(
        &mut self,
        mut open: impl FnMut(&Run) -> Result<Cases, E>,
    ) -> Result<(), E> {
        let mut cases = Cases::new();
        loop {
            let run = Run::load(self.writer.folder())?;
            let found = open(&run)?;
            let measured = found.iter().map(|(id, shape)| (run.measured_as(id).clone(), shape.clone()));
            cases.extend(measured);
            let have = cases.iter().filter_map(|case| Some(samples(&run, case)?.len())).max().unwrap_or(0);
            let have = u32::try_from(have).unwrap_or(u32::MAX);
            let more = have.min(self.phase.bench.max_rounds.saturating_sub(have));
            if found.is_empty() || more == 0 {
                return Ok(());
            }
            self.measure(&run, &cases, more)?;
        }
    }

    /// Times these cases for so many rounds, interleaved; their records are those samples after the ones there are.
    pub fn measure(&mut self, run: &Run, cases: &Cases, rounds: u32) -> Result<(), CampaignError> {
        let started = Instant::now();
        let mut phase = self.phase.clone();
        phase.bench.rounds = rounds;
        let folder = self.writer.folder().join("logs").join(format!("rounds-{}", started_at(run, cases)));
        std::fs::create_dir_all(&folder)
            .map_err(|source| CampaignError::Io { what: "make a folder for more rounds", source })?;
        self.progress.stage("more rounds", cases.len());
        self.kernels(&phase, run, cases, &folder)?;
        self.commands(&phase, run, cases, &folder)?;
        Ok(self.writer.spent("bench", started.elapsed().as_secs_f64())?)
    }

    fn kernels(&mut self, phase: &Phase, run: &Run, cases: &Cases, folder: &Path) -> Result<(), CampaignError> {
        let mut job = Job::new(phase, self.plan, &cubins(run, cases), Purpose::Time)?;
        for kernel in &mut job.kernels {
            kernel.shapes.retain(|shape| cases.contains(&(kernel.variant.clone(), shape.clone())));
        }
        let worker = self.worker;
        let mut keep = |event| self.keep(run, cases, event);
        match measure(job, worker, phase.bench.timeout, folder, &mut keep)? {
            Finish::Complete => Ok(()),
            Finish::Interrupted => Err(CampaignError::Interrupted),
        }
    }

    fn commands(&mut self, phase: &Phase, run: &Run, cases: &Cases, folder: &Path) -> Result<(), CampaignError> {
        let plan = self.plan;
        for (variant, command) in plan.commands().filter(|(variant, _)| cases.iter().any(|(id, _)| id == *variant)) {
            let place = folder.join(profile::file_name(variant));
            std::fs::create_dir_all(&place)
                .map_err(|source| CampaignError::Io { what: "make a folder for an external command", source })?;
            let mut keep = |event| self.keep(run, cases, event);
            external::measure(phase, variant, command, &place, &mut Early::default(), &mut keep)?;
        }
        Ok(())
    }

    /// A variant that fails now has failed: its samples of before do not stand for it any more.
    fn keep(&mut self, run: &Run, cases: &Cases, event: Event) -> Result<(), SinkError> {
        match event {
            Event::Checked(record) => self.writer.check(&record)?,
            Event::Timed(record) if cases.contains(&(record.variant.clone(), record.shape.clone())) => {
                self.progress.step(&record.variant.0);
                self.writer.latency(&appended(run, record))?;
            }
            _ => {}
        }
        Ok(())
    }
}

fn appended(run: &Run, mut record: LatencyRecord) -> LatencyRecord {
    let case = (record.variant.clone(), record.shape.clone());
    if let (LatencyOutcome::Timed { samples: new, .. }, Some(before)) = (&mut record.outcome, samples(run, &case)) {
        *new = before.iter().chain(new.iter()).copied().collect();
    }
    record
}

fn samples<'r>(run: &'r Run, (variant, shape): &(VariantId, ShapeName)) -> Option<&'r [f64]> {
    let record = run.latencies.iter().find(|r| &r.variant == variant && &r.shape == shape)?;
    match &record.outcome {
        LatencyOutcome::Timed { samples, .. } => Some(samples),
        LatencyOutcome::Failed { .. } => None,
    }
}

fn started_at(run: &Run, cases: &Cases) -> usize {
    cases.iter().filter_map(|case| Some(samples(run, case)?.len())).max().unwrap_or(0)
}

fn cubins(run: &Run, cases: &Cases) -> BTreeMap<VariantId, PathBuf> {
    let wanted: BTreeSet<&VariantId> = cases.iter().map(|(variant, _)| variant).collect();
    run.builds
        .iter()
        .filter(|build| wanted.contains(&build.variant))
        .filter_map(|build| match &build.outcome {
            BuildOutcome::Built { cubin, .. } => Some((build.variant.clone(), cubin.clone())),
            BuildOutcome::Failed { .. } | BuildOutcome::Refused { .. } | BuildOutcome::NotNeeded => None,
        })
        .collect()
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests;
