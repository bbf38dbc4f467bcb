//! HyperQueue: `hq submit`, `hq job list`, `hq job cancel`. Its jobs do not wait for one another, so that each stage is submitted
//! when the one before has ended. It starts tasks of a lost worker again by itself.

use super::engine::{Engine, LiveJobs, query, ranges};
use super::error::SubmitError;
use super::script::Script;
use super::stage::{ClusterJob, SubmissionStage};
use serde::Deserialize;
use std::process::Command;

#[derive(Debug, Clone)]
pub struct HyperQueue {
    /// The resource of which a task takes one (`gpus/nvidia`).
    pub resource: String,
    /// Further options of every job.
    pub options: Vec<String>,
}

/// What `hq job list` says of a job.
#[derive(Debug, Deserialize)]
struct JobListing {
    id: u64,
    task_stats: TaskStats,
}

#[derive(Debug, Deserialize)]
struct TaskStats {
    running: u64,
    waiting: u64,
}

impl Engine for HyperQueue {
    fn name(&self) -> &'static str {
        "HyperQueue"
    }

    fn has_dependencies(&self) -> bool {
        false
    }

    fn task_variable(&self) -> &'static str {
        "HQ_TASK_ID"
    }

    fn job_variable(&self) -> &'static str {
        "HQ_JOB_ID"
    }

    fn directives(&self, _: &Script<'_>) -> Vec<String> {
        Vec::new()
    }

    fn submit(&self, script: &Script<'_>, _: Option<ClusterJob>) -> Result<ClusterJob, SubmitError> {
        let output = if script.stage == SubmissionStage::Measure { "%{JOB_ID}-%{TASK_ID}" } else { "%{JOB_ID}" };
        let output = script.logs().join(format!("{}-{output}.txt", script.stage));
        let mut command = Command::new("hq");
        command.args(["--output-mode=quiet", "submit"]);
        command.arg(format!("--name=ncugate-{}-{}", script.work.phase, script.stage));
        command.arg(format!("--stderr={}", output.display()));
        command.arg(format!("--stdout={}", output.with_extension("out.txt").display()));
        if script.stage.on_gpu() {
            command.arg(format!("--resource={}=1", self.resource));
        }
        if script.stage == SubmissionStage::Measure {
            command.arg(format!("--array={}", ranges(&script.shards)));
        }
        command.args(&self.options).arg("--").arg("/bin/sh").arg(script.path());
        let said = query(&mut command)?;
        said.trim().parse().map(ClusterJob).map_err(|_| SubmitError::Engine {
            command: "hq submit".to_owned(),
            said: format!("it gave no number of a job: {}", said.trim()),
        })
    }

    fn alive(&self) -> Result<LiveJobs, SubmitError> {
        let said = query(Command::new("hq").args(["--output-mode=json", "job", "list", "--filter=running,waiting"]))?;
        let listed: Vec<JobListing> = serde_json::from_str(&said)
            .map_err(|error| SubmitError::Engine { command: "hq job list".to_owned(), said: error.to_string() })?;
        let state = |stats: &TaskStats| format!("{} running, {} waiting", stats.running, stats.waiting);
        Ok(listed.iter().map(|job| (ClusterJob(job.id), state(&job.task_stats))).collect())
    }

    fn cancel(&self, jobs: &[ClusterJob]) -> Result<(), SubmitError> {
        let list = jobs.iter().map(ClusterJob::to_string).collect::<Vec<_>>().join(",");
        query(Command::new("hq").args(["job", "cancel", &list])).map(drop)
    }
}
