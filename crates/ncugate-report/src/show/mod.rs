//! Shows the contents of Nsight Compute reports, as a table or an export. Needs no ncu and no GPU.

mod input;
mod launch_detail;
mod launch_list;
mod metric_choice;
mod sheet;
mod table;

pub use launch_detail::LaunchDetail;
pub use launch_list::ListExtent;
pub use sheet::SheetFormat;

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use regex::Regex;

use crate::document::Document;
use crate::kernels;
use input::Input;
use launch_list::LaunchList;
use metric_choice::MetricChoice;
use ncu_explain::listing::ListingError;
use ncu_explain::{KernelFilter, KernelsError, ProfiledReport, source_of};
use ncu_rep::{Launch, ReportError, SourceFile};
use ncugate_judge::frame::TableFormat;
use ncugate_judge::frame::export::{Export, ExportError, ExportLayout};
use ncugate_judge::frame::launches::{Capture, FrameError};
use ncugate_judge::frame::rows::LaunchFilter;
use ncugate_model::disk::{self, Durability};
use ncugate_model::metric::MetricError;
use ncugate_model::{GlobError, VariantId};

/// The view of the matching launches.
#[derive(Debug, Clone)]
pub enum ShowContent {
    /// One line for each launch, or for each kernel and configuration of many; one launch in full if its id is given and
    /// no metric is requested.
    Launches(ListExtent),
    /// Messages of ncu's rules.
    Rules,
    /// How the reports were made.
    Session,
    /// Details of launches: sources, counters and warp states by source line, machine code.
    Inside { inside: LaunchDetail, format: SheetFormat },
    /// Their metrics: base units, full precision.
    Export {
        format: TableFormat,
        /// One row for each launch and metric, or one row for each launch.
        layout: ExportLayout,
        /// Destination; `-` is standard output.
        output: PathBuf,
        /// The variants of the run that the reports are of.
        variants: Option<Vec<VariantId>>,
    },
}

/// Reports to show, and the view of them.
#[derive(Debug, Clone)]
pub struct ShowRequest {
    /// Reports (`.ncu-rep`, `.ncu-repz`), ncu's CSV, or globs of them.
    pub reports: Vec<String>,
    /// Only launches whose kernel name matches.
    pub kernel: Option<Regex>,
    /// Show NVTX ranges; only launches whose ranges match.
    pub nvtx: Option<Regex>,
    /// Metrics to show or export: names of Nsight Compute or of the catalogue, or globs.
    pub metrics: Vec<String>,
    /// Only the launch with this id.
    pub launch: Option<u32>,
    /// Columns of the terminal; none if the output is not a terminal.
    pub columns: Option<usize>,
    pub shown: ShowContent,
}

/// Why the reports do not have a known metric.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MissingMetric {
    /// ncu did not collect it, or a counter that it is computed from.
    #[error("`{name}` was not collected{}; profile again with `ncu --metrics {}`", needs(name, counters), counters.join(","))]
    NotCollected {
        name: String,
        /// ncu's names of the missing metrics.
        counters: Vec<String>,
    },
    /// ncu has no counter for it.
    #[error("`{name}` is a metric of runs: no ncu report has it")]
    OfRuns { name: String },
    /// The chip has no counter for it, or is unknown.
    #[error(transparent)]
    Undefined(MetricError),
    #[error("`{name}`: the reports have no launches")]
    NoLaunch { name: String },
}

/// `: it needs a, b`; empty for a metric under ncu's own name.
fn needs(name: &str, counters: &[String]) -> String {
    if counters == [name] { String::new() } else { format!(": it needs {}", counters.join(", ")) }
}

