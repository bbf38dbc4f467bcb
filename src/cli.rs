//! The command line as typed. What it means is the commands' business.

mod agent;
mod cluster;
mod demo_init;
mod exchange;
mod explain;
mod maintenance;
mod show;
mod show_detail;
mod subset;
mod verbosity;

pub use agent::{NextArgs, TryArgs};
pub use cluster::{ClusterCommand, HyperQueueArgs, MergeArgs, SlurmArgs, SubmitArgs};
pub use demo_init::{DemoArgs, InitArgs};
pub use exchange::{
    ExportCommand, ExportFastPArgs, ExportFlashInferArgs, ExportKernelBenchArgs, GivenTensors, ImportCommand,
    ImportFlashInferArgs, ImportGpuModeArgs, ImportKernelBenchArgs, ImportPrecision,
};
pub use explain::{ExplainArgs, OccupancyArgs, Reader};
pub use maintenance::{
    CalibrateArgs, CompleteArgs, CompletionsArgs, LeaderboardCommand, ListArgs, ManArgs, PromoteArgs, SchemaArgs,
    ShowEntryArgs, WorkerArgs,
};
pub use show::{LaunchArgs, ShowArgs};
pub use show_detail::{DetailArgs, RowFormat};
pub use subset::SubsetArgs;
pub use verbosity::{ColorChoice, VerbosityArgs};

use clap::{Args, CommandFactory, Parser, Subcommand, ValueEnum};
use ncugate_campaign::{DeepChoice, GpuChoice, GpuWait};
use ncugate_judge::reference_runs::{MismatchPolicy, ReferenceRequest};
use ncugate_phase::plan::Shard;
use std::path::PathBuf;
use std::time::Duration;

/// Sweep, verify, time, profile and gate CUDA kernels with Nsight Compute.
///
/// Exit status: 0 all required gates passed; 1 a required gate failed; 2 the command line or the config is wrong;
/// 3 the environment or a tool failed; 4 inconclusive.
#[derive(Debug, Parser)]
#[command(name = "ncugate", version = env!("NCUGATE_VERSION"), max_term_width = 100)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
    /// How much is said.
    #[command(flatten)]
    pub manner: VerbosityArgs,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Show the report of a built-in recording: no GPU, no CUDA, no repository
    Demo(DemoArgs),
    /// Draft a phase from a kernel's source, with a mark at every guess
    Init(InitArgs),
    /// Check a phase without a GPU: its config, its build, and the gates that these decide
    Check(CheckArgs),
    /// Build, verify, time, profile and judge a phase, and write its report
    Run(RunArgs),
    /// Print the verdict of a run, or the launches and metrics of ncu reports
    Show(ShowArgs),
    /// Write the HTML page of a run or an ncu report; of two, their comparison
    Page(PageArgs),
    /// Say why a kernel is slow: one bottleneck, its evidence, what to try next
    Explain(ExplainArgs),
    /// Print two runs or ncu reports side by side: changes, noise, changed verdicts
    Compare(CompareArgs),
    /// Write the numbers of a run or an ncu report as CSV, JSON, Parquet or Arrow
    Export(ExportArgs),
    /// Write a page over all runs with their history
    History(HistoryArgs),
    /// Judge an earlier run, a recording, or ncu reports by a phase
    Gate(GateArgs),
    /// Keep a run in the repository: compressed, without host names, addresses and paths
    Record(RecordArgs),
    /// Promote runs to the leaderboard of a phase, and list its entries
    #[command(subcommand)]
    Leaderboard(LeaderboardCommand),
    /// Check this machine: GPU, driver, nvcc, ncu, permissions, and how to fix what is missing
    Doctor(DoctorArgs),
    /// Try a source, ask what to try next, serve both to an agent
    #[command(subcommand)]
    Agent(AgentCommand),
    /// Measure a phase on Slurm or HyperQueue, or merge the shards of a phase
    #[command(subcommand)]
    Cluster(ClusterCommand),
    /// Import and export problems and results of FlashInfer-Trace, KernelBench and gpu-mode
    #[command(subcommand)]
    Problem(ProblemCommand),
    /// Occupancy, timing noise, inputs, redaction, schemas, completions, man pages
    #[command(subcommand)]
    Tools(ToolsCommand),
    /// Launch kernels for a parent process
    #[command(hide = true)]
    Worker(WorkerArgs),
    /// End the children of a parent process that is killed
    #[command(hide = true)]
    Guard,
    /// Print candidates for the last word of a command line
    #[command(hide = true)]
    Complete(CompleteArgs),
}

