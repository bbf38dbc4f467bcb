//! A report: opened, indexed once, and asked for the rest.

use std::collections::HashMap;
use std::path::Path;

use indexmap::IndexSet;
use rayon::prelude::*;

use super::archive::{Data, Limits};
use super::block::{self, Block, Blocks, VERSION};
use super::error::{ReportError, WireProblem};
use super::head::{Head, Process, ResultKind};
use super::launch::Launch;
use super::session::{self, Session};
use super::source::{self, Source};
use super::wire::{Message, Span};

/// Bytes of results that are worked on before their pages are given back.
const CHUNK_BYTES: usize = 8 << 20;
/// Reports up to this size stay in memory: to give pages back and to ask for them again takes longer than to read them.
const RESIDENT_BYTES: usize = 64 << 20;

/// An Nsight Compute report.
///
/// Opening maps the file (or decompresses it), walks every block and the top level of every result, and refuses what
/// does not end exactly where it says. Metrics, instances, rules, NVTX states and sources are decoded when asked for.
#[derive(Debug)]
pub struct Report {
    data: Data,
    version: u64,
    blocks: usize,
    names: Names,
    processes: Vec<Process>,
    sessions: Vec<Span>,
    sources: Vec<Span>,
    heads: Vec<Head>,
}

/// Metric names: the string tables of all blocks, one behind the other, in file order.
#[derive(Debug, Default)]
struct Names {
    /// Every name once.
    texts: IndexSet<Box<str>>,
    /// For each entry of the tables the place of its name in `texts`: real tables repeat nothing, others may.
    places: Vec<u32>,
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

/// What the walk over the blocks collects.
#[derive(Default)]
struct Index<'a> {
    blocks: usize,
    names: Names,
    processes: IndexSet<Process>,
    /// Index of a process by its message, which most blocks repeat.
    process_index: HashMap<&'a [u8], u32>,
    /// The one of the block before.
    last_process: Option<(&'a [u8], u32)>,
    sessions: Vec<Span>,
    sources: Vec<Span>,
    results: Vec<(ResultKind, Span, u32)>,
}

impl Report {
    /// Opens a report. Plain and zstd-compressed reports are told apart by content, whatever the name says.
    ///
    /// # Errors
    /// The file cannot be read, is no report, is truncated or damaged.
    pub fn open(path: &Path) -> Result<Self, ReportError> {
        Self::open_within(path, Limits::default())
    }

    /// Opens a report with other limits for decompression.
    ///
    /// # Errors
    /// See [`Report::open`].
    pub fn open_within(path: &Path, limits: Limits) -> Result<Self, ReportError> {
        Self::index(Data::open(path, limits)?)
    }

    /// Reads a report from memory, plain or zstd-compressed.
    ///
    /// # Errors
    /// See [`Report::open`].
    pub fn from_bytes(bytes: Vec<u8>) -> Result<Self, ReportError> {
        Self::index(Data::from_bytes(bytes, Limits::default())?)
    }

    fn index(data: Data) -> Result<Self, ReportError> {
        let bytes = data.bytes();
        let (version, start) = block::file_header(bytes)?;
        let mut index = Index::default();
        let mut released = start;
        for block in Blocks::new(bytes, start) {
            let block = block?;
            index.add(bytes, &block)?;
            if block.payload_start - released >= CHUNK_BYTES {
                release(&data, released, block.payload_start);
                released = block.payload_start;
            }
        }
        let mut heads = scan_heads(&data, &index.results)?;
        for (index, head) in (0..).zip(&mut heads) {
            head.index = index;
        }
        let pid = |head: &Head| index.processes.get_index(head.process as usize).map(|process| process.pid);
        // The way ncu numbers launches: process after process.
        heads.sort_by_key(pid);
        Ok(Self {
            version,
            blocks: index.blocks,
            names: index.names,
            processes: index.processes.into_iter().collect(),
            sessions: index.sessions,
            sources: index.sources,
            heads,
            data,
        })
    }

    /// The uncompressed bytes.
    pub(crate) fn data(&self) -> &[u8] {
        self.data.bytes()
    }