/// Why `show` failed.
#[derive(Debug, thiserror::Error)]
pub enum ShowError {
    /// A glob is not valid or matches no file.
    #[error("no report matches `{pattern}`")]
    NoReport { pattern: String },
    /// `--metric` is not valid.
    #[error("--metric {0}")]
    Pattern(#[from] GlobError),
    /// No metric of the reports has this name or matches this glob.
    #[error("no metric matches `{pattern}`{}", nearest.as_deref().map(|name| format!("; did you mean `{name}`?")).unwrap_or_default())]
    NoMetric {
        pattern: String,
        /// The most similar name.
        nearest: Option<String>,
    },
    /// A known metric that the reports do not have.
    #[error(transparent)]
    MissingMetric(MissingMetric),
    /// Counters of source lines have only ncu's names.
    #[error("`{name}` is computed for a whole launch; source lines have only ncu's own metrics")]
    NotByLine { name: String },
    /// No launch meets the conditions.
    #[error("no launch matches; the reports have {launches} launches")]
    NoLaunch {
        /// Launches in all reports.
        launches: usize,
    },
    /// A report cannot be read.
    #[error("cannot read `{}`", path.display())]
    Report {
        path: PathBuf,
        #[source]
        source: ReportError,
    },
    /// CSV has no code, no sources and no counters of instructions.
    #[error("`{}` is CSV; sources, lines and instructions are in a .ncu-rep or .ncu-repz", path.display())]
    NotInCsv { path: PathBuf },
    /// `--view disasm` has no disassembler.
    #[error("{0}; install it, or its package alone (`cuda-nvdisasm` of conda and apt)")]
    NoDisassembler(ListingError),
    /// The disassembler gives no instruction of a launch.
    #[error("no instruction of launch {launch} of `{}` has a text: {reason}; hint: an nvdisasm of the CUDA version that built the kernel, or a newer one, is needed", path.display())]
    NoText {
        path: PathBuf,
        launch: u32,
        /// Why.
        reason: String,
    },
    /// The page cannot be made.
    #[error(transparent)]
    Kernels(#[from] KernelsError),
    /// A report turned out to be damaged.
    #[error(transparent)]
    Frame(#[from] FrameError),
    #[error(transparent)]
    Export(#[from] ExportError),
    /// The output would replace a report that is read.
    #[error("`{}` is the report to read; name another file with --output", path.display())]
    OutputIsInput { path: PathBuf },
    /// The output cannot be written.
    #[error("cannot write `{}`", path.display())]
    Write {
        path: PathBuf,
        /// Error of the system.
        #[source]
        source: io::Error,
    },
}

impl ShowError {
    /// Whether the command line is wrong, as opposed to a damaged report or a full disk.
    pub const fn is_usage(&self) -> bool {
        match self {
            Self::NoReport { .. } | Self::Pattern(_) | Self::NoMetric { .. } | Self::NoLaunch { .. } => true,
            Self::MissingMetric(_) | Self::NotByLine { .. } | Self::OutputIsInput { .. } => true,
            Self::NotInCsv { .. } => true,
            Self::Kernels(KernelsError::NoLaunch { .. }) => true,
            Self::NoDisassembler(_) | Self::NoText { .. } | Self::Kernels(KernelsError::Damaged { .. }) => false,
            Self::Report { .. } | Self::Frame(_) | Self::Export(_) | Self::Write { .. } => false,
        }
    }
}

/// Shows reports on `out`. If the reader closes the pipe early, the output ends without an error.
///
/// # Errors
/// A report cannot be read, nothing matches, or the output cannot be written.
pub fn show(request: &ShowRequest, out: &mut dyn Write) -> Result<(), ShowError> {
    let mut pipe = Pipe { out, closed: false };
    match show_all(request, &mut pipe) {
        Err(_) if pipe.closed => Ok(()),
        other => other,
    }
}

/// The page over the kernels of a report.
///
/// # Errors
/// The report cannot be read, or has no matching launch.
pub fn kernels(path: &Path, filter: &KernelFilter) -> Result<Document, ShowError> {
    let input = input::read(path)?;
    let profiled = ProfiledReport::read(&input.name, &input.report, filter)?;
    Ok(kernels::document(&profiled, &|launch| source_files(&input.report, launch)))
}

/// The source files that a report holds for a launch; none if it cannot be read.
fn source_files(report: &ncu_rep::Report, launch: u32) -> Vec<SourceFile<'_>> {
    let source = report.launch(launch).and_then(|launch| source_of(report, &launch).ok().flatten());
    source.map_or_else(Vec::new, |source| source.files)
}

fn show_all(request: &ShowRequest, out: &mut Pipe<'_>) -> Result<(), ShowError> {
    let inputs = input::open(&request.reports)?;
    if let ShowContent::Export { output, .. } = &request.shown
        && inputs.iter().any(|input| disk::is_same_file(Path::new(&input.name), output))
    {
        return Err(ShowError::OutputIsInput { path: output.clone() });
    }
    let captures: Vec<Capture<'_>> = inputs.iter().map(Input::capture).collect();
    let filter = LaunchFilter {
        kernel: request.kernel.clone(),
        nvtx: request.nvtx.clone().filter(|nvtx| !nvtx.as_str().is_empty()),
        launch: request.launch,
    };
    let metrics = MetricChoice::new(&inputs, &request.metrics)?;
    if matches!(request.shown, ShowContent::Session) {
        return print(out, |out| table::session(&inputs, out));
    }
    let matching = matching(&captures, &filter)?;
    if matching.is_empty() && !filter.is_open() {
        let launches = captures.iter().map(|capture| capture.report.launches().len()).sum();
        return Err(ShowError::NoLaunch { launches });
    }
    let view = table::View { launches: &matching };
    match &request.shown {
        ShowContent::Session => Ok(()),
        ShowContent::Inside { inside, format } => {
            let extent =
                if *format == SheetFormat::Text { launch_detail::Extent::Main } else { launch_detail::Extent::Whole };
            if let Some(metric) = metrics.logical.first() {
                return Err(ShowError::NotByLine { name: metric.name.clone() });
            }
            let sheets = match inside {
                LaunchDetail::Sources => launch_detail::sources(&inputs)?,
                other => launch_detail::of_launches(&matching, &inputs, *other, &metrics.counters, extent)?,
            };
            sheet::write(&sheets, *format, request.columns, out)
                .map_err(|source| ShowError::Write { path: PathBuf::from("-"), source })
        }
        ShowContent::Rules => print(out, |out| view.rules(out)),
        ShowContent::Launches(_) if request.launch.is_some() && metrics.names.is_empty() => {
            print(out, |out| view.full(out))
        }
        ShowContent::Launches(extent) => {
            let list = LaunchList { launches: &matching, nvtx: request.nvtx.is_some(), columns: request.columns };
            print(out, |out| match metrics.names.is_empty() {
                true => list.usual(*extent, out),
                false => list.chosen(&metrics, out),
            })
        }
        ShowContent::Export { format, layout, output, variants } => {
            let (columns, variants) = (metrics.columns(), variants.as_deref());
            let export = Export { captures: &captures, filter: &filter, columns, layout: *layout, variants };
            if output == Path::new("-") {
                return Ok(export.write(*format, out)?);
            }
            write_file(output, |file| Ok(export.write(*format, file)?))
        }
    }
}

type CaptureLaunch<'a> = (Capture<'a>, Launch<'a>);

/// The launches that match the filter.
fn matching<'a>(captures: &[Capture<'a>], filter: &LaunchFilter) -> Result<Vec<CaptureLaunch<'a>>, ShowError> {
    let mut matching = Vec::new();
    for capture in captures {
        for launch in capture.report.launches() {
            if filter.accepts(capture.name, &launch)? {
                matching.push((*capture, launch));
            }
        }
    }
    Ok(matching)
}

