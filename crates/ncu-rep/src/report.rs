//! A report: opened and indexed once, decoded on demand.

use std::path::Path;

use crate::archive::{Limits, ReportBytes};
use crate::bulk::BulkReader;
use crate::csv;
use crate::error::ReportError;
use crate::index::Index;
use crate::launch::Launch;
use crate::process::Process;
use crate::schema::{MAGIC, VERSION};
use crate::session::{self, Session};
use crate::source::{self, SourceModule};
use crate::wire::Message;

/// An Nsight Compute report.
///
/// Opening maps the file (or decompresses it), walks every block and the top level of every result, and refuses any
/// item that does not end exactly at its declared length. Metrics, instances, rules, NVTX states and sources are
/// decoded on demand and borrow from the report.
///
/// ```
/// # fn main() -> Result<(), ncu_rep::ReportError> {
/// # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/cluster.ncu-repz");
/// let report = ncu_rep::Report::open(path)?;
/// assert_eq!((report.version(), report.launches().len()), (7, 1));
/// let launch = report.launch(0).unwrap();
/// assert_eq!(launch.kernel_name(), "clustered");
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Report {
    index: Index,
    form: ReportForm,
}

/// The form in which ncu wrote launches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReportForm {
    /// A report.
    Binary,
    /// CSV, which has rounded values and no session, rules, samples or code. Its launches are numbered in their order,
    /// process by process.
    Csv,
}

/// Metrics to decode.
#[derive(Debug, Clone, Copy, Default)]
pub enum MetricSelection<'a> {
    /// Every metric.
    #[default]
    All,
    /// Metrics by full name.
    Named(&'a [String]),
}

impl MetricSelection<'_> {
    /// Whether a metric is selected.
    #[must_use]
    pub fn contains(&self, metric: &str) -> bool {
        match self {
            Self::All => true,
            Self::Named(names) => names.iter().any(|name| name == metric),
        }
    }
}

impl Report {
    /// Opens a report. Plain and zstd-compressed reports, and ncu's CSV, are recognised by content, whatever the file
    /// name.
    ///
    /// A plain file is mapped, which is faster than reading it. If another process truncates the file while the
    /// report is in use, this process gets SIGBUS; [`Report::from_bytes`] with the bytes of [`std::fs::read`] avoids
    /// that.
    ///
    /// # Errors
    /// The file cannot be read, is not a report, is truncated or damaged, or exceeds the default [`Limits`].
    pub fn open(path: impl AsRef<Path>) -> Result<Self, ReportError> {
        Self::open_within(path, Limits::default())
    }

    /// Opens a report with other limits.
    ///
    /// # Errors
    /// See [`Report::open`].
    pub fn open_within(path: impl AsRef<Path>, limits: Limits) -> Result<Self, ReportError> {
        Self::of(ReportBytes::open(path.as_ref(), limits)?, limits)
    }

    /// Reads a report from memory, plain or zstd-compressed, within the default [`Limits`].
    ///
    /// # Errors
    /// See [`Report::open`].
    pub fn from_bytes(bytes: Vec<u8>) -> Result<Self, ReportError> {
        let limits = Limits::default();
        Self::of(ReportBytes::from_bytes(bytes, limits)?, limits)
    }

    fn of(bytes: ReportBytes, limits: Limits) -> Result<Self, ReportError> {
        if bytes.bytes().starts_with(&MAGIC) {
            return Ok(Self { index: Index::read(bytes, limits)?, form: ReportForm::Binary });
        }
        match csv::report(bytes.bytes()) {
            None => Err(ReportError::not_a_report(bytes.bytes())),
            // The launches of CSV can have few metrics.
            Some(read) => {
                let limits = Limits { entry_bytes: 1, ..limits };
                let index = Index::read(ReportBytes::from_bytes(read.map_err(ReportError::Csv)?, limits)?, limits)?;
                Ok(Self { index, form: ReportForm::Csv })
            }
        }
    }

