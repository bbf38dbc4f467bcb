//! A phase measured on this machine: the campaign, the confirmation of the selected variants, deep profiles. The run
//! is judged as its records arrive; the decoded records are kept for the report.

use super::cubins::cubins;
use super::manifest::{measured_manifest, shard_manifest};
use super::profile;
use super::reference_cubin::reference_cubin;
use super::{
    AblatedVariant, AblationEffort, Campaign, CampaignError, DeepChoice, DeepProfiler, GpuTurn, GpuWait, Progress,
    Tools,
};
use crate::{Confirmation, ConfirmationPass, PrestartedProcesses};
use jiff::Timestamp;
use jiff::civil::Date;
use ncugate_cuda::build::Deduplication;
use ncugate_judge::frame::required_metrics;
use ncugate_judge::reference_runs::{ReferenceRequest, ReferenceRuns};
use ncugate_judge::store::{
    self, Continuation, Manifest, MergeError, ResumedRun, Run, RunState, RunWriter, StoreError, inputs,
};
use ncugate_judge::{Evidence, JudgeError, JudgedRun, TargetGpu, known_failures};
use ncugate_model::{BuildRecord, NullTest, ProfileRecord, ShapeName, VariantId};
use ncugate_phase::config::Phase;
use ncugate_phase::plan::{PhaseSubset, Plan, Shard, reference_plan};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

/// How often a case is profiled again.
const AGAIN: u32 = 2;

/// Why a measurement ended early. Everything measured until then is stored.
#[derive(Debug, thiserror::Error)]
pub enum LiveError {
    #[error(transparent)]
    Campaign(#[from] CampaignError),
    /// The measured results cannot be judged.
    #[error(transparent)]
    Judge(#[from] JudgeError),
    /// A run cannot be read or written.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The shards of several GPUs cannot be merged.
    #[error(transparent)]
    Merge(#[from] MergeError),
    /// The measurement ended early, and its records cannot be judged.
    #[error("{cause}; the records until then cannot be judged: {error}")]
    Unjudged { cause: Box<LiveError>, error: Box<LiveError> },
}

impl LiveError {
    /// The error of the judgement after a measurement: second if the measurement failed too.
    fn after(ended: Result<(), Self>, error: Self) -> Self {
        match ended {
            Ok(()) => error,
            Err(cause) => Self::Unjudged { cause: Box::new(cause), error: Box::new(error) },
        }
    }
}

/// Whether an unfinished run of the same plan is continued.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ResumePolicy {
    Continue,
    Fresh,
}

/// A phase to be measured.
pub struct LiveRun<'a> {
    pub phase: &'a Phase,
    pub plan: &'a Plan,
    pub tools: &'a Tools,
    pub profiles: &'a Path,
    /// The comparison reference of the run.
    pub request: &'a ReferenceRequest,
    /// The date used for judging.
    pub today: Date,
    /// Whether an unfinished run is continued.
    pub start: ResumePolicy,
    /// Whether equal variants are measured once.
    pub sharing: Deduplication,
    /// How long to wait for a GPU on which another run measures.
    pub patience: GpuWait,
    pub progress: &'a (dyn Progress + Sync),
    /// The measured part of the phase, if it is not the whole phase.
    pub narrowed: Option<&'a PhaseSubset>,
    /// The journal of the search that chose the candidates, if any.
    pub searched: Option<&'a Path>,
    /// Variants to deep-profile in addition to the one that the phase selects.
    pub deep: &'a [DeepChoice],
    /// Whether the causes of the selected variant are measured.
    pub ablation: bool,
    /// Result of the tolerance test on wrong answers.
    pub null_test: &'a NullTest,
}

pub struct MeasuredRun<'a> {
    pub session: JudgedRun<'a>,
    pub ended: Result<(), LiveError>,
}