/// Prints a text that is composed in memory.
fn print(out: &mut dyn Write, text: impl FnOnce(&mut String) -> Result<(), FrameError>) -> Result<(), ShowError> {
    let mut buffer = String::new();
    text(&mut buffer)?;
    let written = out.write_all(buffer.as_bytes()).and_then(|()| out.flush());
    written.map_err(|source| ShowError::Write { path: PathBuf::from("-"), source })
}

/// Writes a file atomically. A device or a named pipe cannot be replaced and is written directly.
fn write_file(path: &Path, write: impl FnOnce(&mut dyn Write) -> Result<(), ShowError>) -> Result<(), ShowError> {
    let failed = |source| ShowError::Write { path: path.to_path_buf(), source };
    if path.exists() && !path.is_file() {
        let mut file = io::BufWriter::new(std::fs::File::create(path).map_err(failed)?);
        write(&mut file)?;
        return file.flush().map_err(failed);
    }
    disk::replace_with(path, Durability::Synced, write, failed)
}

/// An output that records when its reader has closed.
struct Pipe<'a> {
    out: &'a mut dyn Write,
    closed: bool,
}

impl Pipe<'_> {
    fn note<T>(&mut self, result: io::Result<T>) -> io::Result<T> {
        self.closed |= matches!(&result, Err(error) if error.kind() == io::ErrorKind::BrokenPipe);
        result
    }
}

impl Write for Pipe<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let result = self.out.write(bytes);
        self.note(result)
    }

    fn flush(&mut self) -> io::Result<()> {
        let result = self.out.flush();
        self.note(result)
    }
}
