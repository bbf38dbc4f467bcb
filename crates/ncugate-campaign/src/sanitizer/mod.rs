//! compute-sanitizer over the variants of a run: one process for all of them, and smaller groups where it reports something,
//! because a report names a kernel and not a variant. Nothing is timed meanwhile.

mod log;

use super::error::CampaignError;
use super::tools::Tools;
use log::SanitizerLog;
use ncugate_cuda::host::{WorkerEvent, WorkerJob};
use ncugate_model::number::{counted, text};
use ncugate_model::process::{self, ProcessExit};
use ncugate_model::{SanitizerOutcome, SanitizerRecord, SanitizerTool, ShapeName, VariantId};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// Time limit of `compute-sanitizer --version`; a cold start from a network disk is slow.
const VERSION_LIMIT: Duration = Duration::from_secs(20);
/// Install location outside of `PATH` and of the toolkit with nvcc.
const USUAL_PLACE: &str = "/usr/local/cuda/bin/compute-sanitizer";
/// Status for errors in a program that itself ended with 0.
const FOUND: i32 = 86;
/// Reports that the tool prints; it counts the others.
const MOST_REPORTS: &str = "100";
/// Bytes behind each allocation in which memcheck reports every access. Without them, an access behind a buffer may hit the next.
const PADDING: &str = "4096";

/// A working compute-sanitizer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Sanitizer {
    path: PathBuf,
    version: String,
}

impl Sanitizer {
    /// The first on `PATH`, else that of nvcc's toolkit, else that in the usual place.
    ///
    /// # Errors
    /// Why none is usable, in words.
    fn find(nvcc: &Path) -> Result<Self, String> {
        let bin = nvcc.canonicalize().ok().and_then(|nvcc| Some(nvcc.parent()?.to_owned()));
        let beside = bin
            .iter()
            .flat_map(|bin| [bin.join("compute-sanitizer"), bin.join("../compute-sanitizer/compute-sanitizer")]);
        let on_path = which::which("compute-sanitizer").ok();
        let mut places = on_path.into_iter().chain(beside).chain([PathBuf::from(USUAL_PLACE)]);
        let path = places
            .find(|path| path.is_file())
            .ok_or("compute-sanitizer was not found on PATH or next to nvcc; it is part of the CUDA toolkit")?;
        let shown = path.display();
        let output = process::run(Command::new(&path).arg("--version"), VERSION_LIMIT)
            .map_err(|error| format!("`{shown}` does not run: {error}"))?;
        let version = output.stdout.lines().find_map(|line| line.trim().strip_prefix("Version "));
        match version.and_then(|rest| rest.split_whitespace().next()) {
            Some(version) if output.ending.completed() => Ok(Self { version: text::clean(version), path }),
            Some(_) | None => Err(format!("`{shown} --version` {} and printed no version", output.ending)),
        }
    }
}

/// The launches of a run for compute-sanitizer.
pub(super) struct SanitizerJob<'a> {
    pub tools: &'a Tools,
    /// A job for compute-sanitizer with the variants to launch, each at one shape.
    pub job: WorkerJob,
    /// Folder of job files and logs.
    pub logs: &'a Path,
    /// Time limit of one process.
    pub timeout: Duration,
}

/// One process of compute-sanitizer.
#[derive(Debug)]
struct SanitizerRun {
    log: SanitizerLog,
    /// Why it has no result; none if every launch ended and the log is complete.
    failure: Option<String>,
}

