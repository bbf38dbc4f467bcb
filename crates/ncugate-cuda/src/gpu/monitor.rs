//! The GPU's clocks, temperature, power and throttling, read through NVML. The library is loaded at run time, and nothing is
//! set.

use ncugate_model::{GpuState, Throttle};
use nvml_wrapper::enum_wrappers::device::{Clock, TemperatureSensor};
use nvml_wrapper::error::NvmlError;
use nvml_wrapper::{Device, Nvml};
use std::sync::OnceLock;

/// Milliwatts of a watt.
const MILLI: f64 = 1e-3;

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
        library()?.device_by_uuid(uuid).map(Self).map_err(reason)
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

    /// The name of a process that uses the GPU, other than this one and those that it started.
    pub fn other_process(&self) -> Option<String> {
        let own = std::process::id();
        let others = self.0.running_compute_processes().ok()?.into_iter();
        let mut others = others.filter(|process| !is_of(own, process.pid));
        others
            .find_map(|process| std::fs::read_to_string(format!("/proc/{}/comm", process.pid)).ok())
            .map(|name| name.trim().to_owned())
    }

    /// The power limit in watts, if the GPU has one.
    pub fn power_limit(&self) -> Option<u32> {
        self.0.power_management_limit().ok().map(watts).filter(|watts| *watts > 0)
    }
}

/// Whether a process is `ancestor` or descends from it, as `/proc` shows.
fn is_of(ancestor: u32, pid: u32) -> bool {
    let parent = |pid: &u32| {
        let text = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        text.rsplit_once(") ")?.1.split(' ').nth(1)?.parse().ok().filter(|parent| *parent > 1)
    };
    std::iter::successors(Some(pid), parent).any(|pid| pid == ancestor)
}

fn watts(milliwatts: u32) -> u32 {
    (f64::from(milliwatts) * MILLI).round() as u32
}
