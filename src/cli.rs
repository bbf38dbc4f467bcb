//! The arguments of the command line.

mod agent;
mod capture;
mod cluster;
mod demo_init;
mod explain;
mod maintenance;
mod problem;
mod removed;
mod show;
mod subset;
mod verbosity;

pub use agent::{CallArgs, NextArgs, TryArgs};
pub use capture::CaptureArgs;
pub use cluster::{ClusterCommand, MergeArgs, SlurmArgs};
pub use demo_init::{DemoArgs, InitArgs};
pub use explain::{ExplainArgs, OccupancyArgs, Reader};
pub use maintenance::{
    CalibrateArgs, CompletionsArgs, LeaderboardCommand, ListArgs, PromoteArgs, SchemaArgs, ShowEntryArgs, WorkerArgs,
};
pub use problem::{ExportCommand, ExportKernelBenchArgs, PackageArgs, ProblemCommand};
pub use removed::replacement;
pub use show::{LaunchArgs, RowFormat, ShowArgs, ShowView};
pub use subset::SubsetArgs;
pub use verbosity::{ColorChoice, VerbosityArgs};

use clap::{Args, CommandFactory, Parser, Subcommand, ValueEnum};
use ncugate_campaign::{DeepChoice, GpuChoice, GpuWait};
use ncugate_judge::reference_runs::{MismatchPolicy, ReferenceRequest};
use ncugate_model::SanitizerTool;
use ncugate_phase::config::WaiverRequest;
use ncugate_phase::plan::Shard;
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

/// Sweep, verify, time, profile and gate CUDA kernels with Nsight Compute.
///
/// Exit status: 0 all required gates passed; 1 a required gate failed; 2 wrong command line or config; 3 environment or tool
/// failed; 4 inconclusive.
#[derive(Debug, Parser)]
#[command(name = "ncugate", version = env!("NCUGATE_VERSION"), max_term_width = 100)]
pub struct Cli {
    /// The subcommand.
    #[command(subcommand)]
    pub command: Command,
    /// Options of every command.
    #[command(flatten)]
    pub manner: VerbosityArgs,
}

/// The subcommands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Show the report of a built-in recording; needs no GPU
    Demo(DemoArgs),
    /// Draft a phase from a kernel or a PyTorch function; mark guesses
    Init(InitArgs),
    /// Write a phase from a kernel launch of a running program
    Capture(CaptureArgs),
    /// Check a phase without a GPU: config, build and build-time gates
    Check(CheckArgs),
    /// Build, verify, time, profile and judge a phase; write its report
    Run(RunArgs),
    /// Print a run's verdict, or launches and metrics of ncu reports
    Show(ShowArgs),
    /// Write an HTML page of a run or ncu report, or compare two
    Page(PageArgs),
    /// Explain why a kernel is slow, or what a metric means
    Explain(ExplainArgs),
    /// Compare two runs or ncu reports: changes, noise, verdicts
    Compare(CompareArgs),
    /// Export a run or ncu report as CSV, JSON, Parquet or Arrow
    Export(ExportArgs),
    /// Write an HTML page of all runs and their history
    History(HistoryArgs),
    /// Judge an earlier run, a recording or ncu reports by a phase
    Gate(GateArgs),
    /// Promote runs to a phase's leaderboard, and list its entries
    #[command(subcommand)]
    Leaderboard(LeaderboardCommand),
    /// Check GPU, driver, nvcc, ncu and permissions, and suggest fixes
    Doctor(DoctorArgs),
    /// Try a source, suggest the next change, or call an agent's tools
    #[command(subcommand)]
    Agent(AgentCommand),
    /// Measure a phase on Slurm, or merge its shards
    #[command(subcommand)]
    Cluster(ClusterCommand),
    /// Convert from and to FlashInfer-Trace, KernelBench and gpu-mode
    #[command(subcommand)]
    Problem(ProblemCommand),
    /// Run smaller tools: recordings, occupancy, noise, inputs, redaction
    #[command(subcommand)]
    Tools(ToolsCommand),
    /// Launch kernels for a parent process
    #[command(hide = true)]
    Worker(WorkerArgs),
    /// Terminate the children of a parent process that was killed
    #[command(hide = true)]
    Guard,
}

