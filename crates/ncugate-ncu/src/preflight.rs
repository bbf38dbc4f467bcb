//! Requirements for measuring: facts about the machine, and checks of them. Gathering reads the machine; checking is pure.

use super::tool::{Ncu, NcuVersion, ToolError};
use ncugate_model::ComputeMode;
use ncugate_model::Gpu;
use ncugate_model::GpuState;
use serde::Serialize;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Bit of CAP_SYS_ADMIN in a capability mask.
const CAP_SYS_ADMIN: u64 = 1 << 21;
/// The first ncu known to refuse drivers older than [`NEWER_DRIVER`].
const STRICTER_NCU: NcuVersion = NcuVersion([2025, 3, 0, 0]);
/// The driver branch that it is known to accept.
const NEWER_DRIVER: u32 = 580;

/// ncu versions on chips for which others have reported wrong counters. Nothing of it was seen by ncugate itself.
struct ReportedDefect {
    /// Year and release of ncu (`2026.2`).
    ncu: [u32; 2],
    /// Major compute capability.
    major: u32,
    defect: &'static str,
    advice: &'static str,
}

/// gpu-mode/kernelbot#530: the same capture on a B200 had NaN with 2026.2 of CUDA 13.3, and numbers with 2025.2.1.
const REPORTED: [ReportedDefect; 1] = [ReportedDefect {
    ncu: [2026, 2],
    major: 10,
    defect: "many counters were NaN",
    advice: "a NaN is never judged: gates on it are inconclusive; Nsight Compute 2025.2.1 had numbers (`ncu` under [profile])",
}];

/// Result of a check.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum CheckStatus {
    Ok,
    /// Measuring works, with a caveat.
    Warning,
    /// Measuring does not work.
    Problem,
}

/// One line of the doctor's table.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Check {
    /// Subject of the check.
    pub name: &'static str,
    /// Its result.
    pub status: CheckStatus,
    pub found: String,
    /// Recommended action; empty if none is necessary.
    pub advice: String,
}

/// The GPU as the CUDA driver shows it.
#[derive(Debug, Clone, PartialEq)]
pub struct VisibleGpu {
    /// The GPU for measuring.
    pub gpu: Gpu,
    /// Number of visible GPUs.
    pub count: u32,
    /// The newest CUDA version that the driver supports, major and minor.
    pub cuda: (u32, u32),
    /// How many processes can use it at the same time.
    pub compute_mode: ComputeMode,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CompilerFacts {
    pub path: PathBuf,
    /// Its version (`13.0.88`).
    pub version: String,
}

/// Privileges of this process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Privileges {
    /// Effective user id.
    pub user: u32,
    /// Whether CAP_SYS_ADMIN is effective.
    pub sys_admin: bool,
}

/// One of ncu's lock files in the temporary folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LockFile {
    pub path: PathBuf,
    /// Its owner's user id.
    pub owner: u32,
}

/// All facts for the checks. `Err` gives the reason for a missing fact.
#[derive(Debug, Clone, PartialEq)]
pub struct Facts {
    pub device: Result<VisibleGpu, String>,
    /// Version of the kernel module (`580.159.04`), if one is loaded.
    pub driver: Option<String>,
    pub nvcc: Result<CompilerFacts, String>,
    pub ncu: Result<Ncu, ToolError>,
    /// Whether the driver reserves counters for administrators; `None` if it does not report that.
    pub admin_only: Option<bool>,
    /// Privileges of this process.
    pub privileges: Privileges,
    /// The folder for ncu's locks and sockets, or why no folder is usable.
    pub scratch: Result<PathBuf, String>,
    /// ncu's locks in the shared temporary folder.
    pub locks: Vec<LockFile>,
    /// Result of counting one counter of one launch, if that was tried: the count, or the error.
    pub trial: Option<Result<f64, String>>,
    /// The CUPTI that traces launches if ncu has no counter permission, or why none was found. Not searched for without a GPU.
    pub cupti: Option<Result<String, String>>,
    /// The GPU's state by NVML, or why it is not available. Not read without a GPU.
    pub nvml: Option<Result<GpuState, String>>,
    /// Environment variables that affect measurements, with their values.
    pub environment: Vec<(String, String)>,
}

