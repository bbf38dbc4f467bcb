//! Tools of a campaign: the GPU, nvcc, ncu, and this program as a worker.

use super::error::CampaignError;
use super::gpu_choice::{ChosenGpu, GpuChoice, choose};
use ncugate_cuda::build::{Arch, Nvcc, first_nvcc};
use ncugate_cuda::gpu::{DeviceAttributes, GpuMonitor};
use ncugate_cuda::host::{DeviceProbe, WorkerCommand, find_device};
use ncugate_judge::store::{Fingerprint, Machine};
use ncugate_model::Gpu;
use ncugate_model::digest::sha256;
use ncugate_model::process;
use ncugate_ncu::{Knobs, Ncu, ToolError};
use ncugate_phase::config::{CounterPolicy, Phase};
use std::time::Duration;

/// Opening a device takes a second; this limit catches a driver that hangs.
const PROBE_TIMEOUT: Duration = Duration::from_secs(60);

/// All measurement tools.
#[derive(Debug, Clone)]
pub struct Tools {
    pub nvcc: Nvcc,
    /// The profiler, or why it is not available.
    pub ncu: Result<Ncu, ToolError>,
    /// The GPU that measures, or confirms the shards of several.
    pub device: DeviceAttributes,
    /// The GPUs of its kind that the user chose, itself first; empty without a choice.
    pub gpus: Vec<ChosenGpu>,
    pub worker: WorkerCommand,
    /// Identity of GPU and host.
    pub machine: Machine,
}

/// Programs that print their versions while the driver is asked for devices.
#[derive(Debug, Clone)]
struct Programs {
    nvcc: Nvcc,
    ncu: Result<Ncu, ToolError>,
}

impl Programs {
    fn find(phase: &Phase) -> Result<Self, CampaignError> {
        let nvcc = || first_nvcc(phase);
        let (nvcc, ncu) = rayon::join(nvcc, || Ncu::find(phase.profile.ncu.as_deref()));
        match (ncu, phase.counting) {
            (Err(ncu), CounterPolicy::Required) => Err(match nvcc {
                Ok(_) => ncu.into(),
                Err(nvcc) => CampaignError::NoTools { missing: format!("{nvcc}\n{ncu}") },
            }),
            (ncu, _) => Ok(Self { nvcc: nvcc?, ncu }),
        }
    }
}

impl Tools {
    /// Finds all tools, or reports the missing ones.
    pub fn find(phase: &Phase) -> Result<Self, CampaignError> {
        let worker = worker()?;
        let (device, programs) = rayon::join(|| find_device(&worker, PROBE_TIMEOUT), || Programs::find(phase));
        match device? {
            DeviceProbe::Present(device) => Ok(Self::around(programs?, worker, device)),
            DeviceProbe::Absent { reason } => Err(CampaignError::NoGpu { reason }),
        }
    }

    /// Like [`Tools::find`], with the GPUs that the user chose, a set per kind.
    ///
    /// # Errors
    /// A tool or a GPU is missing, or the phase does not name the kinds of the GPUs.
    pub fn find_on(phase: &Phase, gpus: &GpuChoice) -> Result<Vec<Self>, CampaignError> {
        let worker = worker()?;
        // An earlier phase may have been measured on other GPUs.
        process::show_gpu(None);
        let chosen = || choose(gpus, &phase.groups, &worker, PROBE_TIMEOUT);
        let (chosen, programs) = rayon::join(chosen, || Programs::find(phase));
        let (chosen, programs) = (chosen?, programs?);
        let kinds = chosen.into_iter().filter_map(|gpus| {
            let device = gpus.first()?.device.clone();
            Some(Self { gpus, ..Self::around(programs.clone(), worker.clone(), device) })
        });
        let kinds: Vec<Self> = kinds.collect();
        match kinds.is_empty() {
            true => Err(CampaignError::NoGpu { reason: "no GPU was chosen".to_owned() }),
            false => Ok(kinds),
        }
    }

    /// From here on, child processes see only the measuring GPU if the user chose one, unless they are given another.
    pub fn show(&self) {
        if let Some(home) = self.gpus.first() {
            process::show_gpu(Some(&home.name));
        }
    }

    fn around(Programs { nvcc, ncu }: Programs, worker: WorkerCommand, device: DeviceAttributes) -> Self {
        Self { nvcc, ncu, machine: machine(&device), device, gpus: Vec::new(), worker }
    }

    /// The phase as it is launched on the GPU.
    pub fn on_gpu(&self, phase: &Phase) -> Phase {
        phase.clone().on_gpu(Some(self.device.sms))
    }

    /// The target architecture: the phase's, else the GPU's.
    pub fn arch(&self, phase: &Phase) -> Result<Arch, CampaignError> {
        match &phase.build.arch {
            Some(text) => Ok(text.parse()?),
            None => Ok(Arch::of(self.device.compute_capability)),
        }
    }

    /// The fingerprint that makes runs comparable.
    pub fn fingerprint(&self) -> Fingerprint {
        let knobs = Knobs::default();
        Fingerprint {
            gpu: Some(gpu(&self.device)),
            driver: self.device.driver.clone(),
            ncu: self.ncu.as_ref().ok().map(|ncu| ncu.version.to_string()),
            nvcc: Some(self.nvcc.version().to_owned()),
            machine: self.machine.clone(),
            clock_control: knobs.clock_control.as_str().to_owned(),
            cache_control: knobs.cache_control.as_str().to_owned(),
            replay_mode: knobs.replay_mode.as_str().to_owned(),
        }
    }
}

/// GPU and host as hashes: enough to distinguish two, without identifying them.
pub(super) fn machine(device: &DeviceAttributes) -> Machine {
    let hashed = |text: &str| sha256(text.as_bytes()).chars().take(16).collect::<String>();
    let host = nix::unistd::gethostname().ok().and_then(|name| name.into_string().ok());
    Machine {
        gpu: device.uuid.as_deref().map(hashed),
        host: host.as_deref().map(hashed),
        power_limit_w: device.uuid.as_deref().and_then(power_limit),
    }
}

/// The power limit of a GPU in watts, if NVML reports it.
fn power_limit(uuid: &str) -> Option<u32> {
    GpuMonitor::open(uuid).ok()?.power_limit()
}

/// A device in the form that a run stores.
pub fn gpu(device: &DeviceAttributes) -> Gpu {
    Gpu {
        name: device.name.clone(),
        compute_capability: device.compute_capability,
        sms: device.sms,
        memory: Some(device.memory),
        shared_memory_optin: Some(device.shared_memory_optin),
    }
}

/// This program under its hidden subcommand.
pub fn worker() -> Result<WorkerCommand, CampaignError> {
    let program = std::env::current_exe().map_err(|source| CampaignError::Io { what: "find this program", source })?;
    Ok(WorkerCommand::new(program, vec!["worker".to_owned()]))
}

/// The GPU, or why it is not available.
pub fn device() -> Result<Result<DeviceAttributes, String>, CampaignError> {
    device_within(PROBE_TIMEOUT)
}

/// Like [`device`], with a time limit for the driver.
pub fn device_within(limit: Duration) -> Result<Result<DeviceAttributes, String>, CampaignError> {
    Ok(match find_device(&worker()?, limit)? {
        DeviceProbe::Present(device) => Ok(device),
        DeviceProbe::Absent { reason } => Err(reason),
    })
}
