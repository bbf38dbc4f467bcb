//! Slurm: `sbatch`, `squeue`, `scancel`. The accounting database is not asked; many clusters have none.

use super::engine::{Engine, LiveJobs, query, ranges};
use super::error::SubmitError;
use super::script::Script;
use super::stage::{ClusterJob, SubmissionStage};
use std::process::Command;
use std::str::FromStr;

/// Seconds before a time limit at which a task is told to keep what it has.
const NOTICE: u32 = 60;

/// GPUs of a node, as Slurm writes them: `gpu:8`, `gpu:h200:8`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Gres {
    kind: String,
    pub count: u32,
}

impl FromStr for Gres {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("'{text}' is not GPUs of a node; write gpu:8, or gpu:h200:8");
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

#[derive(Debug, Clone)]
pub struct Slurm {
    /// GPUs of a node.
    pub gres: Gres,
    /// Nodes whose GPUs are used at once.
    pub nodes: u32,
    /// Time limit of a job on a GPU, as Slurm writes it.
    pub time: Option<String>,
    /// Further options of every job.
    pub options: Vec<String>,
    /// Further options of jobs without a GPU.
    pub cpu_options: Vec<String>,
}

impl Slurm {
    /// Tasks that may measure at once.
    pub fn at_once(&self) -> u32 {
        self.gres.count.saturating_mul(self.nodes)
    }
}

impl Engine for Slurm {
    fn name(&self) -> &'static str {
        "Slurm"
    }

    fn has_dependencies(&self) -> bool {
        true
    }

    fn task_variable(&self) -> &'static str {
        "SLURM_ARRAY_TASK_ID"
    }

    fn job_variable(&self) -> &'static str {
        "SLURM_JOB_ID"
    }

    fn directives(&self, script: &Script<'_>) -> Vec<String> {
        let output = if script.stage == SubmissionStage::Measure { "%A-%a" } else { "%j" };
        let output = script.logs().join(format!("{}-{output}.txt", script.stage));
        let mut options = vec![
            format!("--job-name=ncugate-{}-{}", script.work.phase, script.stage),
            format!("--output={}", quoted(&output.to_string_lossy())),
            "--open-mode=append".to_owned(),
            "--nodes=1".to_owned(),
            "--ntasks=1".to_owned(),
            "--requeue".to_owned(),
            "--kill-on-invalid-dep=yes".to_owned(),
            format!("--signal=B:TERM@{NOTICE}"),
        ];
        if script.stage.on_gpu() {
            // One GPU a task: each is scheduled, lost and requeued by itself.
            options.push(format!("--gres={}:1", self.gres.kind));
            options.extend(self.time.iter().map(|time| format!("--time={time}")));
        } else {
            options.extend(self.cpu_options.iter().cloned());
        }
        options.extend(self.options.iter().cloned());
        options.into_iter().map(|option| format!("#SBATCH {option}")).collect()
    }

    fn submit(&self, script: &Script<'_>, after: Option<ClusterJob>) -> Result<ClusterJob, SubmitError> {
        let mut command = Command::new("sbatch");
        command.arg("--parsable");
        if let Some(after) = after {
            command.arg(format!("--dependency=afterok:{after}"));
        }
        if script.stage == SubmissionStage::Measure {
            command.arg(format!("--array={}%{}", ranges(&script.shards), self.at_once()));
        }
        let said = query(command.arg(script.path()))?;
        // `id`, or `id;cluster`.
        let id = said.trim().split(';').next().and_then(|id| id.parse().ok());
        id.map(ClusterJob).ok_or_else(|| SubmitError::Engine {
            command: "sbatch".to_owned(),
            said: format!("it gave no number of a job: {}", said.trim()),
        })
    }

    fn alive(&self) -> Result<LiveJobs, SubmitError> {
        let said = query(Command::new("squeue").args(["--me", "--noheader", "--format=%F|%T|%r"]))?;
        let mut states: LiveJobs = LiveJobs::new();
        for line in said.lines() {
            let mut parts = line.trim().split('|');
            let (Some(id), Some(state)) = (parts.next().and_then(|id| id.parse().ok()), parts.next()) else { continue };
            let reason = parts.next().filter(|reason| !["None", "", "Dependency"].contains(reason));
            let word = match reason.filter(|_| state == "PENDING") {
                Some(reason) => format!("{} ({reason})", state.to_ascii_lowercase()),
                None => state.to_ascii_lowercase(),
            };
            let known = states.entry(ClusterJob(id)).or_default();
            if !known.split(", ").any(|other| other == word) {
                known.push_str(if known.is_empty() { "" } else { ", " });
                known.push_str(&word);
            }
        }
        Ok(states)
    }

    fn cancel(&self, jobs: &[ClusterJob]) -> Result<(), SubmitError> {
        query(Command::new("scancel").args(jobs.iter().map(ClusterJob::to_string))).map(drop)
    }
}

/// A value of a directive: its blanks and quotes are its own.
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
    fn gpus_of_a_node_are_read_as_slurm_writes_them() {
        for (text, kind, count) in [("gpu", "gpu", 1), ("gpu:8", "gpu", 8), ("gpu:h200:4", "gpu:h200", 4)] {
            assert_eq!(text.parse(), Ok(Gres { kind: kind.to_owned(), count }));
        }
        for wrong in ["", "gpu:0", "gpu:x", "gpu:a:b:1", "gpu:8\n#SBATCH", "gpu: 8"] {
            assert!(wrong.parse::<Gres>().is_err(), "{wrong:?}");
        }
    }
}