/// `ncugate agent`
#[derive(Debug, Subcommand)]
pub enum AgentCommand {
    /// Measure one source against the best so far; print one line of JSON
    Try(TryArgs),
    /// Suggest the next change after a run, as one line of JSON
    Next(NextArgs),
    /// List the tools of an agent with their arguments, as JSON
    Tools,
    /// Call one of these tools; print its result as JSON
    Call(CallArgs),
}

/// `ncugate tools`
#[derive(Debug, Subcommand)]
pub enum ToolsCommand {
    /// Compute how many blocks fit on an SM, and the limiting resource
    Occupancy(OccupancyArgs),
    /// Measure this machine's timing noise by an A/A test
    Calibrate(CalibrateArgs),
    /// Run a program once under ncu, and keep the report
    Profile(ProfileArgs),
    /// Save a run as a recording: compressed, no host names or paths
    Record(RecordArgs),
    /// Write a phase's inputs as NumPy files: DIR/SHAPE/SEED/BUFFER.npy
    Inputs(InputsArgs),
    /// Remove host names, addresses and home folders from an ncu report
    Redact(RedactArgs),
    /// Print the JSON Schema of the config or of the results
    Schema(SchemaArgs),
    /// Print shell completions
    Completions(CompletionsArgs),
}

/// The first-level commands in groups, in the order of the help.
pub const GROUPS: [(&str, &[&str]); 5] = [
    ("Start", &["demo", "init", "capture", "check", "run"]),
    ("Results", &["show", "page", "explain", "compare", "export", "history"]),
    ("Merge", &["gate", "leaderboard"]),
    ("Machine", &["doctor"]),
    ("More", &["agent", "cluster", "problem", "tools"]),
];

/// Last line of every help.
const GLOSSARY: &str = "docs/glossary.md defines the terms.";

fn with_glossary(command: clap::Command) -> clap::Command {
    command.after_help(GLOSSARY).mut_subcommands(with_glossary)
}

impl Cli {
    /// The command line with its help in groups.
    pub fn grouped() -> clap::Command {
        let command = with_glossary(Self::command());
        let heading = command.get_styles().get_header();
        let literal = command.get_styles().get_literal();
        let mut list = String::new();
        for (group, names) in GROUPS {
            list += &format!("{heading}{group}:{heading:#}\n");
            for name in names {
                let about = command.find_subcommand(name).and_then(clap::Command::get_about).unwrap_or_default();
                list += &format!("  {literal}{name:<12}{literal:#} {about}\n");
            }
            list.push('\n');
        }
        let template = format!(
            "{{about-with-newline}}\n{{usage-heading}} {{usage}}\n\n{list}{heading}Options:{heading:#}\n{{options}}{{after-help}}\n"
        );
        command.help_template(template)
    }
}

/// Source of measurements.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum MeasurementSource {
    /// The GPU if there is one, else the phase's recording, which never passes: status 4, or 1 if it fails
    Auto,
    /// The GPU
    Gpu,
    /// The phase's recording, with its verdict
    Recorded,
}

/// Format of standard output.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum OutputFormat {
    /// Tables
    Text,
    /// JSON only
    Json,
}

/// Folders of runs and reports.
#[derive(Debug, Clone, Args)]
pub struct FolderArgs {
    /// Folder of runs
    #[arg(long, value_name = "DIR", default_value = "profiles")]
    pub profiles: PathBuf,
    /// Folder of reports
    #[arg(long, value_name = "DIR", default_value = "reports")]
    pub reports: PathBuf,
}

impl FolderArgs {
    /// The folder of a run's report.
    pub fn report(&self, phase: &str, run: &str) -> PathBuf {
        self.reports.join(phase).join(run)
    }
}

