//! Follows a submission to its end: submits what is next, and again what was lost.

use super::engine::{Engine, LiveJobs};
use super::error::SubmitError;
use super::folder::{Submission, SubmitFolder};
use super::script::Script;
use super::stage::{ClusterJob, SubmissionStage, Work};
use ncugate_campaign::Progress;
use ncugate_model::number::counted;
use ncugate_model::process;
use std::time::Duration;

/// Looks in a row at which a job has ended and left no file before it counts as lost: a shared disk shows files late.
const LOOKS: u32 = 2;
/// Failures of the engine in a row before it is given up.
const SILENCES: u32 = 30;
/// Shards that are named.
const NAMED: usize = 8;

/// How often each stage is submitted again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Retries(pub u32);

/// How a submission ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SubmissionOutcome {
    pub status: u8,
    pub said: String,
}

/// A submission that is followed.
pub struct Follower<'a> {
    pub engine: &'a dyn Engine,
    pub work: &'a Work,
    pub folder: &'a SubmitFolder,
    /// How often each stage is submitted again.
    pub retries: Retries,
    /// How often the engine is asked.
    pub interval: Duration,
    /// What the user sees meanwhile.
    pub progress: &'a dyn Progress,
}

enum Step {
    /// The stage has to be submitted.
    Submit(SubmissionStage),
    /// A job goes on.
    Wait,
    /// A job of this stage has ended, and what it should leave is not there.
    Gone(SubmissionStage, ClusterJob),
    /// The phase is judged.
    Judged(ClusterJob, u8),
}