/// `ncugate agent`
#[derive(Debug, Subcommand)]
pub enum AgentCommand {
    /// Build, verify, time, profile and judge one source against the best so far; prints one line of JSON
    Try(TryArgs),
    /// Print what to try next after a run, as one line of JSON
    Next(NextArgs),
    /// Serve `try`, `next` and `check` by the Model Context Protocol over standard input and output
    Serve,
}

/// `ncugate problem`
#[derive(Debug, Subcommand)]
pub enum ProblemCommand {
    /// Make a phase of another project's problem
    #[command(subcommand)]
    Import(ImportCommand),
    /// Write results in another project's format
    #[command(subcommand)]
    Export(ExportCommand),
}

/// `ncugate tools`
#[derive(Debug, Subcommand)]
pub enum ToolsCommand {
    /// Compute how many blocks of a kernel fit on a multiprocessor, and what limits them
    Occupancy(OccupancyArgs),
    /// Measure this machine's timing noise by an A/A test; gates tighter than it say so
    Calibrate(CalibrateArgs),
    /// Write the inputs of a phase as NumPy files: DIR/SHAPE/SEED/BUFFER.npy
    Inputs(InputsArgs),
    /// Remove host names, addresses and users' folders from an ncu report
    Redact(RedactArgs),
    /// Print the JSON Schema of the config, for editors, or of the results
    Schema(SchemaArgs),
    /// Print completions for a shell
    Completions(CompletionsArgs),
    /// Write man pages to a folder
    Man(ManArgs),
}

/// First-level commands by what they are for, in the order of the help.
pub const GROUPS: [(&str, &[&str]); 5] = [
    ("Start", &["demo", "init", "check", "run"]),
    ("Results", &["show", "page", "explain", "compare", "export", "history"]),
    ("Merge", &["gate", "record", "leaderboard"]),
    ("Machine", &["doctor"]),
    ("More", &["agent", "cluster", "problem", "tools"]),
];

impl Cli {
    /// The command line with its help in groups.
    pub fn grouped() -> clap::Command {
        let command = Self::command();
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

/// Where measurements come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum MeasurementSource {
    /// The GPU; without a GPU or nvcc the phase's recording is shown, and does not pass (status 4 instead of 0)
    Auto,
    /// The GPU
    Gpu,
    /// The recording that the phase names, judged
    Recorded,
}

/// What standard output carries.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum OutputFormat {
    /// Tables for people
    Text,
    /// The results as JSON, and nothing else
    Json,
}

/// Where runs and reports are kept.
#[derive(Debug, Clone, Args)]
pub struct FolderArgs {
    /// Folder of runs
    #[arg(long, value_name = "DIR", default_value = "profiles")]
    pub profiles: PathBuf,
    /// Folder of rendered reports
    #[arg(long, value_name = "DIR", default_value = "reports")]
    pub reports: PathBuf,
}

impl FolderArgs {
    /// Where the report of a run goes.
    pub fn report(&self, phase: &str, run: &str) -> PathBuf {
        self.reports.join(phase).join(run)
    }
}

/// What is said, and where.
#[derive(Debug, Clone, Args)]
pub struct OutputArgs {
    /// What standard output carries
    #[arg(long, value_enum, default_value_t = OutputFormat::Text)]
    pub format: OutputFormat,
    /// Also write a Markdown comment body (under 65,536 characters) to this file
    #[arg(long, value_name = "FILE")]
    pub comment: Option<PathBuf>,
    /// Open the rendered report in the browser
    #[arg(long)]
    pub open: bool,
}

/// What a run is compared with.
#[derive(Debug, Clone, Default, Args)]
pub struct StoredBaselineArgs {
    /// A stored run to use as `baseline.` in gates: its folder, its id, or an entry of the leaderboard
    #[arg(long, value_name = "NAME")]
    pub against: Option<String>,
    /// Compare although GPU, driver, tools or workload differ; the report has a warning
    #[arg(long)]
    pub allow_mismatch: bool,
}

impl From<&StoredBaselineArgs> for ReferenceRequest {
    fn from(against: &StoredBaselineArgs) -> Self {
        let mismatch = if against.allow_mismatch { MismatchPolicy::Allow } else { MismatchPolicy::Refuse };
        Self { name: against.against.clone(), mismatch }
    }
}