/// Outputs of a command.
#[derive(Debug, Clone, Args)]
pub struct OutputArgs {
    /// Format of standard output
    #[arg(long, value_enum, default_value_t = OutputFormat::Text)]
    pub format: OutputFormat,
    /// Also write a Markdown comment (under 65,536 characters) to this file
    #[arg(long, value_name = "FILE")]
    pub comment: Option<PathBuf>,
    /// Open the report in the browser
    #[arg(long)]
    pub open: bool,
}

/// The stored run to compare with.
#[derive(Debug, Clone, Default, Args)]
pub struct StoredBaselineArgs {
    /// Stored run for `baseline.` in gates: a folder, a run id or a leaderboard entry
    #[arg(long, value_name = "NAME")]
    pub against: Option<String>,
    /// Compare even if GPU, driver, tools or workload differ; the report warns
    #[arg(long)]
    pub allow_mismatch: bool,
}

impl From<&StoredBaselineArgs> for ReferenceRequest {
    fn from(against: &StoredBaselineArgs) -> Self {
        let mismatch = if against.allow_mismatch { MismatchPolicy::Allow } else { MismatchPolicy::Refuse };
        Self { name: against.against.clone(), mismatch }
    }
}

/// Waivers for one change.
#[derive(Debug, Clone, Default, Args)]
pub struct WaiverArgs {
    /// Waive a gate today, as `[[waiver]]` does; `*` is every phase or gate (repeatable)
    #[arg(long = "waive", value_name = "PHASE/GATE: REASON")]
    pub waivers: Vec<WaiverRequest>,
}

/// Limit of waiting for a GPU.
#[derive(Debug, Clone, Copy, Default, Args)]
pub struct GpuWaitArgs {
    /// Wait at most this long for a busy GPU; 0 exits at once with status 3 [default: no limit]
    #[arg(long = "wait", value_name = "SECONDS")]
    pub seconds: Option<u64>,
}

impl From<GpuWaitArgs> for GpuWait {
    fn from(waiting: GpuWaitArgs) -> Self {
        waiting.seconds.map_or(Self::Endless, |seconds| Self::Limited(Duration::from_secs(seconds)))
    }
}

/// `ncugate run`
#[derive(Debug, Clone, Args)]
pub struct RunArgs {
    /// Phase files, or a CUDA source to draft a phase from; the worst status is returned
    #[arg(value_name = "CONFIG|KERNEL.cu", required = true)]
    pub configs: Vec<PathBuf>,
    /// Kernel to run, if the source defines several
    #[arg(long, value_name = "NAME")]
    pub entry: Option<String>,
    /// Source of measurements
    #[arg(long, value_enum, default_value_t = MeasurementSource::Auto)]
    pub source: MeasurementSource,
    /// Measure every variant separately, even if machine code and launch are equal
    #[arg(long)]
    pub no_share: bool,
    /// Start a new run instead of continuing an unfinished one
    #[arg(long)]
    pub fresh: bool,
    /// Measure only part I of N of the candidates, without a verdict, for `cluster merge`
    #[arg(long, value_name = "I/N", conflicts_with_all = ["against", "allow_mismatch", "comment", "open", "SubsetArgs"])]
    pub shard: Option<Shard>,
    /// Subset of the phase
    #[command(flatten)]
    pub part: SubsetArgs,
    /// List the planned measurements without making them; needs no GPU
    #[arg(long, conflicts_with_all = ["shard", "comment", "open"])]
    pub list: bool,
    /// Also time the kernels of the merge base with this branch or commit, as `base.` in gates
    #[arg(long, value_name = "REF", conflicts_with = "shard")]
    pub base: Option<String>,
    /// Exit with the statuses of `git bisect run`: 0 good, 1 bad, 125 for everything else
    #[arg(long, conflicts_with = "list")]
    pub bisect_status: bool,
    /// Stop measuring after this time; the same command continues the run
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..))]
    pub time_budget: Option<u64>,
    /// GPUs to use: all, auto (free ones of the first GPU's model), indices (0,2) or UUIDs; each measures a shard, and the
    /// first confirms [default: the first visible GPU]
    #[arg(long, value_name = "GPUS")]
    pub gpus: Option<GpuChoice>,
    /// Also take a deep profile of a variant, the best N (`top:N`) or `each` (repeatable)
    #[arg(long, value_name = "VARIANT|top:N|each", conflicts_with = "shard")]
    pub deep: Vec<DeepChoice>,
    /// Do not measure what costs of the selected variant are worth
    #[arg(long)]
    pub no_measure: bool,
    /// Also launch every variant under these tools of compute-sanitizer [default: all four]
    #[arg(
        long,
        value_name = "TOOL,...",
        num_args = 0..=1,
        require_equals = true,
        value_delimiter = ',',
        default_missing_value = "memcheck,racecheck,synccheck,initcheck"
    )]
    pub sanitize: Vec<SanitizerTool>,
    /// Waiting
    #[command(flatten)]
    pub waiting: GpuWaitArgs,
    /// Waivers
    #[command(flatten)]
    pub waived: WaiverArgs,
    /// Comparison
    #[command(flatten)]
    pub against: StoredBaselineArgs,
    /// Folders
    #[command(flatten)]
    pub folders: FolderArgs,
    /// Output
    #[command(flatten)]
    pub saying: OutputArgs,
}