    /// Whether the launches are those of a report or of CSV.
    #[must_use]
    pub fn form(&self) -> ReportForm {
        self.form
    }

    /// Container version; only version 7 is known.
    #[must_use]
    pub fn version(&self) -> u64 {
        self.index.version
    }

    /// Warnings about the reliability of the numbers: a container version newer than the known one.
    #[must_use]
    pub fn warnings(&self) -> Vec<String> {
        let mut warnings = Vec::new();
        let version = self.version();
        if version > VERSION {
            warnings
                .push(format!("report container version {version} is newer than {VERSION}; unknown parts are skipped"));
        }
        if self.form == ReportForm::Csv {
            warnings.push("CSV: values are rounded as printed; there is no session, rule, sample or code".to_owned());
        }
        warnings
    }

    /// Bytes of the uncompressed report.
    #[must_use]
    pub fn byte_count(&self) -> usize {
        self.index.data().len()
    }

    /// Blocks of the container.
    #[must_use]
    pub fn block_count(&self) -> usize {
        self.index.blocks
    }

    /// The results in ncu's numbering order: process by process, each in execution order.
    pub fn launches(&self) -> impl ExactSizeIterator<Item = Launch<'_>> + DoubleEndedIterator {
        let index = &self.index;
        index.heads.iter().enumerate().map(|(id, head)| Launch { index, head, id: id as u32 })
    }

    /// One result by the id that ncu prints; `None` when there are fewer.
    #[must_use]
    pub fn launch(&self, id: u32) -> Option<Launch<'_>> {
        let index = &self.index;
        index.heads.get(id as usize).map(|head| Launch { index, head, id })
    }

    /// The profiled processes.
    #[must_use]
    pub fn processes(&self) -> &[Process] {
        &self.index.processes
    }

    /// The session of the report: command line, versions, system, devices.
    ///
    /// ```
    /// # fn main() -> Result<(), ncu_rep::ReportError> {
    /// # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/cluster.ncu-repz");
    /// # let report = ncu_rep::Report::open(path)?;
    /// let session = report.session()?;
    /// assert_eq!(session.ncu_version(), Some("2025.3.1.0 (build 36398880) (public-release)"));
    /// assert_eq!(session.option("--set"), Some("basic"));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// A damaged session.
    pub fn session(&self) -> Result<Session, ReportError> {
        let driver = self.index.heads.iter().find_map(|head| head.driver);
        let parts = self.index.sessions.iter();
        session::merge(parts.map(|span| Message::new("ReportSessionDetails", self.index.data(), *span)), driver)
    }

    /// Source entries: cubins, PTX, imported source files. Entries with one reference are merged.
    /// [`Launch::source_references`] links launches to entries.
    ///
    /// ```
    /// # fn main() -> Result<(), ncu_rep::ReportError> {
    /// # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/cluster.ncu-repz");
    /// # let report = ncu_rep::Report::open(path)?;
    /// let modules = report.sources()?;
    /// assert!(modules[0].binary.starts_with(b"\x7fELF"));
    /// assert_eq!(modules[0].capability, Some((9, 0)));
    /// assert_eq!(report.launch(0).unwrap().source_references()?, [modules[0].reference]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// A damaged entry.
    pub fn sources(&self) -> Result<Vec<SourceModule<'_>>, ReportError> {
        let entries = self.index.sources.iter();
        source::merge(entries.map(|span| Message::new("SourceData", self.index.data(), *span)))
    }

    /// Metric names of the report, each once, in the order of the file. Some names can be unused.
    pub fn metric_names(&self) -> impl ExactSizeIterator<Item = &str> {
        self.index.names.iter()
    }

    /// Fast iteration over all metrics of all launches.
    #[must_use]
    pub fn bulk(&self) -> BulkReader<'_> {
        BulkReader::new(&self.index)
    }
}