/// How long to wait for a GPU.
#[derive(Debug, Clone, Copy, Default, Args)]
pub struct GpuWaitArgs {
    /// Wait so long for a GPU on which another run measures; 0 ends at once with status 3. Without it, until it is free
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
    /// The phases; of several each is run, and the gravest status counts. Of a kernel's source a phase is drafted and kept
    #[arg(value_name = "CONFIG|KERNEL.cu", required = true)]
    pub configs: Vec<PathBuf>,
    /// The kernel of a source that defines several
    #[arg(long, value_name = "NAME")]
    pub entry: Option<String>,
    /// Where measurements come from
    #[arg(long, value_enum, default_value_t = MeasurementSource::Auto)]
    pub source: MeasurementSource,
    /// Measure every variant, even those with equal machine code and equal launches
    #[arg(long)]
    pub no_share: bool,
    /// Start anew instead of continuing an unfinished run
    #[arg(long)]
    pub fresh: bool,
    /// Measure one of N equal parts of the candidates, with every baseline, and judge nothing; `cluster merge` puts parts together
    #[arg(long, value_name = "I/N", conflicts_with_all = ["against", "allow_mismatch", "comment", "open", "SubsetArgs"])]
    pub shard: Option<Shard>,
    /// The part that is measured
    #[command(flatten)]
    pub part: SubsetArgs,
    /// List what would be measured, and measure nothing; needs no GPU
    #[arg(long, conflicts_with_all = ["shard", "comment", "open"])]
    pub list: bool,
    /// Also time the kernels of the last commit in common with this branch or commit, interleaved with those here on the same GPU:
    /// gates read them as `base.latency_p50`, and the comment has a column of them
    #[arg(long, value_name = "REF", conflicts_with = "shard")]
    pub base: Option<String>,
    /// End measuring after so many seconds; the same command goes on where it ended
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..))]
    pub time_budget: Option<u64>,
    /// GPUs that take part: all, auto (those of the first one's kind on which nobody measures), numbers (0,2) or UUIDs. The first
    /// times; all check and count. Without it, the first that is visible
    #[arg(long, value_name = "GPUS")]
    pub gpus: Option<GpuChoice>,
    /// Take deep profiles of these too: a variant, the best N (`top:N`), or `each`; as often as needed
    #[arg(long, value_name = "VARIANT|top:N|each", conflicts_with = "shard")]
    pub deep: Vec<DeepChoice>,
    /// Waiting
    #[command(flatten)]
    pub waiting: GpuWaitArgs,
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
    /// The phases; or built files: libraries, executables, object files, archives of them, cubins, fat binaries
    #[arg(value_name = "CONFIG|LIBRARY", required = true)]
    pub configs: Vec<PathBuf>,
    /// What the kernels of a library used before (TOML): a kernel that uses more fails, and one that uses less, is new or
    /// is gone asks for `--update`
    #[arg(long, value_name = "FILE")]
    pub baseline: Option<PathBuf>,
    /// Write the baseline anew, as the library is now
    #[arg(long, requires = "baseline")]
    pub update: bool,
    /// What standard output carries
    #[arg(long, value_enum, default_value_t = OutputFormat::Text)]
    pub format: OutputFormat,
    /// Architecture to build for; else the phase's, else the GPU's, else sm_90
    #[arg(long, value_name = "ARCH")]
    pub arch: Option<String>,
    /// Multiprocessors of the GPU to check for, for gates on waves; else those of this machine's GPU
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub sms: Option<u32>,
    /// Check the config alone
    #[arg(long)]
    pub no_build: bool,
    /// List what the tolerance accepts: answers with faults in their inputs, arithmetic or result
    #[arg(long)]
    pub mutants: bool,
    /// Refuse a phase that names a program to run or a file outside of its project, as `agent serve` does for an agent
    #[arg(long, hide = true)]
    pub confined: bool,
}

