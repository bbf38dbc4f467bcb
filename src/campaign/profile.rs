//! Profiling as a stage of a campaign.

use super::error::CampaignError;
use super::progress::Progress;
use super::targets::{ByRange, CommandTarget, Folders, WorkerTarget};
use super::tools::Tools;
use crate::config::Phase;
use crate::frame::wanted;
use crate::host::{JobPurpose, WorkerJob};
use crate::model::ProfileRecord;
use crate::model::ShapeName;
use crate::model::VariantId;
use crate::ncu::{
    Collected, Counters, Covered, Expect, LaunchSelection, PassBook, Processes, ProfiledCase, Profiler, Subject,
    cache_folder, scratch_folder,
};
use crate::plan::{Plan, Standing, Variant};
use crate::store::RunWriter;
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};

/// Profiling of the variants of a campaign.
pub(super) struct Profiling<'a> {
    /// The phase.
    pub phase: &'a Phase,
    /// Its variants.
    pub plan: &'a Plan,
    /// What to profile with.
    pub tools: &'a Tools,
    /// Metrics that judging and reporting need.
    pub metrics: &'a [String],
    /// Where records go.
    pub writer: &'a mut RunWriter,
    /// What the user sees meanwhile.
    pub progress: &'a (dyn Progress + Sync),
}

impl Profiling<'_> {
    /// Profiles every correct variant at the phase's profiled shapes; the others get a record that says why not.
    pub(super) fn run(
        &mut self,
        cubins: &BTreeMap<VariantId, PathBuf>,
        verified: &BTreeSet<VariantId>,
        earlier: &[ProfileRecord],
    ) -> Result<(), CampaignError> {
        let counters = wanted::counters(self.metrics, Some(self.tools.device.compute_capability));
        let folder = self.writer.folder().to_owned();
        let covered = Covered::by(earlier);
        let cubins: BTreeMap<_, _> = cubins.iter().filter(|(id, _)| verified.contains(id)).map(clone_pair).collect();
        let job = WorkerJob::new(self.phase, self.plan, &cubins, JobPurpose::Profile)?;
        let worker = WorkerTarget::new(job, folder.join("logs"), self.tools);
        let commands = self.command_targets(verified, &folder.join("logs"));
        let mut subjects = vec![Subject {
            cases: self.cases(cubins.keys()),
            target: &worker,
            selection: LaunchSelection::Everything,
            processes: Processes::Application,
            expect: Expect::Exactly(self.phase.profile.repeat),
        }];
        for target in &commands {
            subjects.extend(self.cases(std::iter::once(&target.variant)).into_iter().map(|case| target.subject(case)));
        }
        subjects.retain(|subject| !subject.cases.is_empty());
        let collected = self.collect(&subjects, &counters, &covered, &folder)?;
        for warning in collected.warnings.iter().cloned().chain(unknown(&collected)) {
            self.writer.warn(&warning)?;
        }
        Ok(())
    }

    fn collect(
        &mut self,
        subjects: &[Subject<'_>],
        counters: &[String],
        covered: &Covered,
        folder: &Path,
    ) -> Result<Collected, CampaignError> {
        let io = |what| move |source| CampaignError::Io { what, source };
        let scratch = scratch_folder().map_err(io("make a folder for ncu's locks"))?;
        let folders = Folders { reports: folder.join("reports"), logs: folder.join("logs"), scratch };
        let runner = folders.runner(self.tools, self.phase);
        let device = &self.tools.device;
        let chip = Counters {
            gpu: device.name.clone(),
            compute_capability: device.compute_capability,
            ncu: self.tools.ncu.version.to_string(),
            driver: device.driver.clone().unwrap_or_default(),
        };
        let mut book = match cache_folder(|name| std::env::var_os(name)) {
            Some(folder) => PassBook::open(&folder, chip),
            None => PassBook::unkept(chip),
        };
        let verify = ByRange;
        let profiler = Profiler::new(runner, &verify, covered);
        let (writer, progress) = (&mut self.writer, self.progress);
        let mut sink = |record: ProfileRecord| {
            progress.step(&record.variant.0);
            writer.profile(&record).map_err(io::Error::other)
        };
        Ok(profiler.profile(subjects, counters, &mut book, &mut sink)?)
    }

    fn cases<'b>(&self, variants: impl Iterator<Item = &'b VariantId>) -> Vec<ProfiledCase> {
        let shapes: &[ShapeName] = &self.phase.profile.shapes;
        variants.flat_map(|id| shapes.iter().map(move |shape| (id.clone(), shape.clone()))).collect()
    }

    /// External commands that can be profiled; baselines only where a requirement reads their counters.
    fn command_targets(&self, verified: &BTreeSet<VariantId>, folder: &Path) -> Vec<CommandTarget> {
        let baselines = wanted::profiles_baselines(self.phase);
        let wanted = |variant: &&Variant| {
            verified.contains(&variant.id) && (baselines || variant.standing == Standing::Candidate)
        };
        self.plan
            .variants
            .iter()
            .filter(wanted)
            .filter_map(|variant| CommandTarget::of(self.phase, variant, folder))
            .collect()
    }
}

fn clone_pair((id, path): (&VariantId, &PathBuf)) -> (VariantId, PathBuf) {
    (id.clone(), path.clone())
}

fn unknown(collected: &Collected) -> Option<String> {
    (!collected.unknown.is_empty())
        .then(|| format!("this ncu does not know, and nothing was counted for: {}", collected.unknown.join(", ")))
}
