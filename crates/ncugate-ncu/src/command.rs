//! ncu's command line, as a pure function of a session. Every knob is passed explicitly; none is left to a default or a config
//! file.

use ncugate_model::MAX_REPORT;
use serde::{Deserialize, Serialize};
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::tool::NcuVersion;
use super::unit::CounterUnit;
use ncugate_model::ComputeCapability;

/// How ncu controls the clocks. This program never sets them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ClockControl {
    /// The clocks run freely.
    #[default]
    None,
}

/// How ncu controls the caches before every pass.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CacheControl {
    /// The caches are flushed: every launch starts cold.
    #[default]
    All,
    /// The caches stay as the previous launch left them.
    None,
}

/// How several passes observe the same launch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReplayMode {
    /// The launch is replayed; memory is restored in between.
    #[default]
    Kernel,
    /// The program is run again for each pass.
    Application,
}

/// The profiled processes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Processes {
    /// Only the started process: our own worker.
    Application,
    /// The started process and its children: an external command.
    All,
}

/// The profiled launches.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LaunchSelection {
    Everything,
    /// Launches inside a push/pop range of one of these names, in any process.
    Ranges(Vec<String>),
    /// Launches of kernels whose function name matches this regular expression.
    Kernels(String),
}

/// Data collected in addition to metrics.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ProfileDetail {
    #[default]
    Counters,
    /// Sections with the results of their rules, samples of every instruction and over the launch's lifetime, machine code and
    /// source text.
    Deep(LifeSampling),
}

/// Sampling over the lifetime of a launch (ncu's section PmSampling).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LifeSampling {
    /// ncu determines an interval and a size in an extra pass, and reads back 31 MB or more per launch.
    #[default]
    Automatic,
    /// In one pass, at a fixed interval, into 16 MiB.
    Every {
        /// Nanoseconds between two samples.
        nanoseconds: u32,
    },
}

impl LifeSampling {
    /// Buffer size for the samples of a launch, in bytes. A launch took at most 22,000 bytes on an H200.
    const BUFFER: u32 = 16 << 20;
    /// A number of samples that certainly fits.
    const SAMPLES: f64 = 400.0;
    /// The shortest interval that ncu chooses on an H200, in nanoseconds; its other intervals are this one times powers of two.
    const SHORTEST: u32 = 1500;
    /// Microseconds that are sampled around a launch: on an H200, 150 to 260 before it and 75 to 260 after it.
    const AROUND: f64 = 500.0;
    /// A launch for which the shortest interval suffices, in microseconds.
    const SHORTEST_LAUNCH: f64 = 1.0;
    /// How much longer a launch can take under the profiler, with cold caches.
    const LONGER: f64 = 1.5;

    /// A sampling interval that covers the longest of the launches, in microseconds, from start to end. ncu chooses if the
    /// duration is unknown, or if this ncu or chip was never tested with an explicit interval.
    pub fn for_launches(longest: Option<f64>, version: NcuVersion, capability: ComputeCapability) -> Self {
        let is_known = version >= NcuVersion([2025, 3, 0, 0]) && capability == ComputeCapability::new(9, 0);
        let Some(longest) = longest.filter(|us| is_known && us.is_finite() && *us > 0.0) else {
            return Self::Automatic;
        };
        let wanted = 1e3 * (Self::LONGER * longest + Self::AROUND) / Self::SAMPLES;
        let intervals = std::iter::successors(Some(Self::SHORTEST), |ns| ns.checked_mul(2));
        intervals
            .into_iter()
            .find(|ns| f64::from(*ns) >= wanted)
            .map_or(Self::Automatic, |nanoseconds| Self::Every { nanoseconds })
    }

    /// The settings for short launches, whose number of samples certainly fits at the shortest interval.
    pub fn shortest(version: NcuVersion, capability: ComputeCapability) -> Self {
        Self::for_launches(Some(Self::SHORTEST_LAUNCH), version, capability)
    }

    fn options(self) -> Vec<(&'static str, String)> {
        match self {
            Self::Automatic => Vec::new(),
            Self::Every { nanoseconds } => vec![
                ("--pm-sampling-interval", nanoseconds.to_string()),
                ("--pm-sampling-buffer-size", Self::BUFFER.to_string()),
                ("--pm-sampling-max-passes", "1".to_owned()),
            ],
        }
    }
}

impl ProfileDetail {
    /// The ncu sections that a deep profile collects: those whose rules tell where time goes. Memory tables and roofline charts
    /// would double the number of passes and add nothing that is shown.
    pub const SECTIONS: [&'static str; 9] = [
        "LaunchStats",
        "Occupancy",
        "SpeedOfLight",
        "ComputeWorkloadAnalysis",
        "MemoryWorkloadAnalysis",
        "SchedulerStats",
        "WarpStateStats",
        "SourceCounters",
        "PmSampling",
    ];