/// `ncugate check`
#[derive(Debug, Args)]
pub struct CheckArgs {
    /// Phase files; or built files: libraries, executables, objects, archives, cubins, fat binaries
    #[arg(value_name = "CONFIG|LIBRARY", required = true)]
    pub configs: Vec<PathBuf>,
    /// Recorded resource use of a library's kernels (TOML): more use fails, any other change needs `--update`
    #[arg(long, value_name = "FILE")]
    pub baseline: Option<PathBuf>,
    /// Rewrite the baseline from the library
    #[arg(long, requires = "baseline")]
    pub update: bool,
    /// Format of standard output; csv is a row for each variant of a phase
    #[arg(long, value_enum, default_value_t = RowFormat::Text)]
    pub format: RowFormat,
    /// Architecture to build for [default: the phase's, else the GPU's, else sm_90]; several are compared
    #[arg(long, value_name = "ARCH", value_delimiter = ',')]
    pub arch: Vec<String>,
    /// Number of SMs, for launches that depend on it and gates on waves [default: that of this machine's GPU]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub sms: Option<u32>,
    /// Check only the config
    #[arg(long)]
    pub no_build: bool,
    /// List the wrong answers that the tolerance accepts
    #[arg(long)]
    pub mutants: bool,
    /// Refuse a phase that names a program or a file outside its project, as `agent call` does
    #[arg(long, hide = true)]
    pub confined: bool,
}

/// `ncugate gate`
#[derive(Debug, Args)]
pub struct GateArgs {
    /// Phase file
    #[arg(value_name = "CONFIG")]
    pub config: PathBuf,
    /// A run, or ncu reports (.ncu-rep, .ncu-repz)
    #[arg(value_name = "RUN|REPORT", required = true)]
    pub paths: Vec<PathBuf>,
    /// Judge ncu reports despite missing evidence (repeatable)
    #[arg(long, value_enum, value_name = "WHAT")]
    pub assume: Vec<Assumption>,
    /// Waivers
    #[command(flatten)]
    pub waived: WaiverArgs,
    /// Comparison
    #[command(flatten)]
    pub against: StoredBaselineArgs,
    /// Folders
    #[command(flatten)]
    pub folders: FolderArgs,
    /// Output
    #[command(flatten)]
    pub saying: OutputArgs,
}

/// An assumption about ncu reports of another program.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Assumption {
    /// Results are correct, although the reports do not prove it
    Correct,
    /// Durations are unedited, although no second clock confirms them, or another counter contradicts them
    Unedited,
}

