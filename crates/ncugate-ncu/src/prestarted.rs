//! ncu started before its turn, over a program that waits for its job: it starts, and interpreters load under it, while something else
//! goes on.

use super::command::{LaunchSelection, NcuSession, Processes, argv};
use super::job::Job;
use ncugate_model::process::{LOAD_TIMEOUT, PipedChild, PrestartedChild};
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Sessions that wait for their job; clones share them.
#[derive(Debug, Clone, Default)]
pub struct PrestartedSessions(Arc<Mutex<Vec<PrestartedSession>>>);

/// An ncu whose program waits. Dropped, both are ended.
#[derive(Debug)]
pub(super) struct PrestartedSession {
    pub session: NcuSession,
    pub waiting: PrestartedChild<PipedChild>,
    /// When it has to be idle.
    deadline: Instant,
}

impl PrestartedSessions {
    /// Keeps a session that was just started; `timeout` is of a whole ncu process.
    pub(super) fn push(&self, session: NcuSession, waiting: PrestartedChild<PipedChild>, timeout: Duration) {
        let deadline = Instant::now() + timeout.min(LOAD_TIMEOUT);
        self.lock().push(PrestartedSession { session, waiting, deadline });
    }

    /// Waits until every program is idle; ends those that are not in time.
    pub fn settle(&self) {
        self.lock().retain_mut(PrestartedSession::settle);
    }

    /// The session that collects what this job wants, with ncu's locks in `scratch`, which is of one GPU; once its program is idle.
    pub(super) fn take(&self, job: &Job<'_>, scratch: &Path) -> Option<PrestartedSession> {
        let mut all = self.lock();
        let at = all.iter().position(|waiting| waiting.session.scratch == scratch && waiting.serves(job))?;
        let mut waiting = all.swap_remove(at);
        drop(all);
        waiting.settle().then_some(waiting)
    }

    /// Ends those that nobody needed.
    pub fn dismiss(&self) {
        self.lock().clear();
    }

    fn lock(&self) -> MutexGuard<'_, Vec<PrestartedSession>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl PrestartedSession {
    /// Whether it collects the very metrics of the job, of its launches at least, and runs the same program up to the job's file.
    fn serves(&self, job: &Job<'_>) -> bool {
        let metrics = |names: &[String]| names.iter().cloned().collect::<BTreeSet<String>>();
        let runs_it = match job.processes {
            // Which job it gets is its last argument.
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

    /// Whether its program is idle in time.
    fn settle(&mut self) -> bool {
        self.waiting.settle(self.deadline)
    }
}
