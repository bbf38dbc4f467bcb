//! Slurm (`sbatch`, `squeue`, `scancel`). Its accounting database is not used, because many clusters run without it.

use super::{ClusterJob, SubmissionStage, SubmitError, Work};
use ncugate_model::process::{self, ProcessExit};
use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;
use std::str::FromStr;
use std::time::Duration;

/// Time limit of a scheduler command.
const LIMIT: Duration = Duration::from_secs(120);
/// Seconds before a time limit at which Slurm signals a task to store its results.
const NOTICE: u32 = 60;

/// Jobs that have not ended, with their states in words.
pub type LiveJobs = BTreeMap<ClusterJob, String>;

/// Slurm with the options for its jobs.
#[derive(Debug, Clone)]
pub struct Scheduler {
    /// Limit on concurrent tasks of an array.
    pub at_once: u32,
    /// Options of every job.
    pub options: Vec<String>,
    /// Options of jobs on a GPU. Each takes one GPU, so that it is scheduled, lost and restarted separately.
    pub gpu_options: Vec<String>,
    pub cpu_options: Vec<String>,
}

/// GPUs of a node, as Slurm writes them: `gpu:8`, `gpu:h200:8`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Gres {
    pub kind: String,
    pub count: u32,
}

impl FromStr for Gres {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("`{text}` does not describe the GPUs of a node; write gpu:8 or gpu:h200:8");
        let plain =
            |part: &&str| !part.is_empty() && part.chars().all(|c| c.is_ascii_alphanumeric() || "_-.".contains(c));
        let parts: Vec<&str> = text.split(':').collect();
        if !parts.iter().all(plain) {
            return Err(wrong());
        }
        let (kind, count) = match parts[..] {
            [name] => (name.to_owned(), "1"),
            [name, count] => (name.to_owned(), count),
            [name, kind, count] => (format!("{name}:{kind}"), count),
            _ => return Err(wrong()),
        };
        let count = count.parse().ok().filter(|count| *count > 0).ok_or_else(wrong)?;
        Ok(Self { kind, count })
    }
}

impl Scheduler {
    fn options(&self, stage: SubmissionStage) -> impl Iterator<Item = &String> {
        let own = if stage.on_gpu() { &self.gpu_options } else { &self.cpu_options };
        own.iter().chain(&self.options)
    }

    /// The script lines that Slurm reads.
    pub(super) fn directives(&self, stage: SubmissionStage, work: &Work, folder: &Path) -> Vec<String> {
        let output = if stage == SubmissionStage::Measure { "%A-%a" } else { "%j" };
        let output = folder.join("logs").join(format!("{stage}-{output}.txt"));
        let own = [
            format!("--job-name=ncugate-{}-{stage}", work.phase),
            format!("--output={}", quoted(&output.to_string_lossy())),
            "--open-mode=append".to_owned(),
            "--nodes=1".to_owned(),
            "--ntasks=1".to_owned(),
            "--requeue".to_owned(),
            "--kill-on-invalid-dep=yes".to_owned(),
            format!("--signal=B:TERM@{NOTICE}"),
        ];
        own.iter().chain(self.options(stage)).map(|option| format!("#SBATCH {option}")).collect()
    }

    /// Submits the script of a stage, as an array if there are shards. It starts after the success of `after`.
    ///
    /// # Errors
    /// The scheduler refuses.
    pub(super) fn submit(
        &self,
        stage: SubmissionStage,
        folder: &Path,
        shards: &[u32],
        after: Option<ClusterJob>,
    ) -> Result<ClusterJob, SubmitError> {
        let script = folder.join(format!("{stage}.sh"));
        let array = (!shards.is_empty()).then(|| format!("--array={}%{}", ranges(shards), self.at_once));
        let mut command = Command::new("sbatch");
        command.arg("--parsable").args(after.map(|after| format!("--dependency=afterok:{after}"))).args(array);
        let said = query(command.arg(script))?;
        // `id`; in a Slurm federation `id;cluster`.
        let id = said.trim().split(';').next().and_then(|id| id.parse().ok());
        id.map(ClusterJob).ok_or_else(|| SubmitError::Scheduler {
            command: "sbatch".to_owned(),
            reason: format!("it printed no job number: {}", said.trim()),
        })
    }