    /// Container version; 7 is the one that is known.
    #[must_use]
    pub fn version(&self) -> u64 {
        self.version
    }

    /// What a person should know before trusting the numbers: a container version newer than the one known here.
    #[must_use]
    pub fn warnings(&self) -> Vec<String> {
        let mut warnings = Vec::new();
        if self.version > VERSION {
            let version = self.version;
            warnings
                .push(format!("report container version {version} is newer than {VERSION}; unknown parts are skipped"));
        }
        warnings
    }

    /// Bytes of the uncompressed report.
    #[must_use]
    pub fn len(&self) -> usize {
        self.data.bytes().len()
    }

    /// Whether the report has no results.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.heads.is_empty()
    }

    /// Blocks of the container.
    #[must_use]
    pub fn block_count(&self) -> usize {
        self.blocks
    }

    /// The results in the order that ncu numbers them: process after process by their ids, as they ran in each.
    pub fn launches(&self) -> impl ExactSizeIterator<Item = Launch<'_>> + DoubleEndedIterator {
        self.heads.iter().enumerate().map(|(id, head)| Launch { report: self, head, id: id as u32 })
    }

    /// One result by the id that ncu prints.
    #[must_use]
    pub fn launch(&self, id: u32) -> Option<Launch<'_>> {
        self.heads.get(id as usize).map(|head| Launch { report: self, head, id })
    }

    /// The profiled processes.
    #[must_use]
    pub fn processes(&self) -> &[Process] {
        &self.processes
    }

    /// What the report says about the session: command line, versions, system, devices.
    ///
    /// # Errors
    /// A damaged session.
    pub fn session(&self) -> Result<Session, ReportError> {
        let driver = self.heads.iter().find_map(|head| Launch { report: self, head, id: 0 }.driver());
        let parts = self.sessions.iter().map(|span| Message::new("ReportSessionDetails", self.data(), *span));
        session::merge(parts, driver)
    }

    /// Source entries: cubins, SASS, PTX, imported source files; entries with one reference are merged.
    ///
    /// # Errors
    /// A damaged entry.
    pub fn sources(&self) -> Result<Vec<Source<'_>>, ReportError> {
        source::merge(self.sources.iter().map(|span| Message::new("SourceData", self.data(), *span)))
    }

    /// Metric names of the report, each once, in the order of the file. A name may belong to no launch.
    pub fn metric_names(&self) -> impl Iterator<Item = &str> {
        self.names.texts.iter().map(|name| &**name)
    }

    /// How many names there are.
    pub(crate) fn name_count(&self) -> usize {
        self.names.texts.len()
    }

    /// The name at a place.
    pub(crate) fn name(&self, place: u32) -> &str {
        self.names.texts.get_index(place as usize).map_or("", |name| name)
    }

    /// The place of the name that a metric has, or the error that no table holds it.
    pub(crate) fn place(&self, id: u32, metric: &Message<'_>) -> Result<u32, ReportError> {
        self.usual_place(id).ok_or_else(|| ReportError::Malformed {
            message: metric.name,
            field: 1,
            offset: metric.offset as u64,
            problem: WireProblem::UnknownName(u64::from(id)),
        })
    }

    /// The place of the name that a metric has, where a table holds it.
    #[inline]
    pub(crate) fn usual_place(&self, id: u32) -> Option<u32> {
        self.names.places.get(id as usize).copied()
    }

    /// The place of a metric's full name.
    pub(crate) fn metric_place(&self, name: &str) -> Option<u32> {
        self.names.texts.get_index_of(name).map(|place| place as u32)
    }

    /// The launches in groups, so that their pages can be given back after each.
    pub(crate) fn chunks(&self) -> impl Iterator<Item = (usize, usize)> {
        chunks(self.len(), self.heads.len(), |index| self.heads[index].body)
    }

    /// The launches `first..end`.
    pub(crate) fn heads(&self, first: usize, end: usize) -> &[Head] {
        self.heads.get(first..end).unwrap_or_default()
    }

    /// Gives back the pages of the launches `first..end` and of what stands between them and the launch before.
    pub(crate) fn release(&self, first: usize, end: usize) {
        let start = first.checked_sub(1).and_then(|before| self.heads.get(before)).map_or(0, |head| head.body.end());
        if let Some(last) = end.checked_sub(1).and_then(|last| self.heads.get(last)) {
            release(&self.data, start, last.body.end());
        }
    }
}

