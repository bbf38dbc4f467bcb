//! The container: file header, then blocks of header and payload until the end of the file.

use crate::error::{ReportError, WireProblem};
use crate::schema::{MAGIC, VERSION, block_header, file_header};
use crate::wire::{ByteSpan, Message};

/// The kind of a payload entry, in the order of a payload.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum EntryKind {
    Source,
    Kernel,
    Range,
    CommandList,
    Graph,
}

/// One block: the relevant parts of its header, and the position of its payload.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Block<'a> {
    pub index: usize,
    pub header: Message<'a>,
    pub payload_start: usize,
    pub payload_len: u32,
    pub session: Option<ByteSpan>,
    pub strings: Option<Message<'a>>,
    pub process: Option<Message<'a>>,
    counts: [(EntryKind, u32); 5],
}

/// Reads `len` bytes at `at`, or reports a truncated file.
fn take<'a>(data: &'a [u8], at: usize, len: u64, block: usize, field: &'static str) -> Result<&'a [u8], ReportError> {
    let rest = data.get(at..).unwrap_or_default();
    usize::try_from(len).ok().and_then(|len| rest.get(..len)).ok_or(ReportError::Truncated {
        block,
        field,
        offset: at as u64,
        needed: len,
        left: rest.len() as u64,
    })
}

/// Reads a four-byte length.
fn length(data: &[u8], at: usize, block: usize, field: &'static str) -> Result<u32, ReportError> {
    let bytes = take(data, at, 4, block, field)?;
    Ok(u32::from_le_bytes(bytes.try_into().unwrap_or_default()))
}

/// The container version, and the offset of the first block.
pub(crate) fn file_header(data: &[u8]) -> Result<(u64, usize), ReportError> {
    if !data.starts_with(&MAGIC) {
        return Err(ReportError::not_a_report(data));
    }
    let len = length(data, MAGIC.len(), 0, "FileHeader length")?;
    let start = MAGIC.len() + 4;
    let bytes = take(data, start, u64::from(len), 0, "FileHeader")?;
    let mut version = 0;
    for field in (Message { name: "FileHeader", bytes, offset: start }).fields() {
        let field = field?;
        if field.number == file_header::VERSION {
            version = field.integer()?;
        }
    }
    if version < VERSION {
        return Err(ReportError::OldVersion { version });
    }
    Ok((version, start + len as usize))
}

/// Iterates over the blocks from `at` to the end of the file; stops after the first error.
#[derive(Debug)]
pub(crate) struct Blocks<'a> {
    data: &'a [u8],
    at: usize,
    index: usize,
}

impl<'a> Blocks<'a> {
    pub fn new(data: &'a [u8], at: usize) -> Self {
        Self { data, at, index: 0 }
    }

    fn read(&mut self) -> Result<Block<'a>, ReportError> {
        let (data, index) = (self.data, self.index);
        let header_len = length(data, self.at, index, "BlockHeader length")?;
        let start = self.at + 4;
        let bytes = take(data, start, u64::from(header_len), index, "BlockHeader")?;
        let header = Message { name: "BlockHeader", bytes, offset: start };
        let payload_start = start + bytes.len();
        let mut block = Block {
            index,
            header,
            payload_start,
            payload_len: 0,
            session: None,
            strings: None,
            process: None,
            counts: [
                (EntryKind::Source, 0),
                (EntryKind::Kernel, 0),
                (EntryKind::Range, 0),
                (EntryKind::CommandList, 0),
                (EntryKind::Graph, 0),
            ],
        };
        for field in header.fields() {
            let field = field?;
            match field.number {
                block_header::SOURCES => block.counts[0].1 = field.integer32()?,
                block_header::KERNELS => block.counts[1].1 = field.integer32()?,
                block_header::SESSION => block.session = Some(field.span()?),
                block_header::STRING_TABLE => block.strings = Some(field.message("StringTable")?),
                block_header::PAYLOAD_SIZE => block.payload_len = field.integer32()?,
                block_header::PROCESS => block.process = Some(field.message("Process")?),
                block_header::RANGES => block.counts[2].1 = field.integer32()?,
                block_header::COMMAND_LISTS => block.counts[3].1 = field.integer32()?,
                block_header::GRAPHS => block.counts[4].1 = field.integer32()?,
                _ => {}
            }
        }
        take(data, payload_start, u64::from(block.payload_len), index, "payload")?;
        self.at = payload_start + block.payload_len as usize;
        self.index += 1;
        Ok(block)
    }
}

impl<'a> Iterator for Blocks<'a> {
    type Item = Result<Block<'a>, ReportError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.at >= self.data.len() {
            return None;
        }
        let block = self.read();
        if block.is_err() {
            self.at = self.data.len();
        }
        Some(block)
    }
}

impl Block<'_> {
    /// Calls `entry` with kind, start and length of every entry of the payload.
    ///
    /// # Errors
    /// An entry beyond the end of the payload, bytes after the last one, and errors of `entry`.
    pub fn entries(
        &self,
        data: &[u8],
        mut entry: impl FnMut(EntryKind, ByteSpan) -> Result<(), ReportError>,
    ) -> Result<(), ReportError> {
        let end = self.payload_start + self.payload_len as usize;
        let payload = data.get(..end).unwrap_or_default();
        let mut at = self.payload_start;
        for (kind, count) in self.counts {
            for _ in 0..count {
                let len = length(payload, at, self.index, "entry length")?;
                take(payload, at + 4, u64::from(len), self.index, "entry")?;
                entry(kind, ByteSpan { start: at + 4, len })?;
                at += 4 + len as usize;
            }
        }
        if at != end {
            let problem = WireProblem::Leftover((end - at) as u64);
            return Err(ReportError::Malformed {
                message: "BlockHeader",
                field: block_header::PAYLOAD_SIZE,
                offset: at as u64,
                problem,
            });
        }
        Ok(())
    }
}