/// Variables that change the visible GPUs or their behaviour.
const TELLING_VARIABLES: [&str; 5] = [
    "CUDA_VISIBLE_DEVICES",
    "NVIDIA_VISIBLE_DEVICES",
    "CUDA_MPS_PIPE_DIRECTORY",
    "CUDA_MPS_ACTIVE_THREAD_PERCENTAGE",
    "CUDA_INJECTION64_PATH",
];

impl Facts {
    /// Gathers the facts of this machine; the caller has found device and compiler.
    pub fn gather(
        device: Result<VisibleGpu, String>,
        nvcc: Result<CompilerFacts, String>,
        ncu: Result<Ncu, ToolError>,
    ) -> Self {
        let read = |path: &str| fs::read_to_string(path).ok();
        let status = read("/proc/self/status").unwrap_or_default();
        let environment = TELLING_VARIABLES.iter().filter_map(|&name| {
            std::env::var(name).ok().filter(|value| !value.is_empty()).map(|value| (name.to_owned(), value))
        });
        Self {
            device,
            driver: read("/proc/driver/nvidia/version").and_then(|text| parse_driver(&text)),
            nvcc,
            ncu,
            admin_only: read("/proc/driver/nvidia/params").and_then(|text| parse_admin_only(&text)),
            privileges: parse_privileges(&status),
            scratch: ncugate_model::disk::scratch_folder(None).map_err(|error| error.to_string()),
            locks: locks_in(&std::env::temp_dir()),
            trial: None,
            cupti: None,
            nvml: None,
            environment: environment.collect(),
        }
    }
}

/// `580.159.04` in `NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.159.04  Release Build ...`.
fn parse_driver(text: &str) -> Option<String> {
    let line = text.lines().find(|line| line.starts_with("NVRM version:"))?;
    let version = |word: &&str| word.contains('.') && word.chars().all(|c| c.is_ascii_digit() || c == '.');
    line.split_whitespace().find(version).map(str::to_owned)
}

/// `RmProfilingAdminOnly: 1` in the module's parameters.
fn parse_admin_only(text: &str) -> Option<bool> {
    let value = text.lines().find_map(|line| line.strip_prefix("RmProfilingAdminOnly:"))?;
    Some(value.trim() != "0")
}

/// Effective user and capabilities in `/proc/self/status`.
fn parse_privileges(status: &str) -> Privileges {
    let field = |name: &str| status.lines().find_map(|line| line.strip_prefix(name));
    let user = field("Uid:").and_then(|ids| ids.split_whitespace().nth(1)?.parse().ok());
    let mask = field("CapEff:").and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0);
    Privileges { user: user.unwrap_or(u32::MAX), sys_admin: mask & CAP_SYS_ADMIN != 0 }
}

/// ncu's locks below `folder`: one file for the host (older versions) or one per GPU (newer versions).
fn locks_in(folder: &Path) -> Vec<LockFile> {
    let newer = fs::read_dir(folder.join("nvidia/nsight_compute")).into_iter().flatten().flatten();
    let candidates = newer.map(|entry| entry.path()).chain([folder.join("nsight-compute-lock"), folder.join("nvidia")]);
    candidates
        .filter_map(|path| fs::symlink_metadata(&path).ok().map(|found| LockFile { owner: found.uid(), path }))
        .collect()
}

/// All checks, in display order.
pub fn doctor(facts: &Facts) -> Vec<Check> {
    let checks = [
        Some(check_device(facts)),
        check_compute_mode(facts),
        Some(check_driver(facts)),
        Some(check_nvcc(facts)),
        Some(check_ncu(facts)),
        check_nvcc_fits(facts),
        check_ncu_fits(facts),
        check_reported(facts),
        Some(check_permission(facts)),
        check_trial(facts),
        check_cupti(facts),
        check_nvml(facts),
        Some(check_scratch(facts)),
        check_locks(facts),
        Some(check_environment(facts)),
    ];
    checks.into_iter().flatten().collect()
}