impl SanitizerJob<'_> {
    /// Runs a tool over all variants, and passes on the record of each.
    ///
    /// # Errors
    /// The user asked to stop, or a file or record cannot be written. A missing or failed tool is a record.
    pub fn run(
        &self,
        tool: SanitizerTool,
        keep: &mut dyn FnMut(SanitizerRecord) -> Result<(), CampaignError>,
    ) -> Result<(), CampaignError> {
        let cases: Vec<(VariantId, ShapeName)> = self
            .job
            .kernels
            .iter()
            .filter_map(|kernel| Some((kernel.variant.clone(), kernel.shapes.first()?.clone())))
            .collect();
        let (version, outcomes) = match Sanitizer::find(self.tools.nvcc.path()) {
            Ok(sanitizer) => {
                let ids: Vec<&VariantId> = cases.iter().map(|(variant, _)| variant).collect();
                let mut outcomes = BTreeMap::new();
                let mut processes = 0;
                self.halve((&sanitizer, tool), &ids, &mut processes, &mut outcomes)?;
                (Some(sanitizer.version), outcomes)
            }
            Err(reason) => {
                let failed = |(id, _): &(VariantId, ShapeName)| {
                    (id.clone(), SanitizerOutcome::Failed { reason: reason.clone() })
                };
                (None, cases.iter().map(failed).collect())
            }
        };
        for (variant, shape) in cases {
            if let Some(outcome) = outcomes.get(&variant).cloned() {
                keep(SanitizerRecord { variant, shape, tool, version: version.clone(), outcome })?;
            }
        }
        Ok(())
    }

    /// Launches these variants in one process, and each half of them separately if that has no clean result.
    fn halve(
        &self,
        tool: (&Sanitizer, SanitizerTool),
        variants: &[&VariantId],
        processes: &mut u32,
        outcomes: &mut BTreeMap<VariantId, SanitizerOutcome>,
    ) -> Result<(), CampaignError> {
        let SanitizerRun { log, failure } = self.launch(tool, variants, processes)?;
        match variants {
            [] => {}
            _ if failure.is_none() && log.findings.is_empty() => {
                outcomes.extend(variants.iter().map(|id| ((*id).clone(), SanitizerOutcome::Clean)));
            }
            [only] => {
                let outcome = match failure {
                    Some(reason) if log.findings.is_empty() => SanitizerOutcome::Failed { reason },
                    failure => SanitizerOutcome::Found { unlisted: log.unlisted(), findings: log.findings, failure },
                };
                outcomes.insert((*only).clone(), outcome);
            }
            several => {
                let (left, right) = several.split_at(several.len() / 2);
                self.halve(tool, left, processes, outcomes)?;
                self.halve(tool, right, processes, outcomes)?;
                let clean = |id: &&VariantId| outcomes.get(*id) == Some(&SanitizerOutcome::Clean);
                if let (Some(finding), true) = (log.findings.first(), several.iter().all(clean)) {
                    let among = counted(several.len(), "variant");
                    let reason =
                        format!("it reports {finding} for {among} in one process, and nothing for their halves");
                    let unclear =
                        |id: &&VariantId| ((*id).clone(), SanitizerOutcome::Failed { reason: reason.clone() });
                    outcomes.extend(several.iter().map(unclear));
                }
            }
        }
        Ok(())
    }

    fn launch(
        &self,
        (sanitizer, tool): (&Sanitizer, SanitizerTool),
        variants: &[&VariantId],
        processes: &mut u32,
    ) -> Result<SanitizerRun, CampaignError> {
        let name = format!("{tool}-{processes}");
        *processes += 1;
        let io = |what: &'static str| move |source| CampaignError::Io { what, source };
        let mut job = self.job.clone();
        job.kernels.retain(|kernel| variants.contains(&&kernel.variant));
        let (path, log) = (self.logs.join(format!("{name}.json")), self.logs.join(format!("{name}.log")));
        let text = serde_json::to_vec(&job).map_err(|error| io("write a job")(error.into()))?;
        std::fs::write(&path, text).map_err(io("write a job"))?;
        // A log of an interrupted run is not this one's.
        match std::fs::remove_file(&log) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(io("remove a log")(error)),
            Ok(()) | Err(_) => {}
        }
        let worker = self.tools.worker.command();
        let mut command = Command::new(&sanitizer.path);
        command.args(["--tool", tool.as_str(), "--print-limit", MOST_REPORTS, "--show-backtrace", "device"]);
        if tool == SanitizerTool::Memcheck {
            command.args(["--padding", PADDING]);
        }
        // The worker asks the driver for functions that old drivers do not have.
        command.args(["--report-api-errors", "no", "--error-exitcode", &FOUND.to_string(), "--log-file"]);
        command.arg(&log).arg(worker.get_program()).args(worker.get_args()).arg(&path);
        command.envs(worker.get_envs().filter_map(|(key, value)| Some((key, value?))));
        let output = process::run_whole(&mut command, self.timeout).map_err(io("run compute-sanitizer"))?;
        if output.ending == ProcessExit::Interrupted || process::interrupted() {
            return Err(CampaignError::Interrupted);
        }
        let events: Vec<WorkerEvent> = output.stdout.lines().filter_map(WorkerEvent::parse).collect();
        let log = SanitizerLog::parse(&std::fs::read_to_string(&log).unwrap_or_default());
        let failure = failure(&log, &events, variants, output.ending, output.stderr.trim());
        Ok(SanitizerRun { log, failure })
    }
}

