//! One run at a time on a GPU: two that measure at once would time each other.

use super::error::CampaignError;
use super::progress::Progress;
use ncugate_cuda::gpu::DeviceAttributes;
use ncugate_model::digest::sha256;
use ncugate_model::disk::{Turn, TurnOutcome};
use ncugate_model::process;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

/// How often a GPU is asked for again.
const LOOK: Duration = Duration::from_millis(500);
/// Names another folder for the locks than `/tmp`; all users of a machine have to name the same.
const FOLDER: &str = "NCUGATE_LOCKS";

/// How long to wait for a GPU on which another run measures.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GpuWait {
    /// Until it is free.
    Endless,
    Limited(Duration),
}

/// The right to measure on GPUs, taken when it is first needed and kept until this is dropped.
pub struct GpuTurn<'a> {
    gpus: Vec<LockedGpu>,
    held: Arc<Mutex<Vec<(usize, Turn)>>>,
    patience: GpuWait,
    progress: &'a (dyn Progress + Sync),
}

/// GPUs that are held before the turn on them is needed, by their number. Dropped, it lets others measure on those that the turn has not
/// taken.
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

/// A GPU, and the right to measure on it once it is taken.
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
    /// Of a GPU that is not asked for yet.
    pub fn new(device: &DeviceAttributes, patience: GpuWait, progress: &'a (dyn Progress + Sync)) -> Self {
        Self::of(std::iter::once(device), patience, progress)
    }

    /// Of several GPUs that are not asked for yet.
    pub fn of<'d>(
        devices: impl Iterator<Item = &'d DeviceAttributes>,
        patience: GpuWait,
        progress: &'a (dyn Progress + Sync),
    ) -> Self {
        let mut gpus: Vec<LockedGpu> = devices.map(LockedGpu::new).collect();
        // All runs take them in one order, so that no two wait for each other.
        gpus.sort_by(|a, b| a.path.cmp(&b.path));
        Self { gpus, held: Arc::default(), patience, progress }
    }

    /// Whether no run measures on a GPU now.
    pub fn is_free(device: &DeviceAttributes) -> bool {
        matches!(Turn::try_acquire(&LockedGpu::new(device).path), Ok(TurnOutcome::Mine(_)))
    }

    /// Waits until no other run measures on the GPUs.
    ///
    /// # Errors
    /// [`CampaignError::GpuBusy`] after as long as it may take, [`CampaignError::Interrupted`], or a lock cannot be used.
    pub fn take(&self) -> Result<(), CampaignError> {
        for (number, turn) in locked(&self.held).drain(..) {
            let _ = self.gpus[number].turn.set(turn);
        }
        let started = Instant::now();
        self.gpus.iter().try_for_each(|gpu| self.take_one(gpu, started))
    }

    /// Holds the GPUs for something short before the turn is needed, if no other run measures on any of them. The turn takes what is held.
    pub(super) fn hold(&self) -> Option<EarlyHold> {
        let mut held = Vec::new();
        for (number, gpu) in self.gpus.iter().enumerate().filter(|(_, gpu)| gpu.turn.get().is_none()) {
            match Turn::try_acquire(&gpu.path) {
                Ok(TurnOutcome::Mine(turn)) => held.push((number, turn)),
                // What speaks against it is said when the turn is needed.
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
                    .say(&format!("waiting for {}: {holder} measures on it (--wait 0 does not wait)", gpu.name));
                said = true;
            }
            std::thread::sleep(LOOK);
        }
        Ok(())
    }
}