fn ok(name: &'static str, found: String) -> Check {
    Check { name, status: CheckStatus::Ok, found, advice: String::new() }
}

fn warning(name: &'static str, found: String, advice: &str) -> Check {
    Check { name, status: CheckStatus::Warning, found, advice: advice.to_owned() }
}

fn problem(name: &'static str, found: String, advice: &str) -> Check {
    Check { name, status: CheckStatus::Problem, found, advice: advice.to_owned() }
}

fn check_device(facts: &Facts) -> Check {
    match &facts.device {
        Ok(device) => {
            let more = if device.count > 1 { format!(", first of {}", device.count) } else { String::new() };
            let found = {
                let gpu = &device.gpu;
                format!("{}, compute capability {}, {} SMs{more}", gpu.name, gpu.compute_capability, gpu.sms)
            };
            ok("GPU", found)
        }
        Err(reason) => problem(
            "GPU",
            reason.clone(),
            "this machine cannot measure, but it can judge recorded runs (`--source recorded`)",
        ),
    }
}

fn check_compute_mode(facts: &Facts) -> Option<Check> {
    let name = "compute mode";
    match facts.device.as_ref().ok()?.compute_mode {
        ComputeMode::Default => None,
        ComputeMode::ExclusiveProcess => Some(warning(
            name,
            "only one process at a time can use the GPU".to_owned(),
            "runs take some seconds longer, because no process starts early",
        )),
        ComputeMode::Prohibited => Some(problem(
            name,
            "no process can use the GPU".to_owned(),
            "choose another GPU, or ask an administrator for `nvidia-smi -c DEFAULT`",
        )),
    }
}

fn check_driver(facts: &Facts) -> Check {
    match (&facts.driver, &facts.device) {
        (Some(version), Ok(device)) => {
            let (major, minor) = device.cuda;
            ok("driver", format!("{version}, CUDA up to {major}.{minor}"))
        }
        (Some(version), Err(_)) => warning(
            "driver",
            format!("{version}, but no usable GPU"),
            "start a container with `--gpus all`; otherwise see `nvidia-smi`",
        ),
        (None, Ok(device)) => {
            let (major, minor) = device.cuda;
            let found = format!("CUDA up to {major}.{minor}, version unknown");
            warning("driver", found, "cannot read /proc/driver/nvidia/version; runs will not record the driver")
        }
        (None, Err(_)) => problem("driver", "no NVIDIA kernel module".to_owned(), "install the NVIDIA driver"),
    }
}

fn check_nvcc(facts: &Facts) -> Check {
    match &facts.nvcc {
        Ok(nvcc) => ok("nvcc", format!("{} at {}", nvcc.version, nvcc.path.display())),
        Err(reason) => problem("nvcc", reason.clone(), "install the CUDA toolkit, or set `nvcc` under [build]"),
    }
}

fn check_ncu(facts: &Facts) -> Check {
    match &facts.ncu {
        Ok(ncu) => ok("ncu", format!("{} at {}", ncu.version, ncu.path.display())),
        Err(error) => {
            problem("ncu", error.to_string(), "this machine can still read and judge reports of other machines")
        }
    }
}

/// A driver runs code for its own CUDA major version and older ones.
fn check_nvcc_fits(facts: &Facts) -> Option<Check> {
    let (Ok(device), Ok(nvcc)) = (&facts.device, &facts.nvcc) else { return None };
    let mut numbers = nvcc.version.split('.').map(|part| part.parse::<u32>().ok());
    let built = (numbers.next()??, numbers.next()??);
    let name = "nvcc and driver";
    let found = format!("nvcc {}.{}, driver up to CUDA {}.{}", built.0, built.1, device.cuda.0, device.cuda.1);
    Some(if built.0 > device.cuda.0 {
        problem(name, found, "update the driver, or build with an older CUDA toolkit")
    } else if built > device.cuda {
        warning(name, found, "machine code for this GPU runs, but PTX of this nvcc does not; set `arch` explicitly")
    } else {
        ok(name, found)
    })
}

