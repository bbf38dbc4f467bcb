//! Measures a plan, stage by stage: build, check and time, profile. Every record is kept as it comes, so that a
//! campaign that ends early goes on where it stopped.
//!
//! Judges nothing: what a run holds is read back by [`crate::store`] and judged elsewhere.

mod calibrate;
mod deep_profile;
mod live;
mod profile;
mod progress;
mod rounds;
mod static_check;
mod tools;

pub use calibrate::{CalibrationError, calibrate};
pub use deep_profile::DeepProfiler;
pub use live::{LiveError, LiveRun, MeasuredRun, Start};
pub use progress::{Progress, Silent, Terminal};
pub use rounds::{Cases, Rounds};
pub use static_check::{build_for, target};
pub use tools::{Tools, device, gpu};

use crate::bench::external::{self, Early, ExternalError};
use crate::bench::{Event, Finish, Job, JobError, MeasureError, Purpose, SinkError, measure};
use crate::build::{BuildError, Builder, Cache, Sharing};
use crate::config::Phase;
use crate::model::VariantId;
use crate::model::{BuildOutcome, BuildRecord};
use crate::model::{CheckOutcome, CheckRecord, LatencyOutcome, LatencyRecord};
use crate::ncu::{ProfileError, ToolError};
use crate::plan::Plan;
use crate::process;
use crate::store::{Run, RunState, RunWriter, StoreError};
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::PathBuf;
use std::time::Instant;

