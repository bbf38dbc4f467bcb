//! Subjects of ncu, their output folders, and the mapping of reports to cases.

use super::error::CampaignError;
use ncu_rep::{Launch, Report};
use ncugate_cuda::host::external::{self, Request, RequestMode};
use ncugate_cuda::host::{WorkerCommand, WorkerEvent, WorkerJob, range_name};
use ncugate_judge::frame::cases_of;
use ncugate_model::{EMPTY_RANGE, ProfileOutcome, ProfileRecord, ShapeName, VariantId, nvtx_text};
use ncugate_ncu::{
    Contents, Knobs, LaunchExpectation, LaunchSelection, Ncu, Processes, ProfiledCase, ReportReader, Runner, Subject,
    Target,
};
use ncugate_phase::config::{Phase, WorkloadReference};
use ncugate_phase::plan::{CommandPlan, Method, Variant};
use std::cell::Cell;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

/// ncu's count of the replay passes of a launch.
const PASSES: &str = "profiler__replayer_passes";

/// Folders that ncu processes read and write.
pub(super) struct ProfilingFolders {
    pub reports: PathBuf,
    pub logs: PathBuf,
    pub scratch: PathBuf,
}

impl ProfilingFolders {
    pub fn runner<'r>(&'r self, ncu: &'r Ncu, phase: &Phase) -> Runner<'r> {
        Runner {
            ncu,
            reports: &self.reports,
            logs: &self.logs,
            scratch: &self.scratch,
            timeout: phase.profile.timeout,
            prefix: "",
            knobs: Knobs::default(),
            prestarted: None,
        }
    }
}

/// A variant's id as part of a file's name.
pub(super) fn file_name(variant: &VariantId) -> String {
    variant.0.chars().map(|c| if c.is_ascii_alphanumeric() || "._-=+".contains(c) { c } else { '_' }).collect()
}

/// The folder of an external command's request and result below `parent`.
pub(super) fn command_folder(parent: &Path, variant: &VariantId) -> Result<PathBuf, CampaignError> {
    let folder = parent.join(file_name(variant));
    std::fs::create_dir_all(&folder)
        .map_err(|source| CampaignError::Io { what: "create a folder for an external command", source })?;
    Ok(folder)
}

/// Our worker, launching the kernels of some cases.
pub(super) struct WorkerTarget {
    job: WorkerJob,
    folder: PathBuf,
    worker: WorkerCommand,
    jobs: Cell<u32>,
}

impl WorkerTarget {
    /// Job files go to `folder`.
    pub fn new(job: WorkerJob, folder: PathBuf, worker: WorkerCommand) -> Self {
        Self { job, folder, worker, jobs: Cell::new(0) }
    }
}

impl Target for WorkerTarget {
    fn command(&self, cases: &[ProfiledCase]) -> io::Result<Command> {
        let mut job = self.job.clone();
        for kernel in &mut job.kernels {
            kernel.shapes.retain(|shape| cases.contains(&(kernel.variant.clone(), shape.clone())));
        }
        job.kernels.retain(|kernel| !kernel.shapes.is_empty());
        let number = self.jobs.replace(self.jobs.get() + 1);
        let path = self.folder.join(format!("profile-{number}.json"));
        std::fs::write(&path, serde_json::to_vec(&job)?)?;
        let mut command = self.worker.command();
        command.arg(path);
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
    /// The command of a variant that is an external command; requests go to `folder`.
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

    /// Its launches at these shapes, in one process.
    pub fn subject(&self, shapes: &[ShapeName]) -> Subject<'_> {
        let cases: Vec<ProfiledCase> = shapes.iter().map(|shape| (self.variant.clone(), shape.clone())).collect();
        let selection = launches_of(&self.plan, &cases);
        Subject { cases, target: self, selection, processes: Processes::All, expect: LaunchExpectation::Some }
    }
}

pub(super) fn launches_of(plan: &CommandPlan, cases: &[ProfiledCase]) -> LaunchSelection {
    plan.kernel_filter.clone().map_or_else(|| in_ranges(cases), LaunchSelection::Kernels)
}

/// The launches in the NVTX ranges of these cases, and those of an empty kernel.
pub(super) fn in_ranges(cases: &[ProfiledCase]) -> LaunchSelection {
    let cases = cases.iter().map(|(variant, shape)| range_name(variant, shape));
    LaunchSelection::Ranges(cases.chain([EMPTY_RANGE.to_string_lossy().into_owned()]).collect())
}

impl Target for CommandTarget {
    fn command(&self, cases: &[ProfiledCase]) -> io::Result<Command> {
        let mut request = self.request.clone();
        request.shapes.retain(|shape| cases.iter().any(|(_, name)| *name == shape.name));
        request.write(&self.path).map_err(io::Error::other)?;
        external::command(&self.plan, &self.path).ok_or_else(|| io::Error::other("the command is empty"))
    }
}

/// Maps launches to cases by NVTX range.
pub(super) struct NvtxReader;

impl ReportReader for NvtxReader {
    fn read(&self, report: &Path, told: &str, cases: &[ProfiledCase]) -> Result<Contents, String> {
        let report = Report::open(report).map_err(|e| e.to_string())?;
        let mut contents = Contents::default();
        for launch in report.launches() {
            let ranges = launch.nvtx().map_err(|e| e.to_string())?;
            let case = cases_of(&nvtx_text(&ranges)).find(|case| cases.contains(case));
            if let Some(case) = case {
                *contents.launches.entry(case).or_default() += 1;
            }
            contents.passes = contents.passes.max(replay_passes(&launch)?);
        }
        for event in told.lines().filter_map(WorkerEvent::parse) {
            if let WorkerEvent::Launched { variant, shape, outputs, .. } = event {
                let earlier = contents.outputs.remove(&(variant.clone(), shape.clone()));
                let all = match earlier {
                    Some(earlier) => earlier.and(outputs),
                    None => outputs,
                };
                contents.outputs.insert((variant, shape), all);
            }
        }
        Ok(contents)
    }
}

/// The counted launches of a worker that launches kernels: all of them, unless it also has to launch a reference.
pub(super) fn launches_of_kernels(phase: &Phase, cases: &[ProfiledCase]) -> LaunchSelection {
    match &phase.workload.reference {
        WorkloadReference::Entry { .. } => in_ranges(cases),
        WorkloadReference::Builtin { .. }
        | WorkloadReference::Npy { .. }
        | WorkloadReference::Program(_)
        | WorkloadReference::Absent => LaunchSelection::Everything,
    }
}

/// The number of replays of a launch, if its report has it.
pub(super) fn replay_passes(launch: &Launch<'_>) -> Result<Option<u32>, String> {
    let passes = launch.metric(PASSES).map_err(|e| e.to_string())?.and_then(|value| value.as_f64());
    Ok(passes.filter(|n| *n >= 0.0).map(|n| n as u32))
}

/// Records for variants that are not profiled, with the reason.
pub(super) fn unprofiled(variant: &VariantId, shapes: &[ShapeName], reason: &str) -> Vec<ProfileRecord> {
    let record = |shape: &ShapeName| ProfileRecord {
        variant: variant.clone(),
        shape: shape.clone(),
        metrics: Vec::new(),
        outcome: ProfileOutcome::Failed { reason: reason.to_owned() },
        outputs: None,
    };
    shapes.iter().map(record).collect()
}