fn check_ncu_fits(facts: &Facts) -> Option<Check> {
    let (Ok(ncu), Some(driver)) = (&facts.ncu, &facts.driver) else { return None };
    let branch: u32 = driver.split('.').next()?.parse().ok()?;
    let name = "ncu and driver";
    let found = format!("ncu {}, driver {driver}", ncu.version);
    Some(if ncu.version >= STRICTER_NCU && branch < NEWER_DRIVER {
        let advice = "this ncu rejects the driver (\"Cuda driver is not compatible with Nsight Compute\"); use Nsight Compute 2025.2 or older, or update the driver to 580 or newer";
        problem(name, found, advice)
    } else {
        ok(name, found)
    })
}

/// A combination of ncu and chip that others have reported as broken.
fn check_reported(facts: &Facts) -> Option<Check> {
    let (Ok(ncu), Ok(device)) = (&facts.ncu, &facts.device) else { return None };
    let (NcuVersion([year, release, ..]), capability) = (ncu.version, device.gpu.compute_capability);
    let known = REPORTED.iter().find(|known| known.ncu == [year, release] && known.major == capability.major)?;
    let found = format!("ncu {}, compute capability {capability}: others report that {}", ncu.version, known.defect);
    Some(warning("ncu and GPU", found, known.advice))
}

/// Versions and kinds of everything that measurements depend on, in one line for an issue. It has no name of a host, user or
/// folder, and no UUID.
pub fn fingerprint(facts: &Facts) -> String {
    let unknown = || "none".to_owned();
    let gpu = facts.device.as_ref().map_or_else(
        |_| "no GPU".to_owned(),
        |device| {
            let Gpu { name, compute_capability, sms, .. } = &device.gpu;
            format!("{name} ({compute_capability}, {sms} SMs)")
        },
    );
    let cuda =
        facts.device.as_ref().map_or_else(|_| unknown(), |device| format!("{}.{}", device.cuda.0, device.cuda.1));
    let counters = match (facts.admin_only, facts.privileges.sys_admin) {
        (Some(false), _) => "for all users",
        (Some(true), true) => "for administrators, as this user",
        (Some(true), false) => "for administrators only",
        (None, _) => "unknown",
    };
    [
        format!("ncugate {}", env!("CARGO_PKG_VERSION")),
        gpu,
        format!("driver {}", facts.driver.clone().unwrap_or_else(unknown)),
        format!("CUDA {cuda}"),
        format!("nvcc {}", facts.nvcc.as_ref().map_or_else(|_| unknown(), |nvcc| nvcc.version.clone())),
        format!("ncu {}", facts.ncu.as_ref().map_or_else(|_| unknown(), |ncu| ncu.version.to_string())),
        format!("counters {counters}"),
        format!("{} {}", std::env::consts::OS, std::env::consts::ARCH),
    ]
    .join("; ")
}

fn check_permission(facts: &Facts) -> Check {
    let name = "counter permission";
    let Privileges { user, sys_admin } = facts.privileges;
    let who = match (user, sys_admin) {
        (0, true) => "root".to_owned(),
        (0, false) => "root without CAP_SYS_ADMIN".to_owned(),
        (user, true) => format!("user {user} with CAP_SYS_ADMIN"),
        (user, false) => format!("user {user} without CAP_SYS_ADMIN"),
    };
    let advice = "run as root or with CAP_SYS_ADMIN (containers: --cap-add=SYS_ADMIN), or load the driver on the host with NVreg_RestrictProfilingToAdminUsers=0";
    match (facts.admin_only, sys_admin) {
        (Some(false), _) => ok(name, "all users can read counters".to_owned()),
        (Some(true), true) => ok(name, format!("administrators only; this is {who}")),
        (Some(true), false) => problem(name, format!("administrators only; this is {who}"), advice),
        (None, true) => ok(name, format!("unknown; this is {who}")),
        (None, false) => warning(name, format!("unknown; this is {who}"), advice),
    }
}