/// `ncugate page`
#[derive(Debug, Args)]
pub struct PageArgs {
    /// A run or ncu report, or two to compare
    #[arg(value_name = "RUN|REPORT", required = true, num_args = 1..=2)]
    pub paths: Vec<PathBuf>,
    /// File to write, `-` for standard output; for a run, the folder of its report [default: reports/PHASE/RUN]
    #[arg(short, long, value_name = "PATH")]
    pub output: Option<PathBuf>,
    /// Launches
    #[command(flatten)]
    pub launches: LaunchArgs,
    /// Comparison
    #[command(flatten)]
    pub against: StoredBaselineArgs,
    /// Folders
    #[command(flatten)]
    pub folders: FolderArgs,
    /// Also write a Markdown comment (under 65,536 characters) to this file
    #[arg(long, value_name = "FILE")]
    pub comment: Option<PathBuf>,
    /// Open the page in the browser
    #[arg(long)]
    pub open: bool,
}

/// `ncugate compare`
#[derive(Debug, Args)]
pub struct CompareArgs {
    /// A run or ncu report (.ncu-rep, .ncu-repz)
    #[arg(value_name = "RUN|REPORT")]
    pub a: PathBuf,
    /// The run or report to compare with A
    #[arg(value_name = "RUN|REPORT")]
    pub b: PathBuf,
    /// Compare only these metrics, by name (`achieved_occupancy`), ncu's name or glob; repeatable
    #[arg(long = "metric", value_name = "METRIC|GLOB", value_delimiter = ',')]
    pub metrics: Vec<String>,
    /// Launches of reports
    #[command(flatten)]
    pub launches: LaunchArgs,
    /// Format of standard output
    #[arg(long, value_enum, default_value_t = CompareFormat::Text)]
    pub format: CompareFormat,
    /// Folder of runs
    #[arg(long, value_name = "DIR", default_value = "profiles")]
    pub profiles: PathBuf,
}

/// Formats of a comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum CompareFormat {
    /// Tables
    Text,
    /// JSON only
    Json,
    /// Markdown
    Markdown,
}

/// `ncugate history`
#[derive(Debug, Args)]
pub struct HistoryArgs {
    /// Phases to show, in this order [default: all that have runs]
    #[arg(value_name = "CONFIG")]
    pub configs: Vec<PathBuf>,
    /// Also write the latest state of each phase as Markdown to this file
    #[arg(long, value_name = "FILE")]
    pub summary: Option<PathBuf>,
    /// Folders
    #[command(flatten)]
    pub folders: FolderArgs,
    /// Format of standard output
    #[arg(long, value_enum, default_value_t = OutputFormat::Text)]
    pub format: OutputFormat,
}

/// `ncugate export`
#[derive(Debug, Args)]
pub struct ExportArgs {
    /// A run; or ncu reports (.ncu-rep, .ncu-repz), ncu's CSV, or globs
    #[arg(value_name = "RUN|REPORT", required = true)]
    pub paths: Vec<String>,
    /// Format of the file
    #[arg(long, value_enum, value_name = "FORMAT", default_value_t = ExportFormat::Csv)]
    pub to: ExportFormat,
    /// File to write, overwritten if it exists [default: standard output]
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Metrics of reports to export, by name (`achieved_occupancy`), ncu's name or glob; repeatable
    #[arg(long = "metric", value_name = "METRIC|GLOB", value_delimiter = ',')]
    pub metrics: Vec<String>,
    /// Write one row per launch and one column per metric (of a run: of its reports)
    #[arg(long)]
    pub wide: bool,
    /// Launches
    #[command(flatten)]
    pub launches: LaunchArgs,
    /// Folder of runs
    #[arg(long, value_name = "DIR", default_value = "profiles")]
    pub profiles: PathBuf,
}

/// Formats of an export.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ExportFormat {
    /// Comma-separated values
    Csv,
    /// An array of objects
    Json,
    /// Apache Parquet
    Parquet,
    /// Apache Arrow, an IPC file (Feather)
    Arrow,
    /// A C header with the variant to use at each shape, if the run passes
    DispatchHeader,
    /// The same table as JSON
    DispatchJson,
}

