//! Failures under ncu, as types. ncu's exit status is its own or the target's, and it is 0 when nothing was profiled. A failure
//! is therefore diagnosed from the exit, the log and the report.

use ncugate_model::number::text;
use ncugate_model::process::ProcessExit;
use serde::{Deserialize, Serialize};
use thiserror::Error;

/// Number of log lines that are worth showing.
const SHOWN_LINES: usize = 6;
/// Maximum length of a shown line, in characters.
const LONGEST_LINE: usize = 300;
/// Errors of ncu that follow from another one, or from the end of the target.
const CONSEQUENCES: [&str; 2] = ["The application returned an error code", "An error occurred while trying to profile"];
/// Warnings of ncu that are no hint: the failure itself, and a note of every session.
const NO_HINTS: [&str; 2] = ["No kernels were profiled", "Note: Running with unmodified GPU clocks"];

/// Why a session has no launches, or only some of them.
#[derive(Debug, Clone, PartialEq, Eq, Error, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum NcuFailure {
    /// ncu could not be started.
    #[error("cannot start ncu: {reason}; check the path with `ncugate doctor`")]
    NotStarted {
        /// The system's error.
        reason: String,
    },
    #[error(
        "no permission to read GPU performance counters (ERR_NVGPUCTRPERM); run as root or with CAP_SYS_ADMIN \
         (containers: --cap-add=SYS_ADMIN), or have the host load the driver with \
         NVreg_RestrictProfilingToAdminUsers=0"
    )]
    Permission,
    /// ncu followed the target to its end and saw no matching launch; its exit status was 0.
    #[error(
        "no kernels were profiled: the program launched none, or none matched the kernel filter and NVTX range{}",
        if hints.is_empty() { String::new() } else { format!("; ncu says: {}", hints.join(" | ")) }
    )]
    NoKernelsProfiled {
        /// ncu's other warnings, and the kernels that it saw.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        hints: Vec<String>,
    },
    /// A metric name that this chip or this ncu does not know.
    #[error(
        "unknown metric `{name}`; list the names of this chip with `ncu --query-metrics`, and add the suffix (.avg, .sum)"
    )]
    UnknownMetric {
        /// The name, without its suffix if ncu lists the suffixes it tried.
        name: String,
    },
    /// Another tool holds the counters.
    #[error(
        "a driver resource was unavailable: another tool collects counters; pause DCGM (`dcgmi profile --pause`, the Kubernetes dcgm-exporter) or stop the other profiler"
    )]
    DriverResourceUnavailable,
    /// The lock between ncu processes cannot be taken.
    #[error(
        "ncu cannot open its lock file{}, because another user owns it (possibly after a run with sudo); remove it, or set TMPDIR to your own folder", file.as_ref().map(|f| format!(" (`{f}`)")).unwrap_or_default()
    )]
    Lock {
        /// The file, if ncu names it.
        file: Option<String>,
    },
    /// The driver is too old for this ncu.
    #[error(
        "the CUDA driver is not compatible with this ncu; use the Nsight Compute of the driver's CUDA release (2025.2 for driver 570 or 575), or update the driver"
    )]
    DriverIncompatible,
    /// This ncu does not know the GPU.
    #[error(
        "this ncu does not support this GPU (see `ncu --list-chips`); use the Nsight Compute of a CUDA release that does"
    )]
    UnknownGpu,
    /// A report or log cannot be written.
    #[error("ncu cannot write `{file}`; check that the folder exists, is writable and has space")]
    UnableToWrite { file: String },
    /// The memory for saving a launch's writes ran out.
    #[error("ncu ran out of memory to save device memory between passes; use smaller shapes or fewer metrics")]
    OutOfMemory,
    /// The program ended with this status, and ncu passed it on.
    #[error("the profiled program exited with status {status}{}", signal_of(*status))]
    TargetExit {
        /// Its status, or the signal that ended it.
        status: i32,
    },
    /// It exceeded its time limit.
    #[error(
        "ncu exceeded its time limit and was terminated; a kernel hangs or cannot be replayed, or `timeout_s` is too short"
    )]
    Timeout,
    /// The user asked to stop.
    #[error("interrupted")]
    Interrupted,
    /// The report cannot be read.
    #[error("cannot read the report: {reason}")]
    UnreadableReport { reason: String },
    /// The report lacks a launch, and no message explains it.
    #[error("ncu {ending}, but its report does not have the launch")]
    Missing { ending: String },
    /// The report has the launches, but the program that launched them did not report whether their outputs are right.
    #[error("its profiled outputs were not verified (ncu {ending}), so its counters are rejected")]
    Unverified { ending: String },
    #[error("ncu {ending}: {}", lines.join(" | "))]
    Other {
        ending: String,
        /// The printed errors, or else the last lines.
        lines: Vec<String>,
    },
}

