//! Profiling as part of a campaign: what ncu starts, and how its reports are checked.

use super::{Campaign, CampaignError};
use crate::bench::external::{self, Request, RequestMode};
use crate::bench::{Job, Purpose, range_name};
use crate::config::Phase;
use crate::frame::launches::nvtx_text;
use crate::frame::{case_of, wanted};
use crate::model::ShapeName;
use crate::model::VariantId;
use crate::model::{ProfileOutcome, ProfileRecord};
use crate::ncu::{
    Case, Collected, Contents, Counters, Covered, Expect, Knobs, PassBook, Processes, Profiler, Runner, Selection,
    Subject, Target, Verify, cache_folder, scratch_folder,
};
use crate::plan::{CommandPlan, Method, Variant};
use ncu_rep::Report;
use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

/// ncu's own count of the replay passes of a launch.
const PASSES: &str = "profiler__replayer_passes";

impl Campaign<'_> {
    /// Profiles every correct variant at the phase's profiled shapes; the others get a record that says why not.
    pub(super) fn profile(
        &mut self,
        cubins: &BTreeMap<VariantId, PathBuf>,
        sound: &BTreeSet<VariantId>,
        earlier: &[ProfileRecord],
    ) -> Result<(), CampaignError> {
        let counters = wanted::counters(self.metrics, Some(self.tools.device.compute_capability));
        let folder = self.writer.folder().to_owned();
        let covered = Covered::by(earlier);
        let cubins: BTreeMap<_, _> = cubins.iter().filter(|(id, _)| sound.contains(id)).map(clone_pair).collect();
        let job = Job::new(self.phase, self.plan, &cubins, Purpose::Profile)?;
        let worker = WorkerTarget::new(job, folder.join("logs"), self.tools);
        let commands = self.command_targets(sound, &folder.join("logs"));
        let mut subjects = vec![Subject {
            cases: self.cases(cubins.keys()),
            target: &worker,
            selection: Selection::Everything,
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

    fn cases<'b>(&self, variants: impl Iterator<Item = &'b VariantId>) -> Vec<Case> {
        let shapes: &[ShapeName] = &self.phase.profile.shapes;
        variants.flat_map(|id| shapes.iter().map(move |shape| (id.clone(), shape.clone()))).collect()
    }

    /// External commands that can be profiled; baselines only where a requirement reads their counters.
    fn command_targets(&self, sound: &BTreeSet<VariantId>, folder: &Path) -> Vec<CommandTarget> {
        let baselines = wanted::profiles_baselines(self.phase);
        let wanted = |variant: &&Variant| {
            sound.contains(&variant.id) && (baselines || variant.standing == crate::plan::Standing::Candidate)
        };
        self.plan
            .variants
            .iter()
            .filter(wanted)
            .filter_map(|variant| CommandTarget::of(self.phase, variant, folder))
            .collect()
    }
}

/// Where ncu processes read and write.
pub(super) struct Folders {
    pub reports: PathBuf,
    pub logs: PathBuf,
    pub scratch: PathBuf,
}

impl Folders {
    pub fn runner<'r>(&'r self, tools: &'r super::Tools, phase: &Phase) -> Runner<'r> {
        Runner {
            ncu: &tools.ncu,
            reports: &self.reports,
            logs: &self.logs,
            scratch: &self.scratch,
            timeout: phase.profile.timeout,
            knobs: Knobs::default(),
        }
    }
}

/// A variant's id as part of a file's name.
pub(super) fn file_name(variant: &VariantId) -> String {
    variant.0.chars().map(|c| if c.is_ascii_alphanumeric() || "._-=".contains(c) { c } else { '_' }).collect()
}

fn clone_pair((id, path): (&VariantId, &PathBuf)) -> (VariantId, PathBuf) {
    (id.clone(), path.clone())
}

fn unknown(collected: &Collected) -> Option<String> {
    (!collected.unknown.is_empty())
        .then(|| format!("this ncu does not know, and nothing was counted for: {}", collected.unknown.join(", ")))
}

/// Our own worker, launching the kernels of some cases.
pub(super) struct WorkerTarget {
    job: Job,
    folder: PathBuf,
    worker: crate::bench::WorkerCommand,
    jobs: Cell<u32>,
}

impl WorkerTarget {
    /// Job files go to `folder`.
    pub fn new(job: Job, folder: PathBuf, tools: &super::Tools) -> Self {
        Self { job, folder, worker: tools.worker.clone(), jobs: Cell::new(0) }
    }
}

impl Target for WorkerTarget {
    fn command(&self, cases: &[Case]) -> io::Result<Command> {
        let mut job = self.job.clone();
        for kernel in &mut job.kernels {
            kernel.shapes.retain(|shape| cases.contains(&(kernel.variant.clone(), shape.clone())));
        }
        job.kernels.retain(|kernel| !kernel.shapes.is_empty());
        let number = self.jobs.replace(self.jobs.get() + 1);
        let path = self.folder.join(format!("profile-{number}.json"));
        std::fs::write(&path, serde_json::to_vec(&job)?)?;
        let mut command = Command::new(&self.worker.program);
        command.args(&self.worker.args).arg(path);
        Ok(command)
    }
}

/// An external command in profile mode.
pub(super) struct CommandTarget {
    pub variant: VariantId,
    plan: CommandPlan,
    request: Request,
    path: PathBuf,
}

impl CommandTarget {
    /// The command of a variant that is one; requests go to `folder`.
    pub fn of(phase: &Phase, variant: &Variant, folder: &Path) -> Option<Self> {
        let Method::Command(plan) = &variant.method else { return None };
        let name = file_name(&variant.id);
        let answer = folder.join(format!("{name}.profile.json"));
        Some(Self {
            variant: variant.id.clone(),
            plan: plan.clone(),
            request: Request::new(phase, &variant.id, RequestMode::Profile, answer)?,
            path: folder.join(format!("{name}.request.json")),
        })
    }

    /// Its launches in the range of a case.
    pub fn subject(&self, case: Case) -> Subject<'_> {
        let range = Selection::Range(range_name(&case.0, &case.1));
        Subject {
            cases: vec![case],
            target: self,
            selection: self.plan.kernel_filter.clone().map_or(range, Selection::Kernels),
            processes: Processes::All,
            expect: Expect::Some,
        }
    }
}

