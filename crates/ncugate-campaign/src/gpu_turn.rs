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

/// The right to measure on GPUs, acquired on first need and held until drop.
pub struct GpuTurn<'a> {
    gpus: Vec<LockedGpu>,
    held: Arc<Mutex<Vec<(usize, Turn)>>>,
    patience: GpuWait,
    progress: &'a (dyn Progress + Sync),
}

/// GPUs held before the turn needs them, by index. Drop releases those that the turn has not taken.
#[derive(Debug)]
pub(super) struct EarlyHold(Arc<Mutex<Vec<(usize, Turn)>>>);

impl Drop for EarlyHold {
    fn drop(&mut self) {
        locked(&self.0).clear();
    }
}

fn locked(held: &Mutex<Vec<(usize, Turn)>>) -> MutexGuard<'_, Vec<(usize, Turn)>> {
    held.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A GPU and its lock, if taken.
struct LockedGpu {
    path: PathBuf,
    name: String,
    turn: OnceLock<Turn>,
}

impl LockedGpu {
    fn new(device: &DeviceAttributes) -> Self {
        let uuid = device.uuid.as_deref().unwrap_or("unknown");
        let name: String = sha256(uuid.as_bytes()).chars().take(16).collect();
        let folder = std::env::var_os(FOLDER).map_or_else(|| PathBuf::from("/tmp"), PathBuf::from);
        let path = folder.join(format!("ncugate-gpu-{name}.lock"));
        Self { path, name: device.name.clone(), turn: OnceLock::new() }
    }
}

impl<'a> GpuTurn<'a> {
    /// A turn on one GPU, not taken yet.
    pub fn new(device: &DeviceAttributes, patience: GpuWait, progress: &'a (dyn Progress + Sync)) -> Self {
        Self::of(std::iter::once(device), patience, progress)
    }

    /// A turn on several GPUs, not taken yet.
    pub fn of<'d>(
        devices: impl Iterator<Item = &'d DeviceAttributes>,
        patience: GpuWait,
        progress: &'a (dyn Progress + Sync),
    ) -> Self {
        let mut gpus: Vec<LockedGpu> = devices.map(LockedGpu::new).collect();
        // All runs take locks in the same order, which prevents deadlock.
        gpus.sort_by(|a, b| a.path.cmp(&b.path));
        Self { gpus, held: Arc::default(), patience, progress }
    }

    /// Whether no run is measuring on a GPU.
    pub fn is_free(device: &DeviceAttributes) -> bool {
        matches!(Turn::try_acquire(&LockedGpu::new(device).path), Ok(TurnOutcome::Mine(_)))
    }

    /// Waits until no other run measures on the GPUs.
    ///
    /// # Errors
    /// [`CampaignError::GpuBusy`] when the patience ends, [`CampaignError::Interrupted`], or a lock cannot be used.
    pub fn take(&self) -> Result<(), CampaignError> {
        for (number, turn) in locked(&self.held).drain(..) {
            let _ = self.gpus[number].turn.set(turn);
        }
        let started = Instant::now();
        self.gpus.iter().try_for_each(|gpu| self.take_one(gpu, started))
    }

    /// Holds the GPUs for a short task before the turn is needed, if no other run measures on any of them. The turn
    /// takes over held GPUs.
    pub(super) fn hold(&self) -> Option<EarlyHold> {
        let mut held = Vec::new();
        for (number, gpu) in self.gpus.iter().enumerate().filter(|(_, gpu)| gpu.turn.get().is_none()) {
            match Turn::try_acquire(&gpu.path) {
                Ok(TurnOutcome::Mine(turn)) => held.push((number, turn)),
                // `take` reports the reason later.
                Ok(TurnOutcome::Taken(_)) | Err(_) => return None,
            }
        }
        locked(&self.held).extend(held);
        Some(EarlyHold(Arc::clone(&self.held)))
    }

    fn take_one(&self, gpu: &LockedGpu, started: Instant) -> Result<(), CampaignError> {
        let mut said = false;
        while gpu.turn.get().is_none() {
            let asked = Turn::try_acquire(&gpu.path)
                .map_err(|source| CampaignError::GpuLock { path: gpu.path.clone(), source })?;
            let holder = match asked {
                TurnOutcome::Mine(turn) => {
                    let _ = gpu.turn.set(turn);
                    return Ok(());
                }
                TurnOutcome::Taken(Some(owner)) => owner.to_string(),
                TurnOutcome::Taken(None) => format!("a process that holds {}", gpu.path.display()),
            };
            if process::interrupted() {
                return Err(CampaignError::Interrupted);
            }
            if let GpuWait::Limited(limit) = self.patience
                && started.elapsed() >= limit
            {
                return Err(CampaignError::GpuBusy { gpu: gpu.name.clone(), holder });
            }
            if !said {
                self.progress
                    .say(&format!("waiting for {}: {holder} measures on it (--wait 0 fails at once)", gpu.name));
                said = true;
            }
            std::thread::sleep(LOOK);
        }
        Ok(())
    }
}
