//! Shows the contents of Nsight Compute reports, as a table or an export. Needs no ncu and no GPU.

mod input;
mod launch_detail;
mod sheet;
mod table;

pub use launch_detail::LaunchDetail;
pub use sheet::SheetFormat;

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use regex::Regex;

use crate::explain;
use crate::kernels::{KernelFilter, KernelsError, KernelsPage, ProfiledReport};
use input::{Content, Input};
use ncu_rep::csv::CsvError;
use ncu_rep::{MetricSelection, ReportError, SourceFile};
use ncugate_judge::frame::TableFormat;
use ncugate_judge::frame::export::{Export, ExportError, ExportLayout};
use ncugate_judge::frame::launches::{Capture, FrameError, Origin};
use ncugate_judge::frame::rows::{self, AnyLaunch, LaunchFilter};
use ncugate_model::disk::{self, Durability};
use ncugate_model::{GlobError, glob};

/// The view of the matching launches.
#[derive(Debug, Clone)]
pub enum ShowContent {
    /// One line for each launch, or one launch in full if only one matches and no metric is requested.
    Launches,
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
    /// Metrics to show or export: full names or globs.
    pub metrics: Vec<String>,
    /// Only the launch with this id.
    pub launch: Option<u32>,
    pub shown: ShowContent,
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
    /// CSV cannot be read.
    #[error("cannot read `{}`", path.display())]
    Csv {
        path: PathBuf,
        #[source]
        source: CsvError,
    },
    /// A page shows one report, or two.
    #[error("a page is made of one report, or of two that are compared; {reports} were given")]
    TooManyForPage { reports: usize },
    /// CSV has no samples, rules or sources.
    #[error("`{}` is CSV; a page is made of a .ncu-rep or .ncu-repz", path.display())]
    NoPageOfCsv { path: PathBuf },
    /// CSV has no code, no sources and no counters of instructions.
    #[error("`{}` is CSV; sources, lines and instructions are in a .ncu-rep or .ncu-repz", path.display())]
    NotInCsv { path: PathBuf },
    /// The page cannot be made.
    #[error(transparent)]
    Kernels(#[from] KernelsError),
    /// A report turned out to be damaged.
    #[error(transparent)]
    Frame(#[from] FrameError),
    #[error(transparent)]
    Export(#[from] ExportError),
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
            Self::TooManyForPage { .. } | Self::NoPageOfCsv { .. } | Self::NotInCsv { .. } => true,
            Self::Kernels(KernelsError::NoLaunch { .. }) => true,
            Self::Kernels(KernelsError::Damaged { .. }) => false,
            Self::Report { .. } | Self::Csv { .. } | Self::Frame(_) | Self::Export(_) | Self::Write { .. } => false,
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

/// The page over the kernels of one report, or of two, the second compared with the first.
///
/// # Errors
/// A report cannot be read, is CSV, or has no matching launch; more than two reports.
pub fn kernels(patterns: &[String], filter: &KernelFilter) -> Result<KernelsPage, ShowError> {
    let inputs = input::open(patterns)?;
    if inputs.len() > 2 {
        return Err(ShowError::TooManyForPage { reports: inputs.len() });
    }
    let reports = inputs
        .iter()
        .map(|input| match &input.content {
            Content::Report(report) => Ok((input.name.as_str(), report.as_ref())),
            Content::Csv(_) => Err(ShowError::NoPageOfCsv { path: PathBuf::from(&input.name) }),
        })
        .collect::<Result<Vec<_>, ShowError>>()?;
    let read = |(name, report): &(&str, &ncu_rep::Report)| Ok(ProfiledReport::read(name, report, filter)?);
    let profiled = reports.iter().map(read).collect::<Result<Vec<_>, ShowError>>()?;
    let last = reports.last().map(|(_, report)| *report);
    Ok(KernelsPage::new(&profiled, &|launch| last.map_or_else(Vec::new, |report| source_files(report, launch))))
}

/// The source files that a report holds for a launch; none if it cannot be read.
fn source_files(report: &ncu_rep::Report, launch: u32) -> Vec<SourceFile<'_>> {
    let source = report.launch(launch).and_then(|launch| explain::source_of(report, &launch).ok().flatten());
    source.map_or_else(Vec::new, |source| source.files)
}

fn show_all(request: &ShowRequest, out: &mut Pipe<'_>) -> Result<(), ShowError> {
    let inputs = input::open(&request.reports)?;
    let captures: Vec<Capture<'_>> = inputs.iter().map(Input::capture).collect();
    let filter = LaunchFilter {
        kernel: request.kernel.clone(),
        nvtx: request.nvtx.clone().filter(|nvtx| !nvtx.as_str().is_empty()),
        launch: request.launch,
    };
    let metrics = select(&inputs, &request.metrics)?;
    if matches!(request.shown, ShowContent::Session) {
        return print(out, |out| table::session(&inputs, out));
    }
    let matching = matching(&captures, &filter)?;
    if matching.is_empty() && !filter.is_open() {
        let launches = captures.iter().map(|capture| rows::launches(capture).count()).sum();
        return Err(ShowError::NoLaunch { launches });
    }
    let view = table::View { launches: &matching, metrics: &metrics, nvtx: request.nvtx.is_some() };
    match &request.shown {
        ShowContent::Session => Ok(()),
        ShowContent::Inside { inside, format } => {
            let extent =
                if *format == SheetFormat::Text { launch_detail::Extent::Main } else { launch_detail::Extent::Whole };
            let sheets = match inside {
                LaunchDetail::Sources => launch_detail::sources(&inputs)?,
                other => launch_detail::of_launches(&matching, &inputs, *other, &metrics, extent)?,
            };
            sheet::write(&sheets, *format, out).map_err(|source| ShowError::Write { path: PathBuf::from("-"), source })
        }
        ShowContent::Rules => print(out, |out| view.rules(out)),
        ShowContent::Launches if request.launch.is_some() && metrics.is_empty() => print(out, |out| view.full(out)),
        ShowContent::Launches => print(out, |out| view.list(out)),
        ShowContent::Export { format, layout, output } => {
            let selection = if metrics.is_empty() { MetricSelection::All } else { MetricSelection::Named(&metrics) };
            let export = Export { captures: &captures, filter: &filter, selection, layout: *layout };
            if output == Path::new("-") {
                return Ok(export.write(*format, out)?);
            }
            write_file(output, |file| Ok(export.write(*format, file)?))
        }
    }
}

type CaptureLaunch<'a> = (Capture<'a>, AnyLaunch<'a>);

/// The launches that match the filter.
fn matching<'a>(captures: &[Capture<'a>], filter: &LaunchFilter) -> Result<Vec<CaptureLaunch<'a>>, ShowError> {
    let mut matching = Vec::new();
    for capture in captures {
        for launch in rows::launches(capture) {
            if filter.accepts(capture.name, &launch)? {
                matching.push((*capture, launch));
            }
        }
    }
    Ok(matching)
}

