//! `ncugate show`: what is in Nsight Compute reports, as a table or an export. Needs no ncu and no GPU.

mod input;
mod table;

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use globset::Glob;
use regex::Regex;

use crate::frame::export::{Export, ExportError, Format, Layout};
use crate::frame::launches::{Capture, FrameError, Origin};
use crate::frame::rows::{self, AnyLaunch, LaunchFilter};
use crate::ncu_rep::csv::CsvError;
use crate::ncu_rep::{MetricSelection, ReportError};
use input::Input;

/// What `ncugate show` takes.
#[derive(Debug, Clone, Args)]
pub struct ShowArgs {
    /// Reports (`.ncu-rep`, `.ncu-repz`), ncu's CSV, or globs of them
    #[arg(required = true, value_name = "REPORT")]
    pub reports: Vec<String>,
    /// Only launches whose kernel name matches
    #[arg(long, value_name = "REGEX")]
    pub kernel: Option<Regex>,
    /// Show NVTX ranges; with a value, only launches whose ranges match (`name` or `domain@name`)
    #[arg(long, value_name = "REGEX", num_args = 0..=1, require_equals = true, default_missing_value = "")]
    pub nvtx: Option<Regex>,
    /// Metrics to show or export: full names or globs, as often as needed
    #[arg(long = "metric", value_name = "NAME|GLOB", value_delimiter = ',')]
    pub metrics: Vec<String>,
    /// Only the launch with the id that ncu prints; without `--metric`, that launch in full
    #[arg(long, value_name = "N")]
    pub launch: Option<u32>,
    /// Show what ncu's rules said
    #[arg(long, conflicts_with = "export")]
    pub rules: bool,
    /// Show how the report was made: command line, versions, system, devices
    #[arg(long, conflicts_with = "export")]
    pub session: bool,
    /// Write the metrics instead of a table: base units, full precision, one row a launch and metric
    #[arg(long, value_name = "FORMAT")]
    pub export: Option<ExportFormat>,
    /// Where the export goes; `-` is standard output
    #[arg(short, long, value_name = "FILE", default_value = "-", requires = "export")]
    pub output: PathBuf,
    /// Export one row a launch with one column a metric
    #[arg(long, requires = "export")]
    pub wide: bool,
}

/// Formats of an export.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ExportFormat {
    /// Comma-separated values
    Csv,
    /// JSON, an array of objects
    Json,
    /// Apache parquet
    Parquet,
}

impl From<ExportFormat> for Format {
    fn from(format: ExportFormat) -> Self {
        match format {
            ExportFormat::Csv => Self::Csv,
            ExportFormat::Json => Self::Json,
            ExportFormat::Parquet => Self::Parquet,
        }
    }
}

