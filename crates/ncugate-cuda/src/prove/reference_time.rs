//! Wall time that this process spends in references and checks of outputs. Threads that wait at the same time count once.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

static TOTAL: Mutex<TimeTotal> = Mutex::new(TimeTotal { running: 0, since: None, whole: Duration::ZERO });

struct TimeTotal {
    running: u32,
    /// Since when at least one runs.
    since: Option<Instant>,
    whole: Duration,
}

/// A call that runs until it is dropped.
pub(super) struct ReferenceTimer;

impl ReferenceTimer {
    pub(super) fn start() -> Self {
        let mut spent = locked();
        spent.running += 1;
        spent.since.get_or_insert_with(Instant::now);
        Self
    }
}

impl Drop for ReferenceTimer {
    fn drop(&mut self) {
        let mut spent = locked();
        spent.running = spent.running.saturating_sub(1);
        if spent.running == 0 {
            let elapsed = spent.since.take().map_or(Duration::ZERO, |since| since.elapsed());
            spent.whole += elapsed;
        }
    }
}

/// The time so far. Calls that still run do not count.
pub fn reference_time() -> Duration {
    locked().whole
}

fn locked() -> MutexGuard<'static, TimeTotal> {
    TOTAL.lock().unwrap_or_else(PoisonError::into_inner)
}