    const fn sections(self) -> &'static [&'static str] {
        match self {
            Self::Counters => &[],
            Self::Deep(_) => &Self::SECTIONS,
        }
    }
}

/// Settings that make two sets of counters comparable; stored with the run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Knobs {
    pub clock_control: ClockControl,
    pub cache_control: CacheControl,
    pub replay_mode: ReplayMode,
}

impl ClockControl {
    /// The value of ncu's option.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::None => "none",
        }
    }
}

impl CacheControl {
    /// The value of ncu's option.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::All => "all",
            Self::None => "none",
        }
    }
}

impl ReplayMode {
    /// The value of ncu's option.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Kernel => "kernel",
            Self::Application => "application",
        }
    }
}

impl Processes {
    /// The value of ncu's option.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Application => "application-only",
            Self::All => "all",
        }
    }
}

/// One ncu process: its target, its metrics and its output.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NcuSession {
    /// Profiled program with its arguments.
    pub target: Vec<OsString>,
    /// ncu metric names.
    pub metrics: Vec<String>,
    /// Data collected in addition to metrics.
    pub detail: ProfileDetail,
    /// Path of the report without extension; ncu chooses it (`.ncu-rep` or `.ncu-repz`).
    pub output: PathBuf,
    /// Path of ncu's log.
    pub log: PathBuf,
    /// A private folder of this user for locks and sockets. The path must be short, because socket paths are limited to 107
    /// bytes.
    pub scratch: PathBuf,
    pub selection: LaunchSelection,
    pub processes: Processes,
    pub knobs: Knobs,
}

impl NcuSession {
    /// Arguments after the program's name.
    pub fn arguments(&self) -> Vec<OsString> {
        let mut arguments: Vec<OsString> = Vec::new();
        let mut option = |name: &str, value: &OsStr| arguments.extend([name.into(), value.to_owned()]);
        option("--config-file", "off".as_ref());
        option("--rename-kernels", "off".as_ref());
        option("--clock-control", self.knobs.clock_control.as_str().as_ref());
        option("--cache-control", self.knobs.cache_control.as_str().as_ref());
        option("--replay-mode", self.knobs.replay_mode.as_str().as_ref());
        option("--target-processes", self.processes.as_str().as_ref());
        option("--import-sass", if self.needs_machine_code() { "yes" } else { "no" }.as_ref());
        for section in self.detail.sections() {
            option("--section", section.as_ref());
        }
        if let ProfileDetail::Deep(sampling) = self.detail {
            option("--import-source", "yes".as_ref());
            sampling.options().iter().for_each(|(name, value)| option(name, value.as_ref()));
        }
        match &self.selection {
            LaunchSelection::Everything => {}
            LaunchSelection::Ranges(names) => {
                names.iter().for_each(|name| option("--nvtx-include", push_pop_expression(name).as_ref()));
            }
            LaunchSelection::Kernels(pattern) => option("--kernel-name", format!("regex:{pattern}").as_ref()),
        }
        // on an unknown chip a deep profile has sections alone
        if !self.metrics.is_empty() {
            option("--metrics", self.metrics.join(",").as_ref());
        }
        option("--log-file", self.log.as_os_str());
        option("--export", &without_macros(&self.output));
        arguments.extend(["--nvtx", "--disable-extra-suffixes", "--force-overwrite"].map(OsString::from));
        arguments.extend(self.target.iter().cloned());
        arguments
    }

    /// Environment variables for ncu, in addition to inherited ones.
    pub fn environment(&self) -> Vec<(&'static str, OsString)> {
        let mut variables = vec![
            ("TMPDIR", self.scratch.clone().into_os_string()),
            ("NV_COMPUTE_PROFILER_DISABLE_STOCK_FILE_DEPLOYMENT", "1".into()),
        ];
        if matches!(self.detail, ProfileDetail::Deep(_)) {
            // Skips the pass that determines the functions a launch calls: our modules have few.
            variables.push(("NV_COMPUTE_PROFILER_DISABLE_SW_PRE_PASS", "1".into()));
        }
        variables
    }