/// A trial is stronger evidence than the system's settings.
fn check_trial(facts: &Facts) -> Option<Check> {
    let name = "one counter";
    Some(match facts.trial.as_ref()? {
        Ok(count) => ok(name, format!("counted {count} instructions of a test kernel")),
        Err(reason) => problem(name, reason.clone(), "latencies and correctness can still be measured"),
    })
}

/// The substitute for ncu without counter permission.
fn check_cupti(facts: &Facts) -> Option<Check> {
    let name = "CUPTI";
    let counts = facts.ncu.is_ok() && check_permission(facts).status == CheckStatus::Ok;
    Some(match facts.cupti.as_ref()? {
        Ok(found) if counts => ok(name, found.clone()),
        Ok(found) => ok(name, format!("{found}, the witness of latencies without counter permission")),
        Err(reason) if counts => ok(name, format!("{reason}; not needed, because ncu has counter permission")),
        Err(reason) => {
            let advice = "install libcupti from the CUDA toolkit (extras/CUPTI) or the package nvidia-cuda-cupti; without counter permission it is the witness of latencies";
            warning(name, reason.clone(), advice)
        }
    })
}

/// The witness of the GPU's clocks.
fn check_nvml(facts: &Facts) -> Option<Check> {
    let name = "NVML";
    Some(match facts.nvml.as_ref()? {
        Ok(GpuState { sm_mhz, celsius, watts, throttle, .. }) => {
            let found = format!("SMs at {sm_mhz} MHz, {celsius} degrees, {watts} W");
            match throttle.is_unusual() {
                true => warning(
                    name,
                    format!("{found}, {throttle}"),
                    "the GPU lowers its clocks now: latencies would be longer",
                ),
                false => ok(name, found),
            }
        }
        Err(reason) => {
            let advice = "latencies are measured without a reading of clocks and throttling; libnvidia-ml.so.1 comes with the driver";
            warning(name, reason.clone(), advice)
        }
    })
}

fn check_scratch(facts: &Facts) -> Check {
    let name = "temporary folder";
    match &facts.scratch {
        Ok(folder) => ok(name, format!("{} for ncu's locks", folder.display())),
        Err(reason) => problem(name, reason.clone(), "set TMPDIR to your own folder, with a short path"),
    }
}

/// Locks of other users do not stop ncugate, which gives ncu a private folder, but they stop a plain `ncu`.
fn check_locks(facts: &Facts) -> Option<Check> {
    let strange = facts.locks.iter().find(|lock| lock.owner != facts.privileges.user)?;
    let found = format!("{} belongs to user {}", strange.path.display(), strange.owner);
    let advice = "ncugate still works, but a plain `ncu` fails unless you set TMPDIR; profilers of two users on one GPU do not wait for each other";
    Some(warning("ncu's locks", found, advice))
}

fn check_environment(facts: &Facts) -> Check {
    let name = "environment";
    let listed: Vec<String> = facts.environment.iter().map(|(name, value)| format!("{name}={value}")).collect();
    let has = |part: &str| facts.environment.iter().any(|(name, _)| name.contains(part));
    let mig = facts.environment.iter().any(|(name, value)| name.contains("VISIBLE") && value.contains("MIG-"));
    if has("MPS") {
        let advice = "counters of several MPS clients are mixed or unavailable; unset it and measure without MPS";
        warning(name, listed.join(", "), advice)
    } else if mig {
        let advice = "a MIG instance has no separate counters for shared units; use a whole GPU for gates on them";
        warning(name, listed.join(", "), advice)
    } else if has("INJECTION") {
        warning(name, listed.join(", "), "another tool is injected into CUDA programs and can hold the counters")
    } else if listed.is_empty() {
        ok(name, "no MPS, no MIG, no injected tool".to_owned())
    } else {
        ok(name, listed.join(", "))
    }
}

#[cfg(test)]
mod fixtures;
#[cfg(test)]
mod tests;