/// Why a process has no complete result.
fn failure(
    log: &SanitizerLog,
    events: &[WorkerEvent],
    variants: &[&VariantId],
    ending: ProcessExit,
    stderr: &str,
) -> Option<String> {
    let failed = events.iter().find_map(|event| match event {
        WorkerEvent::LaunchFailed { reason, .. } => Some(format!("the launch failed: {reason}")),
        WorkerEvent::Failed { reason } | WorkerEvent::Refused { reason } => Some(reason.clone()),
        _ => None,
    });
    let is_launched = |id: &&VariantId| {
        events.iter().any(|event| matches!(event, WorkerEvent::Sanitized { variant, .. } if variant == *id))
    };
    let ended = match ending {
        ProcessExit::Completed => None,
        ProcessExit::NonZero(FOUND) if !log.findings.is_empty() => None,
        ProcessExit::TimedOut => Some(format!("it {ending} ([profile] timeout_s)")),
        ProcessExit::NonZero(_) | ProcessExit::Signaled(_) | ProcessExit::Interrupted => Some(format!(
            "it {ending}{}",
            stderr.lines().next_back().map_or_else(String::new, |said| format!("; its output: {}", text::clean(said)))
        )),
    };
    failed
        .or_else(|| Some(format!("it reports: {}", log.problems.first()?)))
        .or(ended)
        .or_else(|| (!variants.iter().all(is_launched)).then(|| "the worker did not launch the variant".to_owned()))
        .or_else(|| log.total.is_none().then(|| "its log has no summary".to_owned()))
        .or_else(|| {
            (log.unlisted() > 0 && log.findings.is_empty()).then(|| "its log lists no error that it counts".to_owned())
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_result_needs_a_summary_a_status_and_every_launch() {
        let id = VariantId("v".into());
        let ran = [WorkerEvent::Sanitized { variant: id.clone(), shape: ShapeName("s".into()) }, WorkerEvent::Done];
        let log = |text: &str| SanitizerLog::parse(text);
        let clean = log("========= ERROR SUMMARY: 0 errors\n");
        let of = |log: &SanitizerLog, events: &[WorkerEvent], ending| failure(log, events, &[&id], ending, "");
        assert_eq!(of(&clean, &ran, ProcessExit::Completed), None);
        for (log, events, ending, expected) in [
            (&clean, &ran[..], ProcessExit::NonZero(1), "exited with status 1"),
            (&clean, &ran[..], ProcessExit::NonZero(FOUND), "exited with status 86"),
            (&clean, &ran[..], ProcessExit::TimedOut, "timeout_s"),
            (&clean, &ran[1..], ProcessExit::Completed, "did not launch"),
            (&log(""), &ran[..], ProcessExit::Completed, "no summary"),
            (&log("========= ERROR SUMMARY: 2 errors\n"), &ran[..], ProcessExit::Completed, "lists no error"),
            (
                &log("========= Error: No attachable process found. compute-sanitizer timed-out.\n"),
                &ran[..],
                ProcessExit::Completed,
                "No attachable",
            ),
        ] {
            let reason = of(log, events, ending).unwrap_or_default();
            assert!(reason.contains(expected), "{expected}: {reason}");
        }
    }
}