    /// The user's jobs that have not ended.
    ///
    /// # Errors
    /// The scheduler does not answer.
    pub(super) fn alive(&self) -> Result<LiveJobs, SubmitError> {
        Ok(queue(&query(Command::new("squeue").args(["--me", "--noheader", "--format=%F|%T|%r"]))?))
    }

    /// # Errors
    /// The scheduler refuses.
    pub(super) fn cancel(&self, jobs: &[ClusterJob]) -> Result<(), SubmitError> {
        query(Command::new("scancel").args(jobs.iter().map(ClusterJob::to_string))).map(drop)
    }
}

/// The jobs of a list of `job|STATE|reason`, which has a line for each state of an array.
fn queue(listed: &str) -> LiveJobs {
    let mut jobs = LiveJobs::new();
    for line in listed.lines() {
        let mut parts = line.trim().split('|');
        let (Some(id), Some(state)) = (parts.next().and_then(|id| id.parse().ok()), parts.next()) else { continue };
        let reason = parts.next().filter(|why| state == "PENDING" && !["None", "", "Dependency"].contains(why));
        let reason = reason.map(|reason| format!(" ({reason})")).unwrap_or_default();
        let words = format!("{}{reason}", state.to_ascii_lowercase());
        let known: &mut String = jobs.entry(ClusterJob(id)).or_default();
        if !known.split(", ").any(|other| other == words) {
            *known += if known.is_empty() { "" } else { ", " };
            *known += &words;
        }
    }
    jobs
}

/// Runs a command of a scheduler; returns its standard output.
fn query(command: &mut Command) -> Result<String, SubmitError> {
    let name = command.get_program().to_string_lossy().into_owned();
    let failed = |reason: String| SubmitError::Scheduler { command: name.clone(), reason };
    let output = process::run_apart(command, LIMIT).map_err(|error| failed(error.to_string()))?;
    match output.ending {
        ProcessExit::Completed => Ok(output.stdout),
        ending => {
            let said = if output.stderr.trim().is_empty() { &output.stdout } else { &output.stderr };
            Err(failed(format!("it {ending}: {}", said.trim())))
        }
    }
}

/// Numbers as ranges: `1-3,7`.
fn ranges(numbers: &[u32]) -> String {
    let runs = numbers.chunk_by(|a, b| a + 1 == *b).map(|run| match run {
        [only] => only.to_string(),
        [first, .., last] => format!("{first}-{last}"),
        [] => String::new(),
    });
    runs.collect::<Vec<_>>().join(",")
}

/// The value of a directive, quoted if it has blanks or quotes.
fn quoted(text: &str) -> String {
    match text.contains([' ', '\'', '"']) {
        true => format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\"")),
        false => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_written_as_ranges() {
        assert_eq!(ranges(&[1, 2, 3, 7, 9, 10]), "1-3,7,9-10");
        assert_eq!(ranges(&[4]), "4");
    }

    #[test]
    fn a_queue_has_each_state_of_a_job_once() {
        let jobs = queue("7|RUNNING|None\n7|RUNNING|None\n7|PENDING|Resources\n8|PENDING|Dependency\nslurm: odd\n");
        let jobs: Vec<(u64, &str)> = jobs.iter().map(|(job, state)| (job.0, state.as_str())).collect();
        assert_eq!(jobs, [(7, "running, pending (Resources)"), (8, "pending")]);
    }

    #[test]
    fn gpus_of_a_node_are_read_as_slurm_writes_them() {
        for (text, kind, count) in [("gpu", "gpu", 1), ("gpu:8", "gpu", 8), ("gpu:h200:4", "gpu:h200", 4)] {
            assert_eq!(text.parse(), Ok(Gres { kind: kind.to_owned(), count }));
        }
        for wrong in ["", "gpu:0", "gpu:x", "gpu:a:b:1", "gpu:8\n#SBATCH", "gpu: 8"] {
            assert!(wrong.parse::<Gres>().is_err(), "{wrong:?}");
        }
    }
}