/// The scope of a failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FailureScope {
    /// Everything: other variants would fail the same way.
    Environment,
    /// The group that requests an unknown metric.
    Group,
    /// The variants of this process.
    Batch,
    /// The user asked to stop.
    Stop,
}

impl NcuFailure {
    /// Whether no counter can be collected on this machine, whatever is profiled.
    pub const fn denies_counters(&self) -> bool {
        match self {
            Self::NotStarted { .. }
            | Self::Permission
            | Self::DriverResourceUnavailable
            | Self::DriverIncompatible
            | Self::UnknownGpu => true,
            Self::NoKernelsProfiled { .. }
            | Self::UnknownMetric { .. }
            | Self::Lock { .. }
            | Self::UnableToWrite { .. }
            | Self::OutOfMemory
            | Self::TargetExit { .. }
            | Self::Timeout
            | Self::Interrupted
            | Self::UnreadableReport { .. }
            | Self::Missing { .. }
            | Self::Unverified { .. }
            | Self::Other { .. } => false,
        }
    }

    /// Diagnoses the exit and all output (ncu's log and the target's output). `None` if the process completed and printed no
    /// error.
    pub fn diagnose(ending: ProcessExit, printed: &str) -> Option<Self> {
        match ending {
            ProcessExit::Interrupted => return Some(Self::Interrupted),
            ProcessExit::TimedOut => return Some(Self::Timeout),
            ProcessExit::Completed | ProcessExit::NonZero(_) | ProcessExit::Signaled(_) => {}
        }
        if let Some(known) = Self::named(printed) {
            return Some(known);
        }
        let lines = telling_lines(printed);
        match ending {
            ProcessExit::Completed if !printed.contains("==ERROR==") => None,
            ProcessExit::Completed
            | ProcessExit::NonZero(_)
            | ProcessExit::Signaled(_)
            | ProcessExit::TimedOut
            | ProcessExit::Interrupted => Some(Self::Other { ending: ending.to_string(), lines }),
        }
    }

    /// The failures with a known ncu text, causes before consequences.
    fn named(printed: &str) -> Option<Self> {
        let says = |text: &str| printed.contains(text);
        if says("ERR_NVGPUCTRPERM") {
            Some(Self::Permission)
        } else if says("driver is not compatible with Nsight Compute")
            || says("Failed to load Nsight Compute CUDA modules")
        {
            Some(Self::DriverIncompatible)
        } else if says("Profiling is not supported on device") {
            Some(Self::UnknownGpu)
        } else if says("a driver resource was unavailable") {
            Some(Self::DriverResourceUnavailable)
        } else if says("InterprocessLockFailed") || says("Failed to open/create lock file") {
            Some(Self::Lock { file: after(printed, "Failed to open/create lock file ").map(word) })
        } else if let Some(rest) = after(printed, "Failed to find metric ") {
            Some(Self::UnknownMetric { name: metric_of_expression(rest) })
        } else if let Some(rest) = after(printed, "Unable to write to file ") {
            Some(Self::UnableToWrite { file: word(rest) })
        } else if says("bad allocation") || says("ContextSaveFailed") {
            Some(Self::OutOfMemory)
        } else if causes(printed).next().is_some() {
            // ncu's own error comes before the end of the target, which follows from it.
            None
        } else if let Some(rest) = after(printed, "The application returned an error code (") {
            Some(Self::TargetExit { status: rest.split(')').next()?.parse().ok()? })
        } else if says("No kernels were profiled") {
            Some(Self::no_kernels(printed))
        } else {
            None
        }
    }