impl Target for CommandTarget {
    fn command(&self, cases: &[Case]) -> io::Result<Command> {
        let mut request = self.request.clone();
        request.shapes.retain(|shape| cases.iter().any(|(_, name)| *name == shape.name));
        request.write(&self.path).map_err(io::Error::other)?;
        external::command(&self.plan, &self.path).ok_or_else(|| io::Error::other("the command is empty"))
    }
}

/// Ties launches to cases by their NVTX range.
pub(super) struct ByRange;

impl Verify for ByRange {
    fn read(&self, report: &Path, cases: &[Case]) -> Result<Contents, String> {
        let report = Report::open(report).map_err(|e| e.to_string())?;
        let mut contents = Contents::default();
        for launch in report.launches() {
            let ranges = launch.nvtx().map_err(|e| e.to_string())?;
            let case = case_of(&nvtx_text(&ranges)).filter(|case| cases.contains(case));
            if let Some(case) = case {
                *contents.launches.entry(case).or_default() += 1;
            }
            let passes = launch.metric(PASSES).map_err(|e| e.to_string())?.and_then(|value| value.as_f64());
            let passes = passes.filter(|n| *n >= 0.0).map(|n| n as u32);
            contents.passes = contents.passes.max(passes);
        }
        Ok(contents)
    }
}

/// Records for variants that are not profiled, and why.
pub(super) fn unprofiled(variant: &VariantId, shapes: &[ShapeName], reason: &str) -> Vec<ProfileRecord> {
    let record = |shape: &ShapeName| ProfileRecord {
        variant: variant.clone(),
        shape: shape.clone(),
        metrics: Vec::new(),
        outcome: ProfileOutcome::Failed { reason: reason.to_owned() },
    };
    shapes.iter().map(record).collect()
}