impl<'a> Index<'a> {
    fn add(&mut self, data: &'a [u8], block: &Block<'a>) -> Result<(), ReportError> {
        self.blocks += 1;
        self.sessions.extend(block.session);
        if let Some(strings) = block.strings {
            for field in strings.fields() {
                let field = field?;
                if field.number == 1 {
                    let name = std::str::from_utf8(field.bytes()?).map_err(|_| field.error(WireProblem::Utf8))?;
                    self.names.push(name);
                }
            }
        }
        let process = match block.process {
            Some(process) => self.process(process)?,
            None => u32::MAX,
        };
        let Self { sources, results, .. } = self;
        block.entries(data, |entry, span| {
            match ResultKind::of(entry) {
                Some(kind) => results.push((kind, span, process)),
                None => sources.push(span),
            }
            Ok(())
        })
    }

    /// The index of a process, which is added when it is new.
    fn process(&mut self, message: Message<'a>) -> Result<u32, ReportError> {
        if let Some((bytes, index)) = self.last_process
            && bytes == message.bytes
        {
            return Ok(index);
        }
        if let Some(&index) = self.process_index.get(message.bytes) {
            self.last_process = Some((message.bytes, index));
            return Ok(index);
        }
        let mut process = Process { pid: 0, host: String::new(), executable: String::new() };
        for field in message.fields() {
            let field = field?;
            match field.number {
                1 => process.pid = field.integer32()?,
                2 => process.host = field.text()?.into_owned(),
                3 => process.executable = field.text()?.into_owned(),
                _ => {}
            }
        }
        let index = self.processes.insert_full(process).0 as u32;
        self.process_index.insert(message.bytes, index);
        Ok(index)
    }
}

impl Names {
    /// Adds an entry of the tables.
    fn push(&mut self, name: &str) {
        let place = match self.texts.get_index_of(name) {
            Some(place) => place,
            None => self.texts.insert_full(name.into()).0,
        };
        self.places.push(place as u32);
    }
}

/// Groups of items whose bytes are about [`CHUNK_BYTES`], at least one item each; one group for a report of `len` bytes
/// that stays in memory.
fn chunks(len: usize, count: usize, span: impl Fn(usize) -> Span) -> impl Iterator<Item = (usize, usize)> {
    let most = if len <= RESIDENT_BYTES { usize::MAX } else { CHUNK_BYTES };
    let mut next = 0;
    std::iter::from_fn(move || {
        let first = next;
        let mut bytes = 0;
        while next < count && (bytes < most || next == first) {
            bytes += span(next).len as usize;
            next += 1;
        }
        (next > first).then_some((first, next))
    })
}

/// Gives back the pages of a part that is worth it.
fn release(data: &Data, start: usize, end: usize) {
    if data.bytes().len() > RESIDENT_BYTES && end.saturating_sub(start) >= CHUNK_BYTES {
        data.release(start, end);
    }
}

/// Scans the top level of all results, in parallel within a chunk.
fn scan_heads(data: &Data, results: &[(ResultKind, Span, u32)]) -> Result<Vec<Head>, ReportError> {
    let mut heads = Vec::with_capacity(results.len());
    let mut released = 0;
    for (first, end) in chunks(data.bytes().len(), results.len(), |index| results[index].1) {
        let part = results.get(first..end).unwrap_or_default();
        let scanned: Result<Vec<Head>, ReportError> =
            part.par_iter().map(|&(kind, span, process)| Head::scan(data.bytes(), kind, span, process)).collect();
        heads.extend(scanned?);
        if let Some((_, last, _)) = part.last() {
            release(data, released, last.end());
            released = last.end();
        }
    }
    Ok(heads)
}
