//! Follows a submission to its end: submits the next stage, and resubmits lost jobs.

use super::folder::{StageJobs, SubmitFolder};
use super::scheduler::{LiveJobs, Scheduler};
use super::{ClusterJob, SubmissionStage, SubmitError, Work};
use ncugate_campaign::Progress;
use ncugate_model::number::counted;
use ncugate_model::process;
use std::collections::BTreeMap;
use std::time::Duration;

/// Polls in a row without a result file from an ended job until it counts as lost: shared disks show files late.
const LOOKS: u32 = 2;
/// Failures of the scheduler in a row until it is given up.
const SILENCES: u32 = 30;
/// Number of shards named in messages.
const NAMED: usize = 8;

/// How a submission ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SubmissionOutcome {
    pub status: u8,
    /// The standard output of judging.
    pub output: String,
}

/// Follows a submission.
pub struct Follower<'a> {
    pub scheduler: &'a Scheduler,
    pub work: &'a Work,
    pub folder: &'a SubmitFolder,
    /// Number of resubmissions of each stage.
    pub retries: u32,
    /// Poll interval of the scheduler.
    pub interval: Duration,
    pub progress: &'a dyn Progress,
}

impl Follower<'_> {
    /// Submits all pending stages.
    ///
    /// # Errors
    /// The scheduler refuses, or a script cannot be written.
    pub fn begin(&self) -> Result<StageJobs, SubmitError> {
        let mut jobs = self.folder.jobs()?;
        let alive = self.scheduler.alive()?;
        let stage = self.next(&jobs);
        let goes_on = jobs.get(&stage).is_some_and(|job| alive.contains_key(job));
        if goes_on || self.judged(&jobs).is_some() {
            self.progress.say(&format!("following the submission in {}", self.folder.path().display()));
        } else {
            // A stage given up earlier is retried when the user submits again.
            self.submit(&mut jobs, stage, &alive)?;
        }
        Ok(jobs)
    }

    /// Follows until the phase is judged.
    ///
    /// # Errors
    /// A stage fails for good, the scheduler does not answer, or the user asks to stop: then every job is cancelled.
    pub fn follow(&self, mut jobs: StageJobs) -> Result<SubmissionOutcome, SubmitError> {
        let (mut gone, mut silent, mut shown, mut again) = (0, 0, String::new(), BTreeMap::new());
        loop {
            if process::interrupted() {
                return Err(self.stop(&jobs));
            }
            let alive = match self.scheduler.alive() {
                Ok(alive) => alive,
                Err(SubmitError::Scheduler { command, reason }) if silent + 1 >= SILENCES => {
                    let reason = format!(
                        "it failed {SILENCES} times in a row: {reason}; the jobs may still run, so repeat the command to follow them"
                    );
                    return Err(SubmitError::Scheduler { command, reason });
                }
                Err(SubmitError::Scheduler { .. }) => {
                    silent += 1;
                    process::sleep(self.interval);
                    continue;
                }
                Err(other) => return Err(other),
            };
            silent = 0;
            let state = self.state(&jobs, &alive);
            if state != shown {
                self.progress.say(&state);
                shown = state;
            }
            if let Some((job, status)) = self.judged(&jobs) {
                self.folder.close()?;
                return Ok(SubmissionOutcome { status, output: self.folder.judge_output(job) });
            }
            let stage = self.next(&jobs);
            match jobs.get(&stage).copied() {
                None => self.submit(&mut jobs, stage, &alive)?,
                Some(job) if alive.contains_key(&job) => gone = 0,
                Some(job) => {
                    gone += 1;
                    if gone >= LOOKS {
                        gone = 0;
                        self.note_loss(stage, job, again.entry(stage).or_default())?;
                        self.submit(&mut jobs, stage, &alive)?;
                    }
                }
            }
            process::sleep(self.interval);
        }
    }

    /// The first unfinished stage; the last if all are finished.
    fn next(&self, jobs: &StageJobs) -> SubmissionStage {
        self.work.stages().find(|stage| self.done(*stage, jobs).is_none()).unwrap_or(SubmissionStage::Judge)
    }

    /// The job that judged the phase, and its status.
    fn judged(&self, jobs: &StageJobs) -> Option<(ClusterJob, u8)> {
        let job = jobs.get(&SubmissionStage::Judge).copied()?;
        Some((job, self.done(SubmissionStage::Judge, jobs)?))
    }

    /// The status of a finished stage if the next can start.
    fn done(&self, stage: SubmissionStage, jobs: &StageJobs) -> Option<u8> {
        let status = || self.folder.status(stage, *jobs.get(&stage)?);
        match stage {
            // A variant that does not build, or that static gates refuse, is a result.
            SubmissionStage::Build | SubmissionStage::Judge => status().filter(|status| [0, 1, 4].contains(status)),
            SubmissionStage::Measure => self.folder.missing(self.work.shards).is_empty().then_some(0),
            SubmissionStage::Merge => status().filter(|status| *status == 0),
        }
    }

    /// Submits a stage, and the following ones, which wait for it.
    fn submit(&self, jobs: &mut StageJobs, from: SubmissionStage, alive: &LiveJobs) -> Result<(), SubmitError> {
        let old = jobs.split_off(&from);
        let left: Vec<ClusterJob> = old.into_values().filter(|job| alive.contains_key(job)).collect();
        if !left.is_empty() {
            self.scheduler.cancel(&left)?;
        }
        let mut after = None;
        for stage in self.work.stages().filter(|stage| *stage >= from) {
            let is_array = stage == SubmissionStage::Measure;
            let shards = if is_array { self.folder.missing(self.work.shards) } else { Vec::new() };
            self.folder.write_script(stage, self.work, self.scheduler)?;
            let job = self.scheduler.submit(stage, self.folder.path(), &shards, after)?;
            jobs.insert(stage, job);
            // Submitted jobs are stored before anything else can fail.
            self.folder.keep_jobs(jobs)?;
            after = Some(job);
        }
        Ok(())
    }

    /// Reports a job that ended without its result; an error if the resubmissions are used up.
    fn note_loss(&self, stage: SubmissionStage, job: ClusterJob, again: &mut u32) -> Result<(), SubmitError> {
        let missing = self.folder.missing(self.work.shards);
        let is_array = stage == SubmissionStage::Measure;
        // A refused merge would be refused again.
        if *again >= self.retries || (stage == SubmissionStage::Merge && self.folder.status(stage, job).is_some()) {
            let of = match is_array {
                true => format!("{} not measured: {}", counted(missing.len(), "shard"), named(&missing)),
                false => format!("job {job} has ended"),
            };
            let shard = missing.first().copied().filter(|_| is_array);
            let said = self.folder.tail(stage, job, shard).map(|said| format!(" ({said})")).unwrap_or_default();
            return Err(SubmitError::Stage { stage, reason: format!("{of}{said}"), logs: self.folder.logs() });
        }
        *again += 1;
        let lacks = if is_array { format!("shards {}", named(&missing)) } else { stage.to_string() };
        self.progress.say(&format!("job {job} ended without {lacks}; submitting again"));
        Ok(())
    }

    fn stop(&self, jobs: &StageJobs) -> SubmitError {
        let all: Vec<ClusterJob> = jobs.values().copied().collect();
        let list = all.iter().map(ClusterJob::to_string).collect::<Vec<_>>().join(", ");
        match self.scheduler.cancel(&all) {
            Ok(()) => SubmitError::Interrupted { jobs: list },
            Err(SubmitError::Scheduler { command, reason }) => {
                SubmitError::Scheduler { command, reason: format!("{reason}; jobs {list} may still run") }
            }
            Err(other) => other,
        }
    }

    /// The state of the submission, in a line.
    fn state(&self, jobs: &StageJobs, alive: &LiveJobs) -> String {
        let shards = self.work.shards;
        let measured = shards as usize - self.folder.missing(shards).len();
        let jobs = jobs.iter().map(|(stage, job)| {
            let state = alive.get(job).map_or("ended", String::as_str);
            format!("{stage} {job}: {state}")
        });
        format!("{measured} of {shards} shards measured; {}", jobs.collect::<Vec<_>>().join("; "))
    }
}

/// The first of some shards, and the number of others.
fn named(shards: &[u32]) -> String {
    let first: Vec<String> = shards.iter().take(NAMED).map(u32::to_string).collect();
    match shards.len().saturating_sub(NAMED) {
        0 => first.join(", "),
        more => format!("{} and {more} more", first.join(", ")),
    }
}