/// Full names of the metrics that match the patterns, in the order of the patterns; empty for no patterns.
fn select(inputs: &[Input], patterns: &[String]) -> Result<Vec<String>, ShowError> {
    let names: indexmap::IndexSet<&str> = inputs
        .iter()
        .flat_map(|input| match &input.capture().origin {
            Origin::Report(report) => report.metric_names().collect::<Vec<_>>(),
            Origin::Csv(csv) => csv.names.iter().map(String::as_str).collect(),
        })
        .collect();
    let mut selected = indexmap::IndexSet::new();
    for pattern in patterns {
        if names.contains(pattern.as_str()) {
            selected.insert(pattern.clone());
            continue;
        }
        let glob = glob(pattern)?;
        let before = selected.len();
        selected.extend(names.iter().filter(|name| glob.is_match(name)).map(|name| (*name).to_owned()));
        if selected.len() == before && !selected.iter().any(|name| glob.is_match(name)) {
            return Err(ShowError::NoMetric { pattern: pattern.clone(), nearest: nearest(pattern, &names) });
        }
    }
    Ok(selected.into_iter().collect())
}

/// The name most similar to `pattern`, if any is similar enough.
fn nearest(pattern: &str, names: &indexmap::IndexSet<&str>) -> Option<String> {
    let scored = names.iter().map(|name| (strsim::jaro_winkler(pattern, name), name));
    let best = scored.max_by(|a, b| a.0.total_cmp(&b.0))?;
    (best.0 > 0.85).then(|| (*best.1).to_owned())
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