/// Why `show` failed.
#[derive(Debug, thiserror::Error)]
pub enum ShowError {
    /// A glob is not valid or matches no file.
    #[error("no report matches `{pattern}`")]
    NoReport {
        /// What was given.
        pattern: String,
    },
    /// `--metric` is not valid.
    #[error("`{pattern}` is not a metric name or glob")]
    Pattern {
        /// What was given.
        pattern: String,
        /// What is wrong.
        #[source]
        source: globset::Error,
    },
    /// No metric of the reports has this name or matches this glob.
    #[error("no metric matches `{pattern}`{}", nearest.as_deref().map(|name| format!("; did you mean `{name}`?")).unwrap_or_default())]
    NoMetric {
        /// What was given.
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
        /// The report.
        path: PathBuf,
        /// What is wrong with it.
        #[source]
        source: ReportError,
    },
    /// CSV cannot be read.
    #[error("cannot read `{}`", path.display())]
    Csv {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        #[source]
        source: CsvError,
    },
    /// A report turned out to be damaged.
    #[error(transparent)]
    Frame(#[from] FrameError),
    /// The export failed.
    #[error(transparent)]
    Export(#[from] ExportError),
    /// The output cannot be written.
    #[error("cannot write `{}`", path.display())]
    Write {
        /// The output.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: io::Error,
    },
}

impl ShowError {
    /// Whether the command line asks for what is not there, rather than a report being damaged or a disk full.
    pub const fn is_usage(&self) -> bool {
        matches!(self, Self::NoReport { .. } | Self::Pattern { .. } | Self::NoMetric { .. } | Self::NoLaunch { .. })
    }
}

/// Shows reports on `out`. A reader that closes the pipe early ends it quietly.
///
/// # Errors
/// A report cannot be read, nothing matches, or the output cannot be written.
pub fn show(args: &ShowArgs, out: &mut dyn Write) -> Result<(), ShowError> {
    let mut pipe = Pipe { out, closed: false };
    match show_all(args, &mut pipe) {
        Err(_) if pipe.closed => Ok(()),
        other => other,
    }
}

fn show_all(args: &ShowArgs, out: &mut Pipe<'_>) -> Result<(), ShowError> {
    let inputs = input::open(&args.reports)?;
    let captures: Vec<Capture<'_>> = inputs.iter().map(Input::capture).collect();
    let filter = LaunchFilter {
        kernel: args.kernel.clone(),
        nvtx: args.nvtx.clone().filter(|nvtx| !nvtx.as_str().is_empty()),
        launch: args.launch,
    };
    let metrics = select(&inputs, &args.metrics)?;
    if args.session {
        return print(out, |out| table::session(&inputs, out));
    }
    let matching = matching(&captures, &filter)?;
    if matching.is_empty() && !filter.is_open() {
        let launches = captures.iter().map(|capture| rows::launches(capture).count()).sum();
        return Err(ShowError::NoLaunch { launches });
    }
    let Some(format) = args.export else {
        let view = table::View { launches: &matching, metrics: &metrics, nvtx: args.nvtx.is_some() };
        return print(out, |out| match (args.rules, args.launch) {
            (true, _) => view.rules(out),
            (false, Some(_)) if metrics.is_empty() => view.full(out),
            (false, _) => view.list(out),
        });
    };
    let selection = if metrics.is_empty() { MetricSelection::All } else { MetricSelection::Named(&metrics) };
    let layout = if args.wide { Layout::Wide } else { Layout::Long };
    let export = Export { captures: &captures, filter: &filter, selection, layout };
    if args.output == Path::new("-") {
        return Ok(export.write(format.into(), out)?);
    }
    write_file(&args.output, |file| Ok(export.write(format.into(), file)?))
}

/// A launch and the capture that it is in.
type Located<'a> = (Capture<'a>, AnyLaunch<'a>);

/// The launches that are wanted.
fn matching<'a>(captures: &[Capture<'a>], filter: &LaunchFilter) -> Result<Vec<Located<'a>>, ShowError> {
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

/// Full names of the metrics that the patterns mean, in the order of the patterns; empty when there are none.
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
        let invalid = |source| ShowError::Pattern { pattern: pattern.clone(), source };
        let glob = Glob::new(pattern).map_err(invalid)?.compile_matcher();
        let before = selected.len();
        selected.extend(names.iter().filter(|name| glob.is_match(name)).map(|name| (*name).to_owned()));
        if selected.len() == before && !selected.iter().any(|name| glob.is_match(name)) {
            return Err(ShowError::NoMetric { pattern: pattern.clone(), nearest: nearest(pattern, &names) });
        }
    }
    Ok(selected.into_iter().collect())
}

/// The name that is most like `pattern`, if any is much like it.
fn nearest(pattern: &str, names: &indexmap::IndexSet<&str>) -> Option<String> {
    let scored = names.iter().map(|name| (strsim::jaro_winkler(pattern, name), name));
    let best = scored.max_by(|a, b| a.0.total_cmp(&b.0))?;
    (best.0 > 0.85).then(|| (*best.1).to_owned())
}

/// Prints a text that is made in memory.
fn print(out: &mut dyn Write, text: impl FnOnce(&mut String) -> Result<(), FrameError>) -> Result<(), ShowError> {
    let mut buffer = String::new();
    text(&mut buffer)?;
    let written = out.write_all(buffer.as_bytes()).and_then(|()| out.flush());
    written.map_err(|source| ShowError::Write { path: PathBuf::from("-"), source })
}

/// Writes a file beside its final place and moves it there when it is complete.
pub(super) fn write_file(
    path: &Path,
    write: impl FnOnce(&mut dyn Write) -> Result<(), ShowError>,
) -> Result<(), ShowError> {
    let failed = |source| ShowError::Write { path: path.to_path_buf(), source };
    if path.exists() && !path.is_file() {
        // A device or a named pipe cannot be replaced.
        let mut file = io::BufWriter::new(std::fs::File::create(path).map_err(failed)?);
        write(&mut file)?;
        return file.flush().map_err(failed);
    }
    let mut name = path.file_name().unwrap_or_default().to_os_string();
    name.push(format!(".{}.part", std::process::id()));
    let part = path.with_file_name(name);
    let result = (|| {
        let mut file = io::BufWriter::new(std::fs::File::create(&part).map_err(failed)?);
        write(&mut file)?;
        file.flush().map_err(failed)?;
        std::fs::rename(&part, path).map_err(failed)
    })();
    if result.is_err() {
        // What is left of it is of no use to anyone; the error that is returned is the one that matters.
        let _ = std::fs::remove_file(&part);
    }
    result
}

/// An output that remembers that its reader is gone.
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