/// `ncugate doctor`
#[derive(Debug, Args)]
pub struct DoctorArgs {
    /// Format of standard output
    #[arg(long, value_enum, default_value_t = OutputFormat::Text)]
    pub format: OutputFormat,
    /// Also launch one kernel, and read one counter with ncu
    #[arg(long)]
    pub probe: bool,
}

/// `ncugate tools record`
#[derive(Debug, Args)]
pub struct RecordArgs {
    /// Folder of the run
    #[arg(value_name = "RUN")]
    pub run: PathBuf,
    /// Folder of the recording; an older recording is replaced
    #[arg(short, long, value_name = "DIR")]
    pub output: PathBuf,
    /// Record a run of a captured phase: it has arguments and values of the captured program
    #[arg(long)]
    pub captured: bool,
    /// Format of standard output
    #[arg(long, value_enum, default_value_t = OutputFormat::Text)]
    pub format: OutputFormat,
}

/// `ncugate tools profile`
#[derive(Debug, Args)]
pub struct ProfileArgs {
    /// Program and its arguments
    #[arg(value_name = "PROGRAM", required = true, trailing_var_arg = true, allow_hyphen_values = true)]
    pub program: Vec<OsString>,
    /// Report to write
    #[arg(short, long, value_name = "FILE.ncu-rep")]
    pub output: PathBuf,
    /// Metrics to count, by name (`achieved_occupancy`) or ncu's name; repeatable
    #[arg(long = "metric", value_name = "METRIC", value_delimiter = ',', default_value = "duration")]
    pub metrics: Vec<String>,
    /// Only launches in NVTX push/pop ranges of this name (repeatable)
    #[arg(long = "range", value_name = "NAME")]
    pub ranges: Vec<String>,
    /// Time limit of the program under ncu
    #[arg(long, value_name = "SECONDS", default_value_t = 600, value_parser = clap::value_parser!(u64).range(1..))]
    pub timeout: u64,
    /// Waiting
    #[command(flatten)]
    pub waiting: GpuWaitArgs,
}

/// `ncugate tools inputs`
#[derive(Debug, Args)]
pub struct InputsArgs {
    /// Phase file
    #[arg(value_name = "CONFIG")]
    pub config: PathBuf,
    /// Folder to write
    #[arg(short, long, value_name = "DIR")]
    pub output: PathBuf,
    /// Format of standard output
    #[arg(long, value_enum, default_value_t = OutputFormat::Text)]
    pub format: OutputFormat,
}

/// `ncugate tools redact`
#[derive(Debug, Args)]
pub struct RedactArgs {
    /// ncu report (.ncu-rep, .ncu-repz)
    #[arg(value_name = "REPORT")]
    pub report: PathBuf,
    /// Redacted report to write; .ncu-repz is compressed
    #[arg(short, long, value_name = "FILE")]
    pub output: PathBuf,
    /// Also remove cubins and imported source files
    #[arg(long)]
    pub drop_sources: bool,
    /// Format of standard output
    #[arg(long, value_enum, default_value_t = OutputFormat::Text)]
    pub format: OutputFormat,
}

#[cfg(test)]
mod tests {
    use super::{Cli, GLOSSARY};
    use clap::{Command, CommandFactory};

    fn prove_help(command: &Command) {
        let about = command.get_about().unwrap().to_string();
        assert!(about.chars().count() <= 80, "{about}");
        assert_eq!(command.get_after_help().unwrap().to_string(), GLOSSARY, "{}", command.get_name());
        command.get_subcommands().for_each(prove_help);
    }

    #[test]
    fn every_help_begins_with_one_line_and_ends_with_the_glossary() {
        prove_help(&Cli::grouped());
    }

    #[test]
    fn every_argument_named_by_another_exists() {
        Cli::command().debug_assert();
    }
}