impl<'a> LiveRun<'a> {
    /// Measures from the start, or from where an unfinished run stopped, and judges the records, even if the
    /// measurement ends early.
    ///
    /// # Errors
    /// Nothing was measured, or the results cannot be judged.
    pub fn measure(&self) -> Result<MeasuredRun<'a>, LiveError> {
        self.prove_planned()?;
        let fresh = measured_manifest(self.phase, self.plan, self.tools.fingerprint());
        let fresh = Manifest { narrowed: self.narrowed.cloned(), null_test: self.null_test.clone(), ..fresh };
        let (writer, earlier) = self.writer(fresh)?;
        let folder = writer.folder().to_owned();
        if let Some(journal) = self.searched {
            store::take_search(journal, &folder)?;
        }
        let turn = self.turn();
        let early = self.early(&turn, &folder);
        let (mut writer, ended) = self.campaign(writer, earlier.as_deref(), (&turn, &early));
        let ended = ended.map_err(LiveError::from);
        let mut session = match self.session(&folder) {
            Ok(session) => session,
            Err(error) => return Err(LiveError::after(ended, error)),
        };
        let ended = ended
            .and_then(|()| self.profile_again(&mut writer, &mut session, &early))
            .and_then(|()| self.confirm(&mut writer, &mut session, &early))
            .and_then(|()| self.profile_again(&mut writer, &mut session, &early))
            .and_then(|()| self.deep_profile(&mut writer, &session, &early))
            .and_then(|()| self.ablate(&mut writer, &session))
            .and_then(|()| self.seal(&mut writer));
        drop(early);
        if let Err(why) = &ended {
            // If this fails too, the error itself is sufficient.
            let _ = writer.stopped(&why.to_string());
        }
        let run = Run::load(&folder).map_err(LiveError::from);
        if let Err(error) = run.and_then(|run| Ok(session.update(Arc::new(run))?)) {
            return Err(LiveError::after(ended, error));
        }
        if ended.is_ok() {
            writer.judged(session.run_verdict())?;
        }
        Ok(MeasuredRun { session, ended })
    }

    /// Measures a shard: builds, checks, times and profiles it. Selection, confirmation and judging require all
    /// shards.
    ///
    /// # Errors
    /// The measurement ended early; everything measured until then is stored.
    pub fn measure_shard(&self, shard: Shard) -> Result<PathBuf, LiveError> {
        self.prove_planned()?;
        let plan = self.plan.shard(shard);
        if let (Some(whole), Some(part)) = (reference_plan(self.phase, self.plan), reference_plan(self.phase, &plan))
            && whole != part
        {
            // The reference is built with the first kernel, which differs between shards.
            return Err(CampaignError::Unsharded.into());
        }
        let part = LiveRun { plan: &plan, ..*self };
        let fresh = shard_manifest(self.phase, self.plan, shard, self.tools.fingerprint());
        let (writer, earlier) = part.writer(Manifest { null_test: self.null_test.clone(), ..fresh })?;
        let (turn, folder) = (self.turn(), writer.folder().to_owned());
        let early = part.early(&turn, &folder);
        let (mut writer, ended) = part.campaign(writer, earlier.as_deref(), (&turn, &early));
        drop(early);
        let ended = ended.map_err(LiveError::from).and_then(|()| self.seal(&mut writer));
        if let Err(why) = &ended {
            // If this fails too, the error itself is sufficient.
            let _ = writer.stopped(&why.to_string());
        }
        ended.map(|()| folder)
    }

    /// Refuses launches that were planned before the GPU was known.
    fn prove_planned(&self) -> Result<(), CampaignError> {
        let (planned, sms) = (self.phase.sms, self.tools.device.sms);
        if planned == Some(sms) {
            return Ok(());
        }
        let planned = planned.map_or_else(|| "an unknown number of".to_owned(), |planned| planned.to_string());
        Err(CampaignError::UnlikePlan { planned, sms })
    }

    fn turn(&self) -> GpuTurn<'a> {
        GpuTurn::new(&self.tools.device, self.patience, self.progress)
    }

    fn early<'r>(&'r self, turn: &'r GpuTurn<'r>, folder: &Path) -> PrestartedProcesses<'r> {
        PrestartedProcesses::new((self.phase, self.plan, self.tools), turn, self.progress, folder)
    }

    /// The run to write: an unfinished one, returned with its records, or a new one.
    fn writer(&self, mut fresh: Manifest) -> Result<(RunWriter, Option<Box<Run>>), StoreError> {
        let (phase, plan) = (self.phase, self.plan);
        match self.earlier(&fresh) {
            Some(ResumedRun { run, owned }) => {
                let Manifest { config_sha256, fingerprint, project, null_test, .. } = fresh;
                let manifest = Manifest { config_sha256, fingerprint, project, null_test, ..run.manifest.clone() };
                let writer = RunWriter::continuing(owned, &run.folder, manifest, &phase.text, plan, &phase.workload)?;
                Ok((writer, Some(Box::new(run))))
            }
            None => {
                let folder = store::new_folder(self.profiles, &mut fresh)?;
                Ok((RunWriter::open(&folder, fresh, &phase.text, plan, &phase.workload)?, None))
            }
        }
    }

    /// The unfinished run to continue; reports why one cannot be continued.
    fn earlier(&self, fresh: &Manifest) -> Option<ResumedRun> {
        let found = match self.start {
            ResumePolicy::Continue => store::unfinished(self.profiles, fresh, self.phase, self.plan),
            ResumePolicy::Fresh => Continuation::None,
        };
        match found {
            Continuation::Of(unfinished) => {
                self.progress.say(&format!("continuing the unfinished run in {}", unfinished.run.folder.display()));
                Some(*unfinished)
            }
            Continuation::Refused { folder, reason } => {
                let folder = folder.display();
                self.progress
                    .say(&format!("starting a new run; the unfinished one in {folder} cannot continue: {reason}"));
                None
            }
            Continuation::None => None,
        }
    }

    /// Builds, checks, times and profiles.
    fn campaign(
        &self,
        writer: RunWriter,
        earlier: Option<&Run>,
        (turn, early): (&GpuTurn<'_>, &PrestartedProcesses<'_>),
    ) -> (RunWriter, Result<(), CampaignError>) {
        let Self { phase, plan, tools, sharing, progress, today, .. } = *self;
        let metrics = required_metrics::metrics(phase);
        let whole = writer.manifest().shard.is_none();
        let target = TargetGpu { capability: tools.device.compute_capability, sms: Some(tools.device.sms) };
        let built = |builds: &[BuildRecord]| {
            if whole {
                known_failures(phase, plan, builds, target, today).iter().for_each(|line| progress.say(line));
            }
        };
        let mut campaign =
            Campaign { phase, plan, tools, metrics: &metrics, sharing, writer, progress, turn, early, built: &built };
        let ended = campaign.run(earlier);
        (campaign.writer, ended)
    }

    /// The run after the campaign, decoded and judged.
    fn session(&self, folder: &Path) -> Result<JudgedRun<'a>, LiveError> {
        let run = Arc::new(Run::load(folder)?);
        let mut references = ReferenceRuns::find(self.phase, &run, self.request, self.profiles, self.today)?;
        references.resolve_previous(self.phase, &run, Evidence::Measured, self.profiles, self.today)?;
        Ok(JudgedRun::new(self.phase, self.plan, run, Evidence::Measured, references, self.today)?)
    }

    /// Profiles cases again whose duration under the profiler is another one than alone: ncu measures one launch, and one of some
    /// fifty takes longer than usual. A duration that differs again counts.
    fn profile_again(
        &self,
        writer: &mut RunWriter,
        session: &mut JudgedRun<'_>,
        early: &PrestartedProcesses<'_>,
    ) -> Result<(), LiveError> {
        let (phase, plan, tools, progress) = (self.phase, self.plan, self.tools, self.progress);
        let metrics = required_metrics::metrics(phase);
        for _ in 0..AGAIN {
            let run = session.measurements().run();
            let differing = session.measurements().witness().differing();
            let measured = differing.iter().map(|(variant, shape)| (run.measured_as(variant).clone(), shape.clone()));
            let differing: BTreeSet<(VariantId, ShapeName)> = measured.collect();
            let variants: BTreeSet<VariantId> = differing.iter().map(|(variant, _)| variant.clone()).collect();
            if variants.is_empty() {
                return Ok(());
            }
            let is_kept =
                |record: &&ProfileRecord| !differing.contains(&(record.variant.clone(), record.shape.clone()));
            let run = run.clone();
            let kept: Vec<ProfileRecord> = run.profiles.iter().filter(is_kept).cloned().collect();
            let mut cubins = cubins(plan, &run.builds, |build| build.shares.is_none());
            cubins.extend(reference_cubin(phase, plan, tools)?.cubin);
            progress.stage("profile again", variants.len());
            let started = Instant::now();
            writer.finish(RunState::Running, Timestamp::now())?;
            profile::profile((phase, plan, tools, early), &metrics, writer, progress, &cubins, &variants, &kept)?;
            writer.spent("profile again", started.elapsed().as_secs_f64())?;
            writer.finish(RunState::Complete, Timestamp::now())?;
            session.update(Arc::new(Run::load(&run.folder)?))?;
        }
        Ok(())
    }

    /// Re-times the selected variants until noise leaves no required gate open. A run that ends meanwhile is
    /// incomplete.
    fn confirm(
        &self,
        writer: &mut RunWriter,
        session: &mut JudgedRun<'_>,
        early: &PrestartedProcesses<'_>,
    ) -> Result<(), LiveError> {
        writer.finish(RunState::Running, Timestamp::now())?;
        let (phase, plan, tools, progress) = (self.phase, self.plan, self.tools, self.progress);
        let reference = reference_cubin(phase, plan, tools)?;
        let (worker, reference) = (&tools.worker, &reference.cubin);
        let mut confirmation = Confirmation { phase, plan, worker, early, reference, writer, progress, shared: None };
        let ended = confirmation.run(|run, wanted| {
            session.update(Arc::clone(run))?;
            Ok::<_, LiveError>(match wanted {
                ConfirmationPass::Chosen => session.to_confirm(),
                ConfirmationPass::Open => session.unresolved(),
            })
        });
        let state = match &ended {
            Ok(()) => RunState::Complete,
            Err(LiveError::Campaign(CampaignError::Interrupted)) => RunState::Interrupted,
            Err(_) => RunState::Running,
        };
        let finished = writer.finish(state, Timestamp::now());
        ended?;
        Ok(finished?)
    }

    /// Takes the deep profiles of the selected variant and of other requested ones, after all measurements.
    fn deep_profile(
        &self,
        writer: &mut RunWriter,
        session: &JudgedRun<'_>,
        early: &PrestartedProcesses<'_>,
    ) -> Result<(), LiveError> {
        let Self { phase, plan, tools, progress, .. } = *self;
        let asked = self.deep_variants(session);
        Ok(DeepProfiler { phase, plan, tools, early, writer, progress }.run(session.selected(), &asked)?)
    }

    /// Measures what the costs of the selected variant are worth, unless the user declined. What prevents it is a note, since
    /// nothing is judged by it.
    fn ablate(&self, writer: &mut RunWriter, session: &JudgedRun<'_>) -> Result<(), LiveError> {
        let Some(selected) = session.selected().filter(|_| self.ablation) else { return Ok(()) };
        let run = Run::load(writer.folder())?;
        let seconds = run.manifest.stage_seconds.iter().map(|(_, seconds)| seconds).sum();
        let Some(effort) = AblationEffort::within(seconds) else { return Ok(()) };
        let variant = run.measured_as(selected);
        let (phase, plan, tools) = (self.phase, self.plan, self.tools);
        let shape = &phase.objective.shape;
        let ablated = AblatedVariant { phase, plan, tools, run: &run, variant, shape };
        let started = Instant::now();
        self.progress.stage("measured causes", 1);
        self.progress.step(&variant.0);
        let measured = match ablated.measure(effort) {
            Err(CampaignError::Interrupted) => return Err(CampaignError::Interrupted.into()),
            Err(error) => Err(error.to_string()),
            Ok(Ok(records)) => store::keep_ablations(writer.folder(), &records).map_err(|error| error.to_string()),
            Ok(Err(reason)) => Err(reason),
        };
        if let Err(reason) = measured {
            self.progress.say(&format!("causes of {variant} were not measured: {reason}"));
        }
        Ok(writer.spent("measured causes", started.elapsed().as_secs_f64())?)
    }

    /// Variants requested in addition to the selected one.
    fn deep_variants(&self, session: &JudgedRun<'_>) -> Vec<VariantId> {
        let mut ranked: Vec<_> = session.judgement().variants.iter().filter(|variant| variant.rank.is_some()).collect();
        ranked.sort_by_key(|variant| variant.rank);
        let ranked: Vec<VariantId> = ranked.into_iter().map(|variant| variant.variant.clone()).collect();
        self.deep.iter().flat_map(|choice| choice.variants(self.plan, &ranked)).collect()
    }

    /// Seals a completely measured run if its sources have not changed meanwhile.
    fn seal(&self, writer: &mut RunWriter) -> Result<(), LiveError> {
        let changed = inputs::changed_inputs(&self.phase.root, writer.manifest());
        if changed.is_empty() {
            return Ok(writer.seal()?);
        }
        writer.warn(&format!("input files changed during the run; it began with {}", changed.join(", ")))?;
        Ok(writer.unseal()?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_error_of_a_measurement_comes_before_that_of_its_judgement() {
        let lost = || CampaignError::Unsharded;
        let unread = || LiveError::from(CampaignError::Interrupted);
        let both = LiveError::after(Err(lost().into()), unread()).to_string();
        assert!(both.starts_with(&format!("{}; the records until then cannot be judged: ", lost())), "{both}");
        assert_eq!(LiveError::after(Ok(()), unread()).to_string(), unread().to_string());
    }
}
