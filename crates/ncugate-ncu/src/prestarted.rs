//! Starts ncu before its turn, over a program that waits for its job. ncu starts, and interpreters load under it, during other
//! work.

use super::command::{LaunchSelection, NcuSession, Processes, argv};
use super::job::Job;
use ncugate_model::process::{LOAD_TIMEOUT, PipedChild, PrestartedChild};
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Sessions that wait for their jobs; clones share them.
#[derive(Debug, Clone, Default)]
pub struct PrestartedSessions(Arc<Mutex<Vec<PrestartedSession>>>);

/// An ncu whose program waits. Dropping it terminates both.
#[derive(Debug)]
pub(super) struct PrestartedSession {
    pub session: NcuSession,
    pub waiting: PrestartedChild<PipedChild>,
    /// Time limit for becoming idle.
    deadline: Instant,
}

impl PrestartedSessions {
    /// Adds a session that was just started; `timeout` is the limit of a whole ncu process.
    pub(super) fn push(&self, session: NcuSession, waiting: PrestartedChild<PipedChild>, timeout: Duration) {
        let deadline = Instant::now() + timeout.min(LOAD_TIMEOUT);
        self.lock().push(PrestartedSession { session, waiting, deadline });
    }

    /// Waits until every program is idle; terminates those that miss their deadline.
    pub fn settle(&self) {
        self.lock().retain_mut(PrestartedSession::settle);
    }

    /// The session that collects the metrics of this job, with ncu's locks in `scratch`, the folder of one GPU. Waits until its
    /// program is idle.
    pub(super) fn take(&self, job: &Job<'_>, scratch: &Path) -> Option<PrestartedSession> {
        let mut all = self.lock();
        let at = all.iter().position(|waiting| waiting.session.scratch == scratch && waiting.serves(job))?;
        let mut waiting = all.swap_remove(at);
        drop(all);
        waiting.settle().then_some(waiting)
    }

    /// Terminates the unused sessions.
    pub fn dismiss(&self) {
        self.lock().clear();
    }

    fn lock(&self) -> MutexGuard<'_, Vec<PrestartedSession>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl PrestartedSession {
    /// Whether it collects exactly the metrics of the job, covers at least its launches, and runs the same program apart from
    /// the job's file.
    fn serves(&self, job: &Job<'_>) -> bool {
        let metrics = |names: &[String]| names.iter().cloned().collect::<BTreeSet<String>>();
        let runs_it = match job.processes {
            // The job file is its last argument.
            Processes::Application => self.session.target.first().is_some_and(|own| own == job.target.get_program()),
            Processes::All => self.session.target == argv(job.target),
        };
        let sees_it = match (&self.session.selection, job.selection) {
            (LaunchSelection::Ranges(own), LaunchSelection::Ranges(wanted)) => {
                wanted.iter().all(|range| own.contains(range))
            }
            (own, wanted) => own == wanted,
        };
        runs_it
            && sees_it
            && self.session.detail == job.detail
            && self.session.processes == job.processes
            && metrics(&self.session.metrics) == metrics(job.metrics)
    }

    /// Waits until its program is idle; false if it misses the deadline.
    fn settle(&mut self) -> bool {
        self.waiting.settle(self.deadline)
    }
}
