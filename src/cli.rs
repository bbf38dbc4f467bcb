//! The command line as typed. What it means is the commands' business.

mod demo_init;
mod exchange;
mod explain;
mod maintenance;
mod search;
mod show;
mod show_detail;
mod submit;
mod subset;
mod verbosity;

pub use demo_init::{DemoArgs, InitArgs};
pub use exchange::{
    ExportCommand, ExportFastPArgs, ExportFlashInferArgs, ExportKernelBenchArgs, GivenTensors, ImportCommand,
    ImportFlashInferArgs, ImportGpuModeArgs, ImportKernelBenchArgs, ImportPrecision,
};
pub use explain::{ExplainArgs, OccupancyArgs, Reader};
pub use maintenance::{
    BaselineCommand, CalibrateArgs, CompletionsArgs, ListArgs, ManArgs, PromoteArgs, SchemaArgs, ShowBaselineArgs,
    WorkerArgs,
};
pub use search::{NextArgs, TryArgs};
pub use show::ShowArgs;
pub use show_detail::{DetailArgs, RowFormat};
pub use submit::{HyperQueueArgs, MergeArgs, SlurmArgs, SubmitArgs, SubmitCommand};
pub use subset::SubsetArgs;
pub use verbosity::{ColorChoice, VerbosityArgs};

use clap::{Args, Parser, Subcommand, ValueEnum};
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
    /// Build, verify, time, profile and judge a phase, and write its report
    Run(RunArgs),
    /// Show the report of a recording that the program carries: no GPU, no CUDA, no repository
    Demo(DemoArgs),
    /// Draft a phase from a kernel's source: its signature, indices and host code, with a mark at every guess
    Init(InitArgs),
    /// Check a phase without a GPU: the config, the build, and the gates that they decide
    Check(CheckArgs),
    /// Judge what was measured earlier: a run, a recording, or ncu reports
    Gate(GateArgs),
    /// Show the launches and metrics of ncu reports
    Show(ShowArgs),
    /// Say why a kernel takes the time that it takes: one bottleneck, the evidence, what to try next
    Explain(ExplainArgs),
    /// How many blocks of a kernel a multiprocessor holds, what limits that, and what to change for one more
    Occupancy(OccupancyArgs),
    /// Check this machine: GPU, driver, nvcc, ncu, permissions, and how to fix what is missing
    Doctor(DoctorArgs),
    /// Render the report of a stored run again
    Report(ReportArgs),
    /// Show two runs, recordings or ncu reports side by side: changes, their noise, verdicts that turned
    Compare(CompareArgs),
    /// Write a page over all runs, with their history, and a summary of a set of phases
    Index(IndexArgs),
    /// Write everything a run measured as one table: a row a variant and shape, a column a metric
    Table(TableArgs),
    /// Put the shards of a phase together, as a run that `run` confirms and judges
    Merge(MergeArgs),
    /// Measure a phase on a cluster: a job array of shards, merged and judged; follows it, and cancels it on Ctrl-C
    #[command(subcommand)]
    Submit(SubmitCommand),
    /// Write what the buffers of a phase hold before a launch, as NumPy files: DIR/SHAPE/SEED/BUFFER.npy
    Inputs(InputsArgs),
    /// Make a phase of another project's problem: FlashInfer-Trace, KernelBench, gpu-mode
    #[command(subcommand)]
    Import(ImportCommand),
    /// Write results in the forms of other projects: FlashInfer-Trace, KernelBench
    #[command(subcommand)]
    Export(ExportCommand),
    /// Keep a run in the repository: compressed, with host names, addresses and paths taken out
    Record(RecordArgs),
    /// Take host names, addresses and users' folders out of an ncu report
    Redact(RedactArgs),
    /// The leaderboard of a phase: promote a run to it, list and show its entries
    #[command(subcommand)]
    Baseline(BaselineCommand),
    /// Measure and save this machine's timing noise by an A/A test; gates tighter than it say so
    Calibrate(CalibrateArgs),
    /// Print the JSON Schema of the config, for editors, or of the results
    Schema(SchemaArgs),
    /// Print completions for a shell: `ncugate completions bash > /etc/bash_completion.d/ncugate`
    Completions(CompletionsArgs),
    /// Write man pages to a folder
    Man(ManArgs),
    /// Build, prove, time, profile and judge one source against the best so far; answers in one line of JSON
    Try(TryArgs),
    /// Say what to try next, by a run, in one line of JSON
    Next(NextArgs),
    /// Serve `try`, `next` and `check` to an agent: the Model Context Protocol over standard input and output
    Mcp,
    /// Launch kernels for a parent process
    #[command(hide = true)]
    Worker(WorkerArgs),
    /// End the children of a parent process that is killed
    #[command(hide = true)]
    Guard,
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
    /// The phases; of several each is run, and the gravest status counts
    #[arg(value_name = "CONFIG", required = true)]
    pub configs: Vec<PathBuf>,
    /// Where measurements come from
    #[arg(long, value_enum, default_value_t = MeasurementSource::Auto)]
    pub source: MeasurementSource,
    /// Measure every variant, even those with equal machine code and equal launches
    #[arg(long)]
    pub no_share: bool,
    /// Start anew instead of continuing an unfinished run
    #[arg(long)]
    pub fresh: bool,
    /// Measure one of N equal parts of the candidates, with every baseline, and judge nothing; `merge` puts parts together
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
    /// Refuse a phase that names a program to run or a file outside of its project, as `mcp` does for an agent
    #[arg(long, hide = true)]
    pub confined: bool,
}