    /// No launch was profiled, with the hints in what ncu printed.
    pub fn no_kernels(printed: &str) -> Self {
        Self::NoKernelsProfiled { hints: hints(printed) }
    }

    pub fn reach(&self) -> FailureScope {
        match self {
            Self::NotStarted { .. }
            | Self::Permission
            | Self::DriverResourceUnavailable
            | Self::Lock { .. }
            | Self::DriverIncompatible
            | Self::UnknownGpu
            | Self::UnableToWrite { .. } => FailureScope::Environment,
            Self::UnknownMetric { .. } => FailureScope::Group,
            Self::NoKernelsProfiled { .. }
            | Self::OutOfMemory
            | Self::TargetExit { .. }
            | Self::Timeout
            | Self::UnreadableReport { .. }
            | Self::Missing { .. }
            | Self::Unverified { .. }
            | Self::Other { .. } => FailureScope::Batch,
            Self::Interrupted => FailureScope::Stop,
        }
    }
}

/// Maximum number of replay passes of any launch in a log: `... 100% - 3 passes`.
pub fn passes_in(log: &str) -> Option<u32> {
    let of_line = |line: &str| -> Option<u32> {
        let rest = line.strip_prefix("==PROF== Profiling ")?;
        let (_, tail) = rest.rsplit_once(" - ")?;
        let (number, unit) = tail.trim().split_once(' ')?;
        if unit.starts_with("pass") { number.parse().ok() } else { None }
    };
    log.lines().filter_map(of_line).max()
}

/// Number of finished launches in a log.
pub fn launches_in(log: &str) -> usize {
    log.lines().filter(|line| line.starts_with("==PROF== Profiling ") && line.contains("100%")).count()
}

fn after<'a>(text: &'a str, marker: &str) -> Option<&'a str> {
    text.find(marker).map(|at| &text[at + marker.len()..])
}

/// The first word, without a full stop at its end.
fn word(text: &str) -> String {
    let word = text.lines().next().unwrap_or_default().split_whitespace().next().unwrap_or_default();
    word.trim_matches(['\'', '"']).trim_end_matches(['.', ':']).to_owned()
}

/// `sm__foo` for `regex:^sm__foo\.(sum|min|max|avg|pct|ratio|max_rate)$`, `sm__foo.avg` for `regex:^sm__foo\.avg$`.
fn metric_of_expression(text: &str) -> String {
    let line = text.lines().next().unwrap_or_default().trim();
    let expression = line.strip_prefix("regex:").unwrap_or(line).trim_start_matches('^');
    let expression = expression.split(r"\.(").next().unwrap_or(expression).split(".(").next().unwrap_or(expression);
    expression.trim_end_matches('.').trim_end_matches('$').replace('\\', "")
}

/// The printed errors, or else the last lines.
fn telling_lines(printed: &str) -> Vec<String> {
    let shown = |line: &str| text::clip(line, LONGEST_LINE);
    let found: Vec<String> = causes(printed).take(SHOWN_LINES).map(shown).collect();
    if !found.is_empty() {
        return found;
    }
    let lines: Vec<&str> = printed.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    if lines.is_empty() {
        return vec!["it printed nothing".to_owned()];
    }
    lines[lines.len().saturating_sub(SHOWN_LINES)..].iter().copied().map(shown).collect()
}

/// ncu's errors that do not follow from another one, in order.
fn causes(printed: &str) -> impl Iterator<Item = &str> {
    let errors = printed.lines().filter_map(|line| line.trim().strip_prefix("==ERROR== "));
    errors.filter(|error| !CONSEQUENCES.iter().any(|known| error.starts_with(known)))
}

/// What ncu says about launches that it did not profile: its warnings, and the kernels that it saw.
fn hints(printed: &str) -> Vec<String> {
    let warnings = printed.lines().filter_map(|line| line.trim().strip_prefix("==WARNING== "));
    let telling = warnings.filter(|warning| !NO_HINTS.iter().any(|known| warning.starts_with(known)));
    let mut hints: Vec<String> = telling.take(SHOWN_LINES).map(|line| text::clip(line, LONGEST_LINE)).collect();
    let listed = printed.lines().map(str::trim).skip_while(|line| *line != "Available Kernels:").skip(1);
    let name = |line| numbered(line).map(|name| format!("`{}`", text::clip(name, LONGEST_LINE)));
    let kernels: Vec<String> = listed.map_while(name).collect();
    if !kernels.is_empty() {
        hints.push(format!("available kernels: {}", text::listed(kernels, SHOWN_LINES, ", ")));
    }
    hints
}

