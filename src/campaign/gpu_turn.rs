//! One run at a time on a GPU: two that measure at once would time each other.

use super::error::CampaignError;
use super::progress::Progress;
use crate::disk::{Turn, TurnOutcome};
use crate::gpu::DeviceAttributes;
use crate::process;
use crate::store::sha256;
use std::cell::OnceCell;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// How often a GPU is asked for again.
const LOOK: Duration = Duration::from_millis(500);
/// Names another folder for the locks than `/tmp`; all users of a machine have to name the same.
const FOLDER: &str = "NCUGATE_LOCKS";

/// How long to wait for a GPU on which another run measures.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Patience {
    /// Until it is free.
    Endless,
    /// So long.
    Limited(Duration),
}

/// The right to measure on a GPU, taken when it is first needed and kept until this is dropped.
pub struct GpuTurn<'a> {
    path: PathBuf,
    gpu: String,
    patience: Patience,
    progress: &'a (dyn Progress + Sync),
    turn: OnceCell<Turn>,
}

impl<'a> GpuTurn<'a> {
    /// Of a GPU that is not asked for yet.
    pub fn new(device: &DeviceAttributes, patience: Patience, progress: &'a (dyn Progress + Sync)) -> Self {
        let uuid = device.uuid.as_deref().unwrap_or("unknown");
        let name: String = sha256(uuid.as_bytes()).chars().take(16).collect();
        let folder = std::env::var_os(FOLDER).map_or_else(|| PathBuf::from("/tmp"), PathBuf::from);
        let path = folder.join(format!("ncugate-gpu-{name}.lock"));
        Self { path, gpu: device.name.clone(), patience, progress, turn: OnceCell::new() }
    }

    /// Waits until no other run measures on the GPU.
    ///
    /// # Errors
    /// [`CampaignError::GpuBusy`] after as long as it may take, [`CampaignError::Interrupted`], or the lock cannot be used.
    pub fn take(&self) -> Result<(), CampaignError> {
        let started = Instant::now();
        let mut said = false;
        while self.turn.get().is_none() {
            let asked =
                Turn::ask(&self.path).map_err(|source| CampaignError::GpuLock { path: self.path.clone(), source })?;
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
            if let Patience::Limited(limit) = self.patience
                && started.elapsed() >= limit
            {
                return Err(CampaignError::GpuBusy { gpu: self.gpu.clone(), holder });
            }
            if !said {
                self.progress
                    .say(&format!("waiting for {}: {holder} measures on it (--wait 0 does not wait)", self.gpu));
                said = true;
            }
            std::thread::sleep(LOOK);
        }
        Ok(())
    }
}
