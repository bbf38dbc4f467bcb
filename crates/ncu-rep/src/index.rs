//! The index of a report: the content of every block and of the top level of every result, and the position of the rest.

use std::ops::Range;

use rayon::prelude::*;

use crate::archive::{Limits, ReportBytes};
use crate::block::{self, Block, Blocks};
use crate::error::ReportError;
use crate::head::Head;
use crate::layout::ResultKind;
use crate::names::MetricNames;
use crate::process::{Process, ProcessTable};
use crate::wire::ByteSpan;

/// Bytes of results that are processed before their pages are released.
const CHUNK_BYTES: usize = 8 << 20;
/// Reports up to this size stay in memory: releasing pages and reading them again would take longer than reading them once.
const RESIDENT_BYTES: usize = 64 << 20;

/// A report's bytes and their index.
#[derive(Debug)]
pub(crate) struct Index {
    pub bytes: ReportBytes,
    pub version: u64,
    pub blocks: usize,
    pub names: MetricNames,
    pub processes: Vec<Process>,
    pub sessions: Vec<ByteSpan>,
    pub sources: Vec<ByteSpan>,
    /// In ncu's numbering order.
    pub heads: Vec<Head>,
}

/// The data collected from the blocks.
#[derive(Default)]
struct Walk<'a> {
    blocks: usize,
    names: MetricNames,
    processes: ProcessTable<'a>,
    sessions: Vec<ByteSpan>,
    sources: Vec<ByteSpan>,
    results: Vec<Entry>,
}

/// Position of a result, and the index of its process.
struct Entry {
    kind: ResultKind,
    span: ByteSpan,
    process: Option<u32>,
}

impl Index {
    /// Indexes a report.
    pub fn read(bytes: ReportBytes, limits: Limits) -> Result<Self, ReportError> {
        let data = bytes.bytes();
        let (version, start) = block::file_header(data)?;
        let most = limits.entries(data.len() as u64);
        let mut walk = Walk::default();
        let mut released = start;
        for block in Blocks::new(data, start) {
            let block = block?;
            walk.add(data, &block, most)?;
            if block.payload_start - released >= CHUNK_BYTES {
                release(&bytes, released, block.payload_start);
                released = block.payload_start;
            }
        }
        let Walk { blocks, names, processes, sessions, sources, results } = walk;
        let processes = processes.into_processes();
        let mut heads = scan_heads(&bytes, &results)?;
        // ncu numbers launches process by process.
        heads.sort_by_key(|head| Some(processes.get(head.process? as usize)?.pid));
        Ok(Self { version, blocks, names, processes, sessions, sources, heads, bytes })
    }

    /// The uncompressed bytes.
    pub fn data(&self) -> &[u8] {
        self.bytes.bytes()
    }

    /// The results of a range of launches.
    pub fn heads(&self, launches: Range<usize>) -> &[Head] {
        self.heads.get(launches).unwrap_or_default()
    }

    /// The launches in groups, so that their pages can be released after each.
    pub fn chunks(&self) -> impl Iterator<Item = Range<usize>> {
        chunks(self.data().len(), self.heads.len(), |index| self.heads[index].body)
    }

    /// Releases the pages of launches, including the gap before the first one.
    pub fn release(&self, launches: Range<usize>) {
        let before = launches.start.checked_sub(1).and_then(|before| self.heads.get(before));
        let start = before.map_or(0, |head| head.body.end());
        if let Some(last) = launches.end.checked_sub(1).and_then(|last| self.heads.get(last)) {
            release(&self.bytes, start, last.body.end());
        }
    }
}

impl<'a> Walk<'a> {
    /// Adds the content of a block. The report can have `most` entries.
    fn add(&mut self, data: &'a [u8], block: &Block<'a>, most: u64) -> Result<(), ReportError> {
        self.blocks += 1;
        self.sessions.extend(block.session);
        if let Some(strings) = block.strings {
            self.names.add(strings)?;
        }
        let process = block.process.map(|process| self.processes.add(process)).transpose()?;
        let Self { sources, results, .. } = self;
        block.entries(data, |entry, span| {
            match ResultKind::of(entry) {
                Some(kind) => results.push(Entry { kind, span, process }),
                None => sources.push(span),
            }
            if (results.len() + sources.len()) as u64 > most {
                return Err(ReportError::TooManyEntries { limit: most, bytes: data.len() as u64 });
            }
            Ok(())
        })
    }
}

/// Groups of items with about [`CHUNK_BYTES`] bytes, at least one item each; a single group for a report of `len`
/// bytes that stays in memory.
fn chunks(len: usize, count: usize, span: impl Fn(usize) -> ByteSpan) -> impl Iterator<Item = Range<usize>> {
    let most = if len <= RESIDENT_BYTES { usize::MAX } else { CHUNK_BYTES };
    let mut next = 0;
    std::iter::from_fn(move || {
        let first = next;
        let mut bytes = 0;
        while next < count && (bytes < most || next == first) {
            bytes += span(next).len as usize;
            next += 1;
        }
        (next > first).then_some(first..next)
    })
}

/// Releases the pages of a part if it is large enough.
fn release(bytes: &ReportBytes, start: usize, end: usize) {
    if bytes.bytes().len() > RESIDENT_BYTES && end.saturating_sub(start) >= CHUNK_BYTES {
        bytes.release(start, end);
    }
}

/// Scans the top level of all results, in parallel within a chunk.
fn scan_heads(bytes: &ReportBytes, results: &[Entry]) -> Result<Vec<Head>, ReportError> {
    let mut heads = Vec::with_capacity(results.len());
    let mut released = 0;
    for chunk in chunks(bytes.bytes().len(), results.len(), |index| results[index].span) {
        let part = results.get(chunk).unwrap_or_default();
        let scanned: Result<Vec<Head>, ReportError> =
            part.par_iter().map(|entry| Head::scan(bytes.bytes(), entry.kind, entry.span, entry.process)).collect();
        heads.extend(scanned?);
        if let Some(last) = part.last() {
            release(bytes, released, last.span.end());
            released = last.span.end();
        }
    }
    for (index, head) in (0..).zip(&mut heads) {
        head.index = index;
    }
    Ok(heads)
}