/// The text after `1. `.
fn numbered(line: &str) -> Option<&str> {
    let (number, text) = line.split_once(". ")?;
    let is_number = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then_some(text)
}

/// ncu passes on a signal as if it were a status.
const fn signal_of(status: i32) -> &'static str {
    match status {
        6 => " (or SIGABRT)",
        8 => " (or SIGFPE)",
        9 => " (or SIGKILL)",
        11 => " (or SIGSEGV)",
        15 => " (or SIGTERM)",
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use NcuFailure::*;

    fn of(status: i32, printed: &str) -> NcuFailure {
        let ending = if status == 0 { ProcessExit::Completed } else { ProcessExit::NonZero(status) };
        NcuFailure::diagnose(ending, printed).unwrap()
    }

    /// Logs of ncu 2025.3.1 on an H200 (tests/gpu/ncu_texts.sh), with its exit statuses.
    #[test]
    fn captured_logs_of_ncu_are_diagnosed() {
        let real = |name: &str| match name {
            "no-kernels" => include_str!("../../../tests/data/ncu/no-kernels.txt"),
            "no-match" => include_str!("../../../tests/data/ncu/no-match.txt"),
            "target-exit" => include_str!("../../../tests/data/ncu/target-exit.txt"),
            "target-abort" => include_str!("../../../tests/data/ncu/target-abort.txt"),
            "unwritable" => include_str!("../../../tests/data/ncu/unwritable.txt"),
            "crash" => include_str!("../../../tests/data/ncu/crash.txt"),
            _ => include_str!("../../../tests/data/ncu/unknown-metric.txt"),
        };
        assert!(matches!(of(0, real("no-kernels")), NoKernelsProfiled { .. }));
        assert!(matches!(of(0, real("no-match")), NoKernelsProfiled { .. }));
        assert!(matches!(of(3, real("target-exit")), TargetExit { .. }));
        assert!(matches!(of(6, real("target-abort")), TargetExit { .. }));
        assert!(of(6, real("target-abort")).to_string().ends_with("exited with status 6 (or SIGABRT)"));
        assert!(matches!(of(1, real("unwritable")), UnableToWrite { .. }));
        assert_eq!(of(9, real("crash")).reach(), FailureScope::Batch);
        assert!(of(9, real("crash")).to_string().ends_with("An error was reported by the driver: | LaunchFailed"));
        // For ncu, a metric that this chip lacks is not a failure: its value is missing, and gates notice that.
        assert_eq!(NcuFailure::diagnose(ProcessExit::Completed, real("unknown-metric")), None);
    }

    #[test]
    fn missing_permission_is_diagnosed_even_when_the_target_went_on() {
        let text = "==PROF== Connected to process 9012 (/usr/local/bin/my-benchmark)\n\
            ==ERROR== ERR_NVGPUCTRPERM - The user does not have permission to access NVIDIA GPU Performance Counters \
            on the target device 0. For instructions on enabling permissions and to get more information see \
            https://developer.nvidia.com/ERR_NVGPUCTRPERM\n\
            ==PROF== Disconnected from process 9012\n==WARNING== No kernels were profiled.\n";
        assert_eq!(of(0, text), Permission);
        assert_eq!(of(1, text), Permission);
        assert_eq!(Permission.reach(), FailureScope::Environment);
        assert!(Permission.to_string().contains("NVreg_RestrictProfilingToAdminUsers=0"));
    }

    #[test]
    fn a_gpu_that_this_ncu_does_not_know_denies_counters() {
        let text = "==PROF== Connected to process 41 (/usr/local/bin/worker)\n==ERROR== Profiling is not supported on \
            device 0. To find out supported GPUs refer --list-chips option.\n==PROF== Disconnected from process 41\n\
            ==WARNING== No kernels were profiled.\n";
        assert_eq!((of(0, text), UnknownGpu.reach()), (UnknownGpu, FailureScope::Environment));
        assert!(UnknownGpu.denies_counters() && !NcuFailure::no_kernels("").denies_counters());
    }

    #[test]
    fn no_kernels_profiled_is_a_failure_although_the_status_is_0() {
        assert_eq!(of(0, "==WARNING== No kernels were profiled.\n"), NcuFailure::no_kernels(""));
    }

    #[test]
    fn hints_of_ncu_are_passed_on_bounded_and_clean() {
        let text = of(0, include_str!("../../../tests/data/ncu/no-match.txt")).to_string();
        assert!(text.contains("requires the --target-processes all option"), "{text}");
        assert!(text.ends_with("available kernels: `scale`") && !text.contains("unmodified GPU clocks"), "{text}");
        let names: String = (1..=40).map(|n| format!("{n}. k\u{1b}[31m{n}{}\n", "x".repeat(5_000))).collect();
        let warnings = "==WARNING== an expression matches only push/pop ranges\n".repeat(30);
        let printed = format!("==WARNING== No kernels were profiled.\n{warnings}Available Kernels:\n{names}\n41. no\n");
        let text = of(0, &printed).to_string();
        assert!(text.contains("matches only push/pop ranges") && text.ends_with(" and 34 more"), "{text}");
        assert!(text.len() < 5_000 && !text.contains('\u{1b}'), "{text}");
        let recorded: NcuFailure = serde_json::from_str(r#"{"kind":"no_kernels_profiled"}"#).unwrap();
        assert_eq!(recorded, NcuFailure::no_kernels(""), "as older runs have it");
    }

    #[test]
    fn the_first_error_of_ncu_is_the_cause_and_not_the_end_of_the_target() {
        let failed = "==ERROR== Nsight Compute failed to connect to the CUDA driver (stub libcuda.so[.1] on path?).\n";
        let ended = "==ERROR== The application returned an error code (1).\n==WARNING== No kernels were profiled.\n";
        for (status, text) in
            [(1, format!("{failed}{ended}")), (0, format!("{failed}==WARNING== No kernels were profiled.\n"))]
        {
            let said = of(status, &text).to_string();
            assert!(said.contains(": Nsight Compute failed to connect to the CUDA driver"), "{said}");
            assert!(!said.contains("application") && !said.contains("launched none"), "{said}");
        }
        let many: String = (0..20).map(|n| format!("==ERROR== error {n}\n")).collect();
        assert!(of(1, &many).to_string().contains(": error 0 | error 1 | "), "the first errors are shown");
    }

    #[test]
    fn the_unknown_metric_is_named() {
        let expanded = "==PROF== Connected to process 20101 (/usr/bin/python3.10)\n\
            ==ERROR== Failed to find metric regex:^flop_count_sp\\.(sum|min|max|avg|pct|ratio|max_rate)$\n\
            ==ERROR== Failed to profile \"k\" in process 20101\n==PROF== Trying to shutdown target application\n\
            ==ERROR== The application returned an error code (9).\n==ERROR== An error occurred while trying to profile.\n";
        assert_eq!(of(9, expanded), UnknownMetric { name: "flop_count_sp".into() });
        let suffixed = "==ERROR== Failed to find metric regex:^sm__nonsense\\.avg$\n";
        assert_eq!(of(9, suffixed), UnknownMetric { name: "sm__nonsense.avg".into() });
        let bare = "==ERROR== Failed to find metric regex:^sm__nonsense.avg$\n";
        assert_eq!(of(9, bare), UnknownMetric { name: "sm__nonsense.avg".into() });
    }

    #[test]
    fn another_tool_holding_the_counters_is_not_an_application_error() {
        let text = "==ERROR== An error was reported by the driver\n\n==ERROR== Profiling failed because a driver \
            resource was unavailable. Ensure that no other tool (like DCGM) is concurrently collecting profiling data. \
            See https://docs.nvidia.com/nsight-compute/ProfilingGuide/index.html#faq for more details.\n\
            ==ERROR== Failed to profile \"risk_battle_kernel\" in process 7508\n\
            ==PROF== Trying to shutdown target application\n==ERROR== The application returned an error code (9).\n\
            ==ERROR== An error occurred while trying to profile.\n==WARNING== No kernels were profiled.\n";
        assert_eq!(of(9, text), DriverResourceUnavailable);
    }

    #[test]
    fn the_lock_file_is_named() {
        let text = "==ERROR== Failed to open/create lock file /tmp/nsight-compute-lock. Please check that this process \
            has write permissions on this file. See https://docs.nvidia.com/nsight-compute/ProfilingGuide/index.html#faq \
            for more details.\n==ERROR== Failed to profile \"vectorized_elementwise_kernel\" in process 2323392\n\
            ==PROF== Trying to shutdown target application\n==ERROR== The application returned an error code (9).\n";
        assert_eq!(of(9, text), Lock { file: Some("/tmp/nsight-compute-lock".into()) });
        assert_eq!(of(9, "==ERROR== InterprocessLockFailed\n"), Lock { file: None });
    }

    #[test]
    fn an_old_driver_is_diagnosed_and_not_the_crash_that_follows() {
        let text = "==ERROR== An error was reported by the driver:\n\
            ==ERROR== Cuda driver is not compatible with Nsight Compute.\n\
            ==PROF== Connected to process 2305223 (/home/user/bin/python3.11)\n\
            ==ERROR== The application returned an error code (11).\n";
        assert_eq!(of(11, text), DriverIncompatible);
    }

    #[test]
    fn a_missing_folder_is_named() {
        let text = "==ERROR== Unable to write to file out/x.ncu-rep.\n";
        assert_eq!(of(1, text), UnableToWrite { file: "out/x.ncu-rep".into() });
    }

    #[test]
    fn the_targets_own_status_is_kept() {
        assert_eq!(of(7, "==ERROR== The application returned an error code (7).\n"), TargetExit { status: 7 });
        let replay = "==WARNING== Backing up device memory in system memory. Kernel replay might be slow.\n\
            ==ERROR== Unhandled C++ exception: bad allocation\n==ERROR== Failed to profile \"sparse_moe_d1_kernel\"\n";
        assert_eq!(of(9, replay), OutOfMemory);
    }

    #[test]
    fn an_unknown_failure_shows_its_error_lines() {
        let text = "==PROF== Connected to process 3929334 (/usr/bin/python3)\n\
            ==ERROR== Failed to prepare kernel for profiling\n\
            ==ERROR== Unknown Error on device 0.\n==ERROR== Failed to profile \"k\" in process 3929334\n\
            ==ERROR== The application returned an error code (9).\n==WARNING== No kernels were profiled.\n";
        let failure = of(9, text);
        assert!(failure.to_string().starts_with("ncu exited with status 9: Failed to prepare kernel for profiling | "));
        assert_eq!(failure.reach(), FailureScope::Batch);
        assert_eq!(of(1, "").to_string(), "ncu exited with status 1: it printed nothing");
        assert!(NcuFailure::diagnose(ProcessExit::Signaled(9), "").is_some());
    }

    #[test]
    fn a_clean_end_is_not_a_failure_and_timeouts_and_interrupts_come_first() {
        let text = "==PROF== Report: /x/y.ncu-rep\n";
        assert_eq!(NcuFailure::diagnose(ProcessExit::Completed, text), None);
        assert_eq!(NcuFailure::diagnose(ProcessExit::TimedOut, "ERR_NVGPUCTRPERM"), Some(Timeout));
        assert_eq!(NcuFailure::diagnose(ProcessExit::Interrupted, text), Some(Interrupted));
    }

    #[test]
    fn passes_and_launches_are_read_from_the_log() {
        let log = "==PROF== Profiling \"rgbToGray\" - 0: 0%....50%....100% - 31 passes\n\
            ==PROF== Profiling \"a - 9 passes\" - 1: 0%....50%....100% - 1 pass\n\
            ==PROF== Profiling \"cut\" - 2: 0%..==PROF== Received signal\n";
        assert_eq!(passes_in(log), Some(31));
        assert_eq!(launches_in(log), 2);
        assert_eq!(passes_in("==PROF== Report: x\n"), None);
    }
}