/// Why a campaign ended early. What was measured is kept.
#[derive(Debug, thiserror::Error)]
pub enum CampaignError {
    /// No GPU.
    #[error("no GPU to measure on: {reason}; a recorded run can be judged with --source recorded")]
    NoGpu {
        /// What is missing.
        reason: String,
    },
    /// nvcc, its cache, or the architecture.
    #[error(transparent)]
    Build(#[from] BuildError),
    /// ncu is not usable.
    #[error(transparent)]
    Ncu(#[from] ToolError),
    /// The workload cannot be made into a job.
    #[error(transparent)]
    Job(#[from] JobError),
    /// The worker cannot work.
    #[error(transparent)]
    Measure(#[from] MeasureError),
    /// An external command cannot be asked.
    #[error(transparent)]
    External(#[from] ExternalError),
    /// Profiling cannot go on.
    #[error(transparent)]
    Profile(#[from] ProfileError),
    /// A record cannot be kept.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The system refused something.
    #[error("cannot {what}: {source}")]
    Io {
        /// What was being done.
        what: &'static str,
        /// What the system said.
        source: io::Error,
    },
    /// The user asked to stop.
    #[error("interrupted; run again to go on where it stopped")]
    Interrupted,
}

impl CampaignError {
    /// What measuring lacks, in a few words.
    pub fn lacking(&self) -> String {
        match self {
            Self::NoGpu { .. } => "no GPU was found".to_owned(),
            other => other.to_string().lines().next().unwrap_or("nothing can be measured here").to_owned(),
        }
    }
}

/// One execution of a plan.
pub struct Campaign<'a> {
    /// The phase.
    pub phase: &'a Phase,
    /// Its variants.
    pub plan: &'a Plan,
    /// What to measure with.
    pub tools: &'a Tools,
    /// Metrics that judging and reporting need.
    pub metrics: &'a [String],
    /// Whether equal variants are measured once.
    pub sharing: Sharing,
    /// Where records go.
    pub writer: RunWriter,
    /// What the user sees meanwhile.
    pub progress: &'a (dyn Progress + Sync),
    /// Hears what was built, before anything is launched.
    pub built: &'a dyn Fn(&[BuildRecord]),
}

impl Campaign<'_> {
    /// Measures what `earlier`, an unfinished run of the same plan, does not hold.
    pub fn run(&mut self, earlier: Option<&Run>) -> Result<(), CampaignError> {
        let outcome = self.stages(earlier);
        let state = match &outcome {
            Ok(()) => RunState::Complete,
            Err(CampaignError::Interrupted) => RunState::Interrupted,
            Err(_) => RunState::Running,
        };
        self.writer.finish(state)?;
        outcome
    }

    fn stages(&mut self, earlier: Option<&Run>) -> Result<(), CampaignError> {
        let (checks, latencies) = earlier.map_or((&[][..], &[][..]), |run| (&run.checks[..], &run.latencies[..]));
        let known = Known { checks, latencies };
        let mut early = self.start_commands(&known)?;
        let builds = self.timed("build", Self::build)?;
        (self.built)(&builds);
        let cubins = cubins(&builds);
        let sound = self.timed("bench", |campaign| campaign.bench(&builds, &cubins, &known, &mut early))?;
        self.keep_unprofiled(&builds, &sound)?;
        let profiles = earlier.map_or(&[][..], |run| &run.profiles[..]);
        self.timed("profile", |campaign| {
            campaign.progress.stage("profile", sound.len());
            campaign.profile(&cubins, &sound, profiles)
        })
    }

    fn timed<T>(
        &mut self,
        stage: &'static str,
        work: impl FnOnce(&mut Self) -> Result<T, CampaignError>,
    ) -> Result<T, CampaignError> {
        let started = Instant::now();
        let outcome = work(self);
        self.writer.spent(stage, started.elapsed().as_secs_f64())?;
        if process::interrupted() {
            return Err(CampaignError::Interrupted);
        }
        outcome
    }

    fn build(&mut self) -> Result<Vec<BuildRecord>, CampaignError> {
        self.progress.stage("build", self.plan.variants.len());
        let arch = self.tools.arch(self.phase)?;
        let cache = Cache::of_user()?;
        let builder = Builder::new(&self.tools.nvcc, &arch, &cache, self.sharing);
        let (writer, progress) = (&mut self.writer, self.progress);
        let mut sink = |record: &BuildRecord| {
            progress.step(&record.variant.0);
            writer.build(record).map_err(io::Error::other)
        };
        Ok(builder.build(self.plan, &|_| {}, &mut sink)?)
    }

    /// Checks and times; gives the variants whose every case is correct.
    fn bench(
        &mut self,
        builds: &[BuildRecord],
        cubins: &BTreeMap<VariantId, PathBuf>,
        known: &Known<'_>,
        early: &mut Early,
    ) -> Result<BTreeSet<VariantId>, CampaignError> {
        let mut heard = Heard::default();
        let mut job = Job::new(self.phase, self.plan, cubins, Purpose::Bench)?;
        known.checks.iter().for_each(|record| job.settle_check(record));
        known.latencies.iter().for_each(|record| job.settle_latency(record));
        heard.wrong.extend(known.checks.iter().filter(|r| !is_correct(r)).map(|r| r.variant.clone()));
        self.progress
            .stage("check and time", job.kernels.len() * (job.kernels.first().map_or(0, |k| k.cases.len()) + 1));
        self.timed("bench: kernels", |campaign| campaign.kernels(job, early, &mut heard))?;
        self.timed("bench: external commands", |campaign| campaign.commands(known, early, &mut heard))?;
        self.writer.spent("bench: samples on the GPU", heard.sampled_us * 1e-6)?;
        let unbuilt = self.keep_unbuilt(builds)?;
        let shared: BTreeSet<&VariantId> = builds.iter().filter(|b| b.shares.is_some()).map(|b| &b.variant).collect();
        let ids = self.plan.variants.iter().map(|v| &v.id);
        Ok(ids
            .filter(|id| !heard.wrong.contains(id) && !unbuilt.contains(id) && !shared.contains(id))
            .cloned()
            .collect())
    }

    /// Checks kernels while external commands may still load, and times them once those are idle.
    fn kernels(&mut self, job: Job, early: &mut Early, heard: &mut Heard) -> Result<(), CampaignError> {
        let (logs, timeout) = (self.writer.folder().join("logs"), self.phase.bench.timeout);
        let finish = measure(job, &self.tools.worker, timeout, &logs, &mut |event| {
            if event == Event::Proven && !early.is_empty() {
                self.progress.note("external commands load");
                early.settle();
            }
            self.keep(event, heard)
        })?;
        match finish {
            Finish::Complete => Ok(()),
            Finish::Interrupted => Err(CampaignError::Interrupted),
        }
    }

    fn keep(&mut self, event: Event, heard: &mut Heard) -> Result<(), SinkError> {
        match event {
            Event::Checked(record) => {
                if !is_correct(&record) {
                    heard.wrong.insert(record.variant.clone());
                }
                self.progress.step(&record.variant.0);
                self.writer.check(&record)?;
            }
            Event::Timed(record) => {
                if let LatencyOutcome::Timed { samples, launches } = &record.outcome {
                    heard.sampled_us += samples.iter().sum::<f64>() * f64::from(*launches);
                }
                self.progress.step(&record.variant.0);
                self.writer.latency(&record)?;
            }
            Event::Device(_)
            | Event::DeviceLost { .. }
            | Event::NoDevice { .. }
            | Event::Preparing { .. }
            | Event::Proven
            | Event::Started { .. }
            | Event::Launched { .. }
            | Event::LaunchFailed { .. }
            | Event::Failed { .. }
            | Event::Done => {}
        }
        Ok(())
    }

    /// Starts every external command that has something to measure, to load while variants are built.
    fn start_commands(&self, known: &Known<'_>) -> Result<Early, CampaignError> {
        let mut early = Early::default();
        for (variant, command) in self.plan.commands().filter(|(variant, _)| !known.of(variant)) {
            early.start(variant, command, &self.place(variant)?);
        }
        Ok(early)
    }

    /// External commands, one after the other and never beside anything that is timed.
    fn commands(&mut self, known: &Known<'_>, early: &mut Early, heard: &mut Heard) -> Result<(), CampaignError> {
        early.settle();
        let (phase, plan) = (self.phase, self.plan);
        for (variant, command) in plan.commands().filter(|(variant, _)| !known.of(variant)) {
            self.progress.note(&variant.0);
            let place = self.place(variant)?;
            let mut keep = |event| self.keep(event, heard);
            let measured = external::measure(phase, variant, command, &place, early, &mut keep)?;
            self.writer.used(variant, measured.software)?;
        }
        Ok(())
    }

    /// The folder of an external command's request and result.
    fn place(&self, variant: &VariantId) -> Result<PathBuf, CampaignError> {
        let place = self.writer.folder().join("logs").join(profile::file_name(variant));
        std::fs::create_dir_all(&place)
            .map_err(|source| CampaignError::Io { what: "make a folder for an external command", source })?;
        Ok(place)
    }

    /// Records that variants without a cubin were not measured; gives those variants.
    fn keep_unbuilt(&mut self, builds: &[BuildRecord]) -> Result<BTreeSet<VariantId>, CampaignError> {
        let mut unbuilt = BTreeSet::new();
        for build in builds {
            let reason = match &build.outcome {
                BuildOutcome::Built { .. } | BuildOutcome::NotNeeded => continue,
                BuildOutcome::Failed { .. } => "did not build",
                BuildOutcome::Refused { .. } => "cannot be launched on this chip",
            };
            unbuilt.insert(build.variant.clone());
            let measured = external::unmeasured(self.phase, &build.variant, reason);
            measured.checks.iter().try_for_each(|record| self.writer.check(record))?;
            measured.latencies.iter().try_for_each(|record| self.writer.latency(record))?;
        }
        Ok(unbuilt)
    }

    fn keep_unprofiled(&mut self, builds: &[BuildRecord], sound: &BTreeSet<VariantId>) -> Result<(), CampaignError> {
        for build in builds.iter().filter(|b| b.shares.is_none() && !sound.contains(&b.variant)) {
            let reason = match &build.outcome {
                BuildOutcome::Failed { .. } => "did not build",
                BuildOutcome::Refused { .. } => "cannot be launched on this chip",
                BuildOutcome::Built { .. } | BuildOutcome::NotNeeded => "was not profiled: it is not proven correct",
            };
            for record in profile::unprofiled(&build.variant, &self.phase.profile.shapes, reason) {
                self.writer.profile(&record)?;
            }
        }
        Ok(())
    }
}

/// What measuring has come to.
#[derive(Default)]
struct Heard {
    /// Variants with a case that is not correct.
    wrong: BTreeSet<VariantId>,
    /// How long the GPU worked on samples of latency, in microseconds.
    sampled_us: f64,
}

/// What an unfinished run measured already.
struct Known<'a> {
    checks: &'a [CheckRecord],
    latencies: &'a [LatencyRecord],
}

impl Known<'_> {
    /// Whether an external command was measured: it gives all its records at once.
    fn of(&self, variant: &VariantId) -> bool {
        self.checks.iter().any(|r| &r.variant == variant) && self.latencies.iter().any(|r| &r.variant == variant)
    }
}

fn is_correct(record: &CheckRecord) -> bool {
    match record.outcome {
        CheckOutcome::Correct { .. } => true,
        CheckOutcome::Wrong { .. } | CheckOutcome::Crashed { .. } | CheckOutcome::Skipped { .. } => false,
    }
}

/// Cubins to measure: of variants that were built and share nobody else's results.
fn cubins(builds: &[BuildRecord]) -> BTreeMap<VariantId, PathBuf> {
    builds
        .iter()
        .filter(|build| build.shares.is_none())
        .filter_map(|build| match &build.outcome {
            BuildOutcome::Built { cubin, .. } => Some((build.variant.clone(), cubin.clone())),
            BuildOutcome::Failed { .. } | BuildOutcome::Refused { .. } | BuildOutcome::NotNeeded => None,
        })
        .collect()
}
