//! Lets one run at a time measure on a GPU: concurrent runs would disturb each other's timings.

use super::error::CampaignError;
use super::progress::Progress;
use ncugate_cuda::gpu::DeviceAttributes;
use ncugate_model::digest::sha256;
use ncugate_model::disk::{Turn, TurnOutcome};
use ncugate_model::process;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

/// Poll interval while waiting for a GPU.
const LOOK: Duration = Duration::from_millis(500);
/// Overrides the lock folder `/tmp`; all users of a machine must set the same.
const FOLDER: &str = "NCUGATE_LOCKS";

/// How long to wait for a GPU on which another run measures.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GpuWait {
    /// Until the GPU is free.
    Endless,
    Limited(Duration),
}

/// The right to measure on a GPU, acquired on first need and held until drop.
pub struct GpuTurn<'a> {
    /// The lock of the GPU.
    path: PathBuf,
    name: String,
    turn: OnceLock<Turn>,
    held: Arc<Mutex<Option<Turn>>>,
    patience: GpuWait,
    progress: &'a (dyn Progress + Sync),
}

/// A GPU held before the turn needs it. Drop releases it if the turn has not taken it.
#[derive(Debug)]
pub(super) struct EarlyHold(Arc<Mutex<Option<Turn>>>);

impl Drop for EarlyHold {
    fn drop(&mut self) {
        locked(&self.0).take();
    }
}

fn locked(held: &Mutex<Option<Turn>>) -> MutexGuard<'_, Option<Turn>> {
    held.lock().unwrap_or_else(PoisonError::into_inner)
}

fn lock_path(device: &DeviceAttributes) -> PathBuf {
    let uuid = device.uuid.as_deref().unwrap_or("unknown");
    let name: String = sha256(uuid.as_bytes()).chars().take(16).collect();
    let folder = std::env::var_os(FOLDER).map_or_else(|| PathBuf::from("/tmp"), PathBuf::from);
    folder.join(format!("ncugate-gpu-{name}.lock"))
}

impl<'a> GpuTurn<'a> {
    /// A turn, not taken yet.
    pub fn new(device: &DeviceAttributes, patience: GpuWait, progress: &'a (dyn Progress + Sync)) -> Self {
        Self::at(lock_path(device), &device.name, patience, progress)
    }

    /// A turn on the GPU with this lock, not taken yet.
    pub(super) fn at(path: PathBuf, name: &str, patience: GpuWait, progress: &'a (dyn Progress + Sync)) -> Self {
        Self { path, name: name.to_owned(), turn: OnceLock::new(), held: Arc::default(), patience, progress }
    }

    /// Whether no run is measuring on a GPU.
    pub fn is_free(device: &DeviceAttributes) -> bool {
        matches!(Turn::try_acquire(&lock_path(device)), Ok(TurnOutcome::Mine(_)))
    }

    /// Holds the GPU for a short task before the turn is needed, if no other run measures on it. The turn takes over a
    /// held GPU.
    pub(super) fn hold(&self) -> Option<EarlyHold> {
        if self.turn.get().is_none() {
            match Turn::try_acquire(&self.path) {
                Ok(TurnOutcome::Mine(turn)) => *locked(&self.held) = Some(turn),
                // `take` reports the reason later.
                Ok(TurnOutcome::Taken(_)) | Err(_) => return None,
            }
        }
        Some(EarlyHold(Arc::clone(&self.held)))
    }

    /// Waits until no other run measures on the GPU.
    ///
    /// # Errors
    /// [`CampaignError::GpuBusy`] when the patience ends, [`CampaignError::Interrupted`], or the lock cannot be used.
    pub fn take(&self) -> Result<(), CampaignError> {
        if let Some(turn) = locked(&self.held).take() {
            let _ = self.turn.set(turn);
        }
        let (started, mut said) = (Instant::now(), false);
        while self.turn.get().is_none() {
            let asked = Turn::try_acquire(&self.path)
                .map_err(|source| CampaignError::GpuLock { path: self.path.clone(), source })?;
            let holder = match asked {
                TurnOutcome::Mine(turn) => {
                    let _ = self.turn.set(turn);
                    return Ok(());
                }
                TurnOutcome::Taken(Some(owner)) => owner.to_string(),
                TurnOutcome::Taken(None) => format!("a process that holds {}", self.path.display()),
            };
            if process::interrupted() {
                return Err(CampaignError::Interrupted);
            }
            if let GpuWait::Limited(limit) = self.patience
                && started.elapsed() >= limit
            {
                return Err(CampaignError::GpuBusy { gpu: self.name.clone(), holder });
            }
            if !said {
                self.progress
                    .say(&format!("waiting for {}: {holder} measures on it (--wait 0 fails at once)", self.name));
                said = true;
            }
            std::thread::sleep(LOOK);
        }
        Ok(())
    }
}