/// `ncugate gate`
#[derive(Debug, Args)]
pub struct GateArgs {
    /// The phase
    #[arg(value_name = "CONFIG")]
    pub config: PathBuf,
    /// A run, or ncu reports (.ncu-rep, .ncu-repz)
    #[arg(value_name = "RUN|REPORT", required = true)]
    pub paths: Vec<PathBuf>,
    /// Judge plain ncu reports although they do not say whether results were correct
    #[arg(long)]
    pub assume_correct: bool,
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

/// `ncugate page`
#[derive(Debug, Args)]
pub struct PageArgs {
    /// A run or an ncu report; of two, their comparison
    #[arg(value_name = "RUN|REPORT", required = true, num_args = 1..=2)]
    pub paths: Vec<PathBuf>,
    /// Of a run the folder of its report, by default reports/PHASE/RUN; else the page's file, `-` for standard output
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
    /// Also write a Markdown comment body (under 65,536 characters) to this file
    #[arg(long, value_name = "FILE")]
    pub comment: Option<PathBuf>,
    /// Open the page in the browser
    #[arg(long)]
    pub open: bool,
}

/// `ncugate compare`
#[derive(Debug, Args)]
pub struct CompareArgs {
    /// A run or an ncu report (.ncu-rep, .ncu-repz)
    #[arg(value_name = "RUN|REPORT")]
    pub a: PathBuf,
    /// The run or report to compare with it
    #[arg(value_name = "RUN|REPORT")]
    pub b: PathBuf,
    /// Compare only these metrics, by name (`achieved_occupancy`), ncu's name or glob; repeatable
    #[arg(long = "metric", value_name = "METRIC|GLOB", value_delimiter = ',')]
    pub metrics: Vec<String>,
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
    /// Tables for people
    Text,
    /// JSON, and nothing else
    Json,
    /// Markdown
    Markdown,
}

/// `ncugate history`
#[derive(Debug, Args)]
pub struct HistoryArgs {
    /// Phases to show, in this order; without any, all that have runs
    #[arg(value_name = "CONFIG")]
    pub configs: Vec<PathBuf>,
    /// Also write the state of each phase, by its latest run, as Markdown to this file
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
    /// A run; or ncu reports (.ncu-rep, .ncu-repz), ncu's CSV, or globs of them
    #[arg(value_name = "RUN|REPORT", required = true)]
    pub paths: Vec<String>,
    /// Format of the file
    #[arg(long, value_enum, value_name = "FORMAT", default_value_t = ExportFormat::Csv)]
    pub to: ExportFormat,
    /// File to write, replaced if it exists; else standard output
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Metrics of reports to export, by name (`achieved_occupancy`), ncu's name or glob; repeatable
    #[arg(long = "metric", value_name = "METRIC|GLOB", value_delimiter = ',')]
    pub metrics: Vec<String>,
    /// Of reports, write one row a launch with one column a metric, instead of one row a launch and metric
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
    /// A C header with the variant to use at each shape; the status is the verdict of the run, and a run that does not pass
    /// has no such table
    DispatchHeader,
    /// The same as JSON
    DispatchJson,
}

/// `ncugate doctor`
#[derive(Debug, Args)]
pub struct DoctorArgs {
    /// What standard output carries
    #[arg(long, value_enum, default_value_t = OutputFormat::Text)]
    pub format: OutputFormat,
    /// Also launch one kernel, and count one counter of it with ncu
    #[arg(long)]
    pub probe: bool,
}

/// `ncugate record`
#[derive(Debug, Args)]
pub struct RecordArgs {
    /// The run's folder
    #[arg(value_name = "RUN")]
    pub run: PathBuf,
    /// Folder of the recording: new, empty, or an older recording, which is replaced
    #[arg(short, long, value_name = "DIR")]
    pub output: PathBuf,
    /// What standard output carries
    #[arg(long, value_enum, default_value_t = OutputFormat::Text)]
    pub format: OutputFormat,
}

/// `ncugate tools inputs`
#[derive(Debug, Args)]
pub struct InputsArgs {
    /// The phase
    #[arg(value_name = "CONFIG")]
    pub config: PathBuf,
    /// The folder to write
    #[arg(short, long, value_name = "DIR")]
    pub output: PathBuf,
    /// What standard output carries
    #[arg(long, value_enum, default_value_t = OutputFormat::Text)]
    pub format: OutputFormat,
}

/// `ncugate tools redact`
#[derive(Debug, Args)]
pub struct RedactArgs {
    /// The report (.ncu-rep, .ncu-repz)
    #[arg(value_name = "REPORT")]
    pub report: PathBuf,
    /// Where the redacted report goes; .ncu-repz is compressed
    #[arg(short, long, value_name = "FILE")]
    pub output: PathBuf,
    /// Drop cubins and imported source files too
    #[arg(long)]
    pub drop_sources: bool,
    /// What standard output carries
    #[arg(long, value_enum, default_value_t = OutputFormat::Text)]
    pub format: OutputFormat,
}

#[cfg(test)]
mod tests {
    use super::Cli;
    use clap::CommandFactory;

    #[test]
    fn every_argument_that_another_names_is_there() {
        Cli::command().debug_assert();
    }
}
