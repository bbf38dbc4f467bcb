//! The GPU's clocks, temperature, power and throttling, read through NVML. The library is loaded at run time, and nothing is
//! set.

use ncugate_model::number::counted;
use ncugate_model::{EnergySource, GpuState, Throttle};
use nvml_wrapper::enum_wrappers::device::{Clock, TemperatureSensor};
use nvml_wrapper::error::NvmlError;
use nvml_wrapper::{Device, Nvml};
use std::process;
use std::sync::OnceLock;

/// Milliwatts of a watt.
const MILLI: f64 = 1e-3;
/// Most ancestors of a process that are looked at.
const ANCESTORS: usize = 16;

/// Why a slice of a GPU has no energy.
const OF_BOARD: &str = "NVML has the energy of the whole board, and this is a MIG slice";

/// The library, loaded once; or why it cannot be used.
fn library() -> Result<&'static Nvml, String> {
    static LIBRARY: OnceLock<Result<Nvml, String>> = OnceLock::new();
    LIBRARY.get_or_init(|| Nvml::init().map_err(reason)).as_ref().map_err(Clone::clone)
}

fn reason(error: NvmlError) -> String {
    format!("NVML: {error}")
}

/// A GPU that NVML knows.
#[derive(Debug)]
pub struct GpuMonitor(Device<'static>);

impl GpuMonitor {
    /// The GPU with this UUID.
    ///
    /// # Errors
    /// Why NVML cannot be used, or does not know the GPU, in words.
    pub fn open(uuid: &str) -> Result<Self, String> {
        let library = library()?;
        let found = library.device_by_uuid(uuid);
        // CUDA writes the UUID of a slice as it writes that of a GPU.
        let slice = uuid.strip_prefix("GPU-").map(|rest| format!("MIG-{rest}"));
        match slice.filter(|slice| found.is_err() && library.device_by_uuid(slice.as_str()).is_ok()) {
            Some(_) => Err(OF_BOARD.to_owned()),
            None => Ok(Self(found.map_err(reason)?)),
        }
    }

    /// The current state, in about a millisecond.
    ///
    /// # Errors
    /// A value is not available, as on a slice of a GPU.
    pub fn read(&self) -> Result<GpuState, String> {
        let device = &self.0;
        let read = || {
            Ok(GpuState {
                throttle: Throttle::of_mask(device.current_throttle_reasons()?.bits()),
                sm_mhz: device.clock_info(Clock::SM)?,
                memory_mhz: device.clock_info(Clock::Memory)?,
                celsius: device.temperature(TemperatureSensor::Gpu)?,
                watts: watts(device.power_usage()?),
            })
        };
        read().map_err(reason)
    }

    /// The current throttling.
    ///
    /// # Errors
    /// It is not available.
    pub fn throttle(&self) -> Result<Throttle, String> {
        let found = self.0.current_throttle_reasons().map_err(reason)?;
        Ok(Throttle::of_mask(found.bits()))
    }

    /// The source of the board's energy: the counter, or the power on a GPU without it.
    ///
    /// # Errors
    /// The GPU has neither, or is divided into slices.
    pub fn energy_source(&self) -> Result<EnergySource, String> {
        if self.0.mig_mode().is_ok_and(|mode| mode.current != 0) {
            return Err(OF_BOARD.to_owned());
        }
        let counter = self.0.total_energy_consumption();
        let source = match counter {
            Err(NvmlError::NotSupported | NvmlError::FailedToLoadSymbol(_)) => EnergySource::SampledPower,
            Ok(_) | Err(_) => EnergySource::Counter,
        };
        self.energy(source).map(|_| source)
    }

    /// Millijoules of the board's counter since the driver was loaded, or its power in milliwatts.
    ///
    /// # Errors
    /// It is not available.
    pub fn energy(&self, source: EnergySource) -> Result<u64, String> {
        match source {
            EnergySource::Counter => self.0.total_energy_consumption().map_err(reason),
            EnergySource::SampledPower => self.0.power_usage().map(u64::from).map_err(reason),
        }
    }

    /// Whether no other run's process is on the GPU. Where NVML lists no processes, none is noticed.
    ///
    /// # Errors
    /// The number of other processes, in words, or why they cannot be listed.
    pub fn alone(&self) -> Result<(), String> {
        let listed = match self.0.running_compute_processes() {
            Err(NvmlError::NotSupported | NvmlError::NoPermission | NvmlError::FailedToLoadSymbol(_)) => Vec::new(),
            listed => listed.map_err(reason)?,
        };
        let others = match listed.iter().any(|one| one.pid == process::id()) {
            true => listed.iter().filter(|one| !is_of_this_run(one.pid)).count(),
            // Numbers of another namespace: one is this process.
            false => listed.len().saturating_sub(1),
        };
        match others {
            0 => Ok(()),
            _ => Err(format!("{} on the GPU would be counted too", counted(others, "other process"))),
        }
    }

    /// The power limit in watts, if the GPU has one.
    pub fn power_limit(&self) -> Option<u32> {
        self.0.power_management_limit().ok().map(watts).filter(|watts| *watts > 0)
    }
}

/// Whether a process was started by the process that started this one.
fn is_of_this_run(pid: u32) -> bool {
    let Some(root) = parent_of(process::id()) else { return false };
    std::iter::successors(Some(pid), |pid| parent_of(*pid)).take(ANCESTORS).any(|pid| pid == root)
}

fn parent_of(pid: u32) -> Option<u32> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    status.lines().find_map(|line| line.strip_prefix("PPid:")?.trim().parse().ok())
}

fn watts(milliwatts: u32) -> u32 {
    (f64::from(milliwatts) * MILLI).round() as u32
}