    /// The process, with the environment and folder of `target`, and without standard input.
    pub fn command(&self, ncu: &Path, target: &Command) -> Command {
        let mut command = Command::new(ncu);
        command.args(self.arguments()).stdin(Stdio::null());
        for (name, value) in target.get_envs() {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
        if let Some(folder) = target.get_current_dir() {
            command.current_dir(folder);
        }
        command.envs(self.environment());
        command
    }

    /// ncu drops per-instruction metrics if the machine code is not imported.
    fn needs_machine_code(&self) -> bool {
        matches!(self.detail, ProfileDetail::Deep(_))
            || self
                .metrics
                .iter()
                .any(|metric| matches!(CounterUnit::of(metric), CounterUnit::Sass | CounterUnit::Other))
    }
}

/// Program and arguments of a command.
pub fn argv(command: &Command) -> Vec<OsString> {
    std::iter::once(command.get_program()).chain(command.get_args()).map(OsStr::to_owned).collect()
}

/// The report that a session wrote, with either extension. Links, pipes and oversized files are ignored.
pub fn written(output: &Path, log: &str) -> Option<PathBuf> {
    let named = log.lines().filter_map(|line| line.trim().strip_prefix("==PROF== Report: ")).next_back();
    let folder = output.parent()?;
    let beside = named.map(PathBuf::from).filter(|path| path.parent().is_some_and(|p| same_folder(p, folder)));
    let extended = ["ncu-rep", "ncu-repz"].map(|extension| {
        let mut path = output.as_os_str().to_owned();
        path.push(".");
        path.push(extension);
        PathBuf::from(path)
    });
    let is_report =
        |path: &PathBuf| path.symlink_metadata().is_ok_and(|found| found.is_file() && found.len() <= MAX_REPORT);
    beside.into_iter().chain(extended).find(is_report)
}

fn same_folder(one: &Path, other: &Path) -> bool {
    one == other || one.canonicalize().is_ok_and(|one| other.canonicalize().is_ok_and(|other| one == other))
}

/// An NVTX expression for a push/pop range: a slash marks push/pop, and ncu's other special characters are escaped.
fn push_pop_expression(name: &str) -> String {
    let mut expression = String::with_capacity(name.len() + 8);
    for sign in name.chars() {
        if "@,[]/*+\\".contains(sign) {
            expression.push('\\');
        }
        expression.push(sign);
    }
    expression.push('/');
    expression
}

/// A path in which ncu finds no macro (`%h`, `%p`, `%i`, `%q{..}`).
fn without_macros(path: &Path) -> OsString {
    match path.to_str() {
        Some(text) => text.replace('%', "%%").into(),
        None => path.as_os_str().to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn session() -> NcuSession {
        NcuSession {
            target: ["/bin/ncugate", "worker", "job.json"].map(OsString::from).to_vec(),
            metrics: ["gpu__time_duration.sum", "launch__registers_per_thread"].map(String::from).to_vec(),
            detail: ProfileDetail::Counters,
            output: "runs/1/reports/sm-1".into(),
            log: "runs/1/logs/sm-1.log".into(),
            scratch: "/tmp/ncugate-1000".into(),
            selection: LaunchSelection::Everything,
            processes: Processes::Application,
            knobs: Knobs::default(),
        }
    }

    fn line(session: &NcuSession) -> String {
        let words: Vec<_> = session.arguments().iter().map(|a| a.to_string_lossy().into_owned()).collect();
        words.join(" ")
    }

    #[test]
    fn every_knob_is_on_the_command_line() {
        insta::assert_snapshot!(line(&session()), @"--config-file off --rename-kernels off --clock-control none --cache-control all --replay-mode kernel --target-processes application-only --import-sass no --metrics gpu__time_duration.sum,launch__registers_per_thread --log-file runs/1/logs/sm-1.log --export runs/1/reports/sm-1 --nvtx --disable-extra-suffixes --force-overwrite /bin/ncugate worker job.json");
    }

    #[test]
    fn an_external_command_is_filtered_by_kernel_or_range() {
        let external = NcuSession {
            processes: Processes::All,
            selection: LaunchSelection::Kernels("flash.*".to_owned()),
            metrics: vec!["smsp__sass_inst_executed_op_shared_ld.sum".to_owned()],
            output: "100%/x".into(),
            ..session()
        };
        insta::assert_snapshot!(line(&external), @"--config-file off --rename-kernels off --clock-control none --cache-control all --replay-mode kernel --target-processes all --import-sass yes --kernel-name regex:flash.* --metrics smsp__sass_inst_executed_op_shared_ld.sum --log-file runs/1/logs/sm-1.log --export 100%%/x --nvtx --disable-extra-suffixes --force-overwrite /bin/ncugate worker job.json");
        let ranged =
            NcuSession { selection: LaunchSelection::Ranges(vec!["R=64,T=128@mission".to_owned()]), ..external };
        assert!(line(&ranged).contains(r"--nvtx-include R=64\,T=128\@mission/ "));
    }

    #[test]
    fn a_deep_profile_names_its_sections_and_imports_sources() {
        let deep = line(&NcuSession { detail: ProfileDetail::Deep(LifeSampling::Automatic), ..session() });
        let sections = ProfileDetail::SECTIONS.map(|section| format!("--section {section}")).join(" ");
        assert!(deep.contains(&format!("--import-sass yes {sections} --import-source yes --metrics gpu__")), "{deep}");
        assert!(!line(&session()).contains("--section"));
        let bare =
            NcuSession { detail: ProfileDetail::Deep(LifeSampling::Automatic), metrics: Vec::new(), ..session() };
        assert!(!line(&bare).contains("--metrics"), "ncu refuses an empty list");
        let fixed = ProfileDetail::Deep(LifeSampling::Every { nanoseconds: 3000 });
        let fixed = line(&NcuSession { detail: fixed, ..session() });
        assert!(
            fixed.contains(
                "--pm-sampling-interval 3000 --pm-sampling-buffer-size 16777216 --pm-sampling-max-passes 1 --metrics"
            ),
            "{fixed}"
        );
    }

    #[test]
    fn the_interval_follows_the_longest_launch_where_it_was_tried() {
        let version = NcuVersion([2025, 3, 1, 0]);
        let hopper = ComputeCapability::new(9, 0);
        let every = |longest: f64| LifeSampling::for_launches(Some(longest), version, hopper);
        for (microseconds, nanoseconds) in
            [(20.0, 1500), (47.0, 1500), (500.0, 6000), (1_442.0, 12_000), (69_500.0, 384_000)]
        {
            assert_eq!(every(microseconds), LifeSampling::Every { nanoseconds }, "{microseconds}");
        }
        assert_eq!(every(f64::NAN), LifeSampling::Automatic);
        assert_eq!(every(1e12), LifeSampling::Automatic);
        let shortest = LifeSampling::shortest(version, hopper);
        assert!(shortest == every(20.0) && shortest != every(200.0), "{shortest:?}");
        assert_eq!(LifeSampling::for_launches(None, version, hopper), LifeSampling::Automatic);
        let ada = LifeSampling::for_launches(Some(20.0), version, ComputeCapability::new(8, 9));
        assert_eq!(ada, LifeSampling::Automatic);
        let older = LifeSampling::for_launches(Some(20.0), NcuVersion([2024, 1, 0, 0]), hopper);
        assert_eq!(older, LifeSampling::Automatic);
    }

    #[test]
    fn the_process_keeps_the_targets_environment_but_not_its_tmpdir() {
        let mut target = Command::new("worker");
        target.env("CUDA_VISIBLE_DEVICES", "1").env("TMPDIR", "/elsewhere").env_remove("HOME").current_dir("/var");
        let command = session().command(Path::new("/opt/ncu"), &target);
        let value = |name: &str| command.get_envs().find(|(n, _)| *n == name).map(|(_, v)| v.map(OsStr::to_owned));
        assert_eq!(value("CUDA_VISIBLE_DEVICES"), Some(Some("1".into())));
        assert_eq!(value("HOME"), Some(None));
        assert_eq!(value("TMPDIR"), Some(Some("/tmp/ncugate-1000".into())));
        assert_eq!(value("NV_COMPUTE_PROFILER_DISABLE_STOCK_FILE_DEPLOYMENT"), Some(Some("1".into())));
        assert_eq!(command.get_current_dir(), Some(Path::new("/var")));
        assert_eq!(argv(&command).len(), 1 + session().arguments().len());
    }

    #[test]
    fn a_report_is_found_under_either_extension_and_never_elsewhere() {
        let folder = tempfile::tempdir().unwrap();
        let output = folder.path().join("sm-1.2");
        assert_eq!(written(&output, ""), None);
        let elsewhere = tempfile::tempdir().unwrap();
        std::fs::write(elsewhere.path().join("x.ncu-rep"), "x").unwrap();
        let log = format!("==PROF== Report: {}\n", elsewhere.path().join("x.ncu-rep").display());
        assert_eq!(written(&output, &log), None);
        let newer = folder.path().join("sm-1.2.ncu-repz");
        std::fs::write(&newer, "x").unwrap();
        assert_eq!(written(&output, ""), Some(newer.clone()));
        assert_eq!(written(&output, &format!("==PROF== Report: {}", newer.display())), Some(newer));
    }

    #[test]
    fn knobs_survive_the_manifest() {
        let json = serde_json::to_string(&Knobs::default()).unwrap();
        insta::assert_snapshot!(json, @r#"{"clock_control":"none","cache_control":"all","replay_mode":"kernel"}"#);
        assert_eq!(serde_json::from_str::<Knobs>(&json).unwrap(), Knobs::default());
    }
}