/// `ncugate gate`
#[derive(Debug, Args)]
pub struct GateArgs {
    /// The phase
    #[arg(value_name = "CONFIG")]
    pub config: PathBuf,
    /// A run, a recording, or ncu reports (.ncu-rep, .ncu-repz)
    #[arg(long, value_name = "PATH", required = true, num_args = 1..)]
    pub profile: Vec<PathBuf>,
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

/// `ncugate report`
#[derive(Debug, Args)]
pub struct ReportArgs {
    /// The run's folder
    #[arg(value_name = "RUN")]
    pub run: PathBuf,
    /// Folder of this report, instead of one named after phase and run in the folder of reports
    #[arg(short, long, value_name = "DIR")]
    pub output: Option<PathBuf>,
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

/// `ncugate compare`
#[derive(Debug, Args)]
pub struct CompareArgs {
    /// The folder of a run or recording, or an ncu report (.ncu-rep, .ncu-repz)
    #[arg(value_name = "A")]
    pub a: PathBuf,
    /// What is compared with it
    #[arg(value_name = "B")]
    pub b: PathBuf,
    /// What standard output carries
    #[arg(long, value_enum, default_value_t = OutputFormat::Text)]
    pub format: OutputFormat,
    /// Also write the comparison as Markdown to this file
    #[arg(long, value_name = "FILE")]
    pub markdown: Option<PathBuf>,
    /// Also write the comparison as a self-contained page to this file
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
}

/// `ncugate index`
#[derive(Debug, Args)]
pub struct IndexArgs {
    /// Phases to show, in this order; without any, all that have runs
    #[arg(value_name = "CONFIG")]
    pub configs: Vec<PathBuf>,
    /// Also write the state of each phase, by its latest run, as Markdown to this file
    #[arg(long, value_name = "FILE")]
    pub summary: Option<PathBuf>,
    /// Folders
    #[command(flatten)]
    pub folders: FolderArgs,
    /// What standard output carries
    #[arg(long, value_enum, default_value_t = OutputFormat::Text)]
    pub format: OutputFormat,
}

/// `ncugate table`
#[derive(Debug, Args)]
pub struct TableArgs {
    /// The folder of a run or recording
    #[arg(value_name = "RUN")]
    pub run: PathBuf,
    /// File format; arrow is an IPC file (Feather)
    #[arg(long = "to", value_enum, value_name = "FORMAT", default_value_t = TableTo::Csv)]
    pub format: TableTo,
    /// Write instead which variant to use at which shape; the status is the verdict of the phase, and a phase that does not
    /// pass has no such table
    #[arg(long, value_enum, value_name = "FORMAT", conflicts_with = "format")]
    pub dispatch: Option<DispatchTo>,
    /// File to write, replaced if it is there; else standard output
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
}

/// File format of a dispatch table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum DispatchTo {
    /// A C header
    Header,
    /// JSON
    Json,
}

/// File format of a run's table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum TableTo {
    /// Comma-separated values
    Csv,
    /// Apache Parquet
    Parquet,
    /// Apache Arrow
    Arrow,
    /// An array of objects, one a line
    Json,
}

/// `ncugate doctor`
#[derive(Debug, Args)]
pub struct DoctorArgs {
    /// Print the checks as JSON, and nothing else: `--format json`
    #[arg(long)]
    pub json: bool,
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

/// `ncugate inputs`
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

/// `ncugate redact`
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