impl Follower<'_> {
    /// Submits what is not submitted: all of it, where jobs can wait for one another.
    ///
    /// # Errors
    /// The engine refuses, or a script cannot be written.
    pub fn begin(&self) -> Result<Submission, SubmitError> {
        let mut submission = self.folder.submission()?.unwrap_or_default();
        submission.engine = self.engine.name().to_owned();
        submission.again.clear();
        let alive = self.engine.alive()?;
        match self.step(&submission, &alive) {
            // What was given up before is tried again when the user asks again.
            Step::Submit(stage) | Step::Gone(stage, _) => self.submit(&mut submission, stage, &alive)?,
            Step::Wait | Step::Judged(..) => {
                self.progress.say(&format!("following the submission in {}", self.folder.path().display()));
            }
        }
        Ok(submission)
    }

    /// Follows until the phase is judged.
    ///
    /// # Errors
    /// A stage fails for good, the engine does not answer, or the user asks to stop: then every job is cancelled.
    pub fn follow(&self, mut submission: Submission) -> Result<SubmissionOutcome, SubmitError> {
        let (mut gone, mut silent, mut shown) = (0, 0, String::new());
        loop {
            if process::interrupted() {
                return Err(self.stop(&submission));
            }
            let alive = match self.engine.alive() {
                Ok(alive) => alive,
                Err(SubmitError::Engine { command, said }) => {
                    silent += 1;
                    if silent >= SILENCES {
                        return Err(SubmitError::Silent { command, times: silent, said });
                    }
                    process::sleep(self.interval);
                    continue;
                }
                Err(other) => return Err(other),
            };
            silent = 0;
            let state = self.state(&submission, &alive);
            if state != shown {
                self.progress.say(&state);
                shown = state;
            }
            match self.step(&submission, &alive) {
                Step::Judged(job, status) => {
                    self.folder.close()?;
                    return Ok(SubmissionOutcome { status, said: self.folder.judge_output(job) });
                }
                Step::Submit(stage) => self.submit(&mut submission, stage, &alive)?,
                Step::Gone(stage, job) => {
                    gone += 1;
                    if gone >= LOOKS {
                        gone = 0;
                        self.again(&mut submission, stage, job, &alive)?;
                    }
                }
                Step::Wait => gone = 0,
            }
            process::sleep(self.interval);
        }
    }

    /// The first thing that is not done.
    fn step(&self, submission: &Submission, alive: &LiveJobs) -> Step {
        let mut judged = None;
        for stage in self.work.stages() {
            let job = submission.jobs.get(&stage).copied();
            match (self.done(stage, job), job) {
                (Some(status), Some(job)) if stage == SubmissionStage::Judge => judged = Some((job, status)),
                (Some(_), _) => {}
                (None, Some(job)) if alive.contains_key(&job) => return Step::Wait,
                (None, Some(job)) => return Step::Gone(stage, job),
                (None, None) => return Step::Submit(stage),
            }
        }
        judged.map_or(Step::Submit(SubmissionStage::Judge), |(job, status)| Step::Judged(job, status))
    }

    /// The status of a stage that has done what the next needs.
    fn done(&self, stage: SubmissionStage, job: Option<ClusterJob>) -> Option<u8> {
        let status = || self.folder.status(stage, job?);
        match stage {
            // A variant that does not build, or that static gates refuse, is a result.
            SubmissionStage::Build | SubmissionStage::Judge => status().filter(|status| [0, 1, 4].contains(status)),
            SubmissionStage::Measure => self.folder.missing(self.work).is_empty().then_some(0),
            SubmissionStage::Merge => status().filter(|status| *status == 0),
        }
    }

    /// Submits a stage, and those after it where they can wait for it.
    fn submit(&self, submission: &mut Submission, from: SubmissionStage, alive: &LiveJobs) -> Result<(), SubmitError> {
        let later: Vec<SubmissionStage> = self.work.stages().filter(|stage| *stage >= from).collect();
        let old: Vec<ClusterJob> = later.iter().filter_map(|stage| submission.jobs.remove(stage)).collect();
        let left: Vec<ClusterJob> = old.into_iter().filter(|job| alive.contains_key(job)).collect();
        if !left.is_empty() {
            self.engine.cancel(&left)?;
        }
        let mut after = None;
        for stage in later {
            let shards = if stage == SubmissionStage::Measure { self.folder.missing(self.work) } else { Vec::new() };
            let script = Script { stage, work: self.work, folder: self.folder.path(), shards };
            self.folder.write_script(&script, self.engine)?;
            let job = self.engine.submit(&script, after)?;
            submission.jobs.insert(stage, job);
            // What is submitted is known before anything else can fail.
            self.folder.keep(submission)?;
            if !self.engine.has_dependencies() {
                break;
            }
            after = Some(job);
        }
        Ok(())
    }

    /// Submits again what a job did not do, unless that was tried often enough.
    fn again(
        &self,
        submission: &mut Submission,
        stage: SubmissionStage,
        job: ClusterJob,
        alive: &LiveJobs,
    ) -> Result<(), SubmitError> {
        let missing = self.folder.missing(self.work);
        let shard = missing.first().copied().filter(|_| stage == SubmissionStage::Measure);
        let tried = submission.again.entry(stage).or_default();
        // A merge that refuses would refuse again.
        if *tried >= self.retries.0 || (stage == SubmissionStage::Merge && self.folder.status(stage, job).is_some()) {
            let of = match stage {
                SubmissionStage::Measure => {
                    format!("{} not measured: {}", counted(missing.len(), "shard"), named(&missing))
                }
                _ => format!("job {job} has ended"),
            };
            let said = self.folder.tail(stage, job, shard).map(|said| format!(" ({said})")).unwrap_or_default();
            return Err(SubmitError::Failed { stage, reason: format!("{of}{said}"), logs: self.folder.logs() });
        }
        *tried += 1;
        let what = match stage {
            SubmissionStage::Measure => format!("shards {}", named(&missing)),
            _ => stage.to_string(),
        };
        self.progress.say(&format!("job {job} has ended without {what}; submitting again"));
        self.submit(submission, stage, alive)
    }

    fn stop(&self, submission: &Submission) -> SubmitError {
        let jobs: Vec<ClusterJob> = submission.jobs.values().copied().collect();
        let list = jobs.iter().map(ClusterJob::to_string).collect::<Vec<_>>().join(", ");
        match self.engine.cancel(&jobs) {
            Ok(()) => SubmitError::Interrupted { cancelled: format!("jobs {list}") },
            Err(SubmitError::Engine { command, said }) => {
                SubmitError::Engine { command, said: format!("{said}; jobs {list} may go on") }
            }
            Err(other) => other,
        }
    }

    /// Where the submission is, in a line.
    fn state(&self, submission: &Submission, alive: &LiveJobs) -> String {
        let measured = self.work.shards as usize - self.folder.missing(self.work).len();
        let jobs = self.work.stages().filter_map(|stage| {
            let job = submission.jobs.get(&stage)?;
            Some(format!("{stage} {job}: {}", alive.get(job).map_or("ended", String::as_str)))
        });
        let jobs = jobs.collect::<Vec<_>>().join("; ");
        format!("{measured} of {} shards measured; {jobs}", self.work.shards)
    }
}

/// The first of some shards, and how many more.
fn named(shards: &[u32]) -> String {
    let first: Vec<String> = shards.iter().take(NAMED).map(u32::to_string).collect();
    match shards.len().saturating_sub(NAMED) {
        0 => first.join(", "),
        more => format!("{} and {more} more", first.join(", ")),
    }
}
