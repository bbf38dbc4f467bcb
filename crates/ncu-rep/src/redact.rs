//! Removes information about the machine from a report, and nothing else.
//!
//! Host and computer names and addresses become [`PLACEHOLDER`], paths become file names. Working folder and
//! environment are emptied. Unknown fields are copied unchanged. Cubins and imported source text are copied byte for
//! byte: with `-lineinfo` a cubin contains the paths of its sources. [`SourcePolicy::Drop`] drops both.

use crate::archive::{Limits, ReportBytes};
use crate::block::{self, Block, Blocks, EntryKind};
use crate::error::{ReportError, WireProblem};
use crate::layout::{self, Layout};
use crate::schema::{
    block_header, call_stack, executable_settings, ip_address, process, rule_result, session, source, source_file,
    source_files, source_marker, stack_frame, system_info,
};
use crate::wire::{ByteSpan, Field, Message, put_bytes, put_integer};

/// Replacement of names and addresses.
const PLACEHOLDER: &str = "redacted";

/// The treatment of source entries: cubins and imported source files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum SourcePolicy {
    /// They are kept unchanged.
    #[default]
    Keep,
    /// They are dropped.
    Drop,
}

/// Options of a redaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Redaction {
    /// The treatment of source entries.
    pub sources: SourcePolicy,
}

/// The change of a field.
enum Change {
    /// Its text becomes [`PLACEHOLDER`], unless it is empty.
    Hide,
    /// Its text, a path, becomes the file name.
    FileName,
    /// Absolute paths in its text become file names.
    CommandLine,
    /// It becomes empty.
    Clear,
    /// It is a message whose fields change.
    Inside(Rules),
}

type Rules = &'static [(u32, Change)];

const ADDRESS: Rules = &[(ip_address::TEXT, Change::Hide)];
const SYSTEM: Rules = &[(system_info::COMPUTER, Change::Hide), (system_info::ADDRESS, Change::Inside(ADDRESS))];
const EXECUTABLE: Rules = &[
    (executable_settings::PATH, Change::FileName),
    (executable_settings::WORKING_FOLDER, Change::Clear),
    (executable_settings::ARGUMENTS, Change::CommandLine),
    (executable_settings::ENVIRONMENT, Change::Clear),
];
const SESSION: Rules = &[
    (session::HOST, Change::Inside(SYSTEM)),
    (session::TARGET, Change::Inside(SYSTEM)),
    (session::EXECUTABLE_SETTINGS, Change::Inside(EXECUTABLE)),
    (session::COMMAND_LINE, Change::CommandLine),
];
const PROCESS: Rules = &[(process::HOST, Change::Hide), (process::EXECUTABLE, Change::FileName)];
const HEADER: Rules =
    &[(block_header::SESSION, Change::Inside(SESSION)), (block_header::PROCESS, Change::Inside(PROCESS))];
const MARKER: Rules = &[(source_marker::FILE, Change::FileName)];
const FRAME: Rules = &[(stack_frame::PATH, Change::FileName), (stack_frame::OTHER_PATH, Change::FileName)];
const STACK: Rules = &[(call_stack::FRAME, Change::Inside(FRAME))];
const RULE: Rules = &[(rule_result::SOURCE_MARKER, Change::Inside(MARKER))];
const KERNEL: ResultRules = result_rules(&layout::KERNEL);
const RANGE: ResultRules = result_rules(&layout::RANGE);
const COMMAND_LIST: ResultRules = result_rules(&layout::COMMAND_LIST);
const GRAPH: ResultRules = result_rules(&layout::GRAPH);
const SOURCE_FILE: Rules = &[(source_file::PATH, Change::FileName)];
const SOURCE_FILES: Rules = &[(source_files::FILE, Change::Inside(SOURCE_FILE))];
const SOURCE: Rules = &[(source::FILES, Change::Inside(SOURCE_FILES))];

type ResultRules = [(u32, Change); 3];

/// The rules for a kind of result.
const fn result_rules(layout: &Layout) -> ResultRules {
    [
        (layout.rules, Change::Inside(RULE)),
        (layout.cpu_stack, Change::Inside(STACK)),
        (layout.python_stack, Change::Inside(STACK)),
    ]
}

/// Redacts a report, plain or zstd-compressed, and returns it uncompressed. Sources stay.
///
/// ```
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/cluster.ncu-repz");
/// let shared = ncu_rep::redact(&std::fs::read(path)?)?;
/// let report = ncu_rep::Report::from_bytes(shared)?;
/// assert_eq!(report.processes()[0].host, "redacted");
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// `report` is not a report, is damaged, or is larger than the default [`Limits`] allow.
pub fn redact(report: &[u8]) -> Result<Vec<u8>, ReportError> {
    redact_with(report, Redaction::default())
}

/// Redacts a report with options.
///
/// # Errors
/// See [`redact`].
pub fn redact_with(report: &[u8], redaction: Redaction) -> Result<Vec<u8>, ReportError> {
    let data = ReportBytes::from_bytes(report.to_vec(), Limits::default())?;
    let data = data.bytes();
    let (_, start) = block::file_header(data)?;
    let mut out = Vec::with_capacity(data.len());
    out.extend_from_slice(data.get(..start).unwrap_or_default());
    for block in Blocks::new(data, start) {
        rewrite_block(data, &block?, redaction, &mut out)?;
    }
    Ok(out)
}

fn rewrite_block(data: &[u8], block: &Block<'_>, redaction: Redaction, out: &mut Vec<u8>) -> Result<(), ReportError> {
    let mut payload = Vec::with_capacity(block.payload_len as usize);
    let mut sources = 0;
    block.entries(data, |kind, span| {
        if kind == EntryKind::Source {
            if redaction.sources == SourcePolicy::Drop {
                return Ok(());
            }
            sources += 1;
        }
        let entry = rewrite_entry(data, kind, span)?;
        push_length(&mut payload, entry.len(), block)?;
        payload.extend_from_slice(&entry);
        Ok(())
    })?;
    let mut header = Vec::with_capacity(block.header.bytes.len());
    let mut fields = block.header.fields();
    let mut start = 0;
    while let Some(field) = fields.next() {
        let field = field?;
        let raw = block.header.bytes.get(start..fields.consumed()).unwrap_or_default();
        start = fields.consumed();
        match field.number {
            block_header::SOURCES => put_integer(&mut header, field.number, sources),
            block_header::PAYLOAD_SIZE => put_integer(&mut header, field.number, payload.len() as u64),
            _ => rewrite_field(&field, raw, HEADER, &mut header)?,
        }
    }
    push_length(out, header.len(), block)?;
    out.append(&mut header);
    out.append(&mut payload);
    Ok(())
}

fn rewrite_entry(data: &[u8], kind: EntryKind, span: ByteSpan) -> Result<Vec<u8>, ReportError> {
    let (name, rules): (_, Rules) = match kind {
        EntryKind::Source => ("SourceData", SOURCE),
        EntryKind::Kernel => (layout::KERNEL.name, &KERNEL),
        EntryKind::Range => (layout::RANGE.name, &RANGE),
        EntryKind::CommandList => (layout::COMMAND_LIST.name, &COMMAND_LIST),
        EntryKind::Graph => (layout::GRAPH.name, &GRAPH),
    };
    let mut out = Vec::with_capacity(span.len as usize);
    rewrite(Message::new(name, data, span), rules, &mut out)?;
    Ok(out)
}

fn push_length(out: &mut Vec<u8>, len: usize, block: &Block<'_>) -> Result<(), ReportError> {
    let len = u32::try_from(len).map_err(|_| ReportError::Malformed {
        message: "BlockHeader",
        field: block_header::PAYLOAD_SIZE,
        offset: block.header.offset as u64,
        problem: WireProblem::Range(len as u64),
    })?;
    out.extend_from_slice(&len.to_le_bytes());
    Ok(())
}

/// Copies a message, with the fields of `rules` changed.
fn rewrite(message: Message<'_>, rules: Rules, out: &mut Vec<u8>) -> Result<(), ReportError> {
    let mut fields = message.fields();
    let mut start = 0;
    while let Some(field) = fields.next() {
        let field = field?;
        let raw = message.bytes.get(start..fields.consumed()).unwrap_or_default();
        start = fields.consumed();
        rewrite_field(&field, raw, rules, out)?;
    }
    Ok(())
}

fn rewrite_field(field: &Field<'_>, raw: &[u8], rules: Rules, out: &mut Vec<u8>) -> Result<(), ReportError> {
    let Some((number, change)) = rules.iter().find(|(number, _)| *number == field.number) else {
        out.extend_from_slice(raw);
        return Ok(());
    };
    match change {
        Change::Hide if field.bytes()?.is_empty() => out.extend_from_slice(raw),
        Change::Hide => put_bytes(out, *number, PLACEHOLDER.as_bytes()),
        Change::FileName => put_bytes(out, *number, file_name(&field.text()?).as_bytes()),
        Change::CommandLine => put_bytes(out, *number, command_line(&field.text()?).as_bytes()),
        Change::Clear => put_bytes(out, *number, &[]),
        Change::Inside(rules) => {
            let mut inner = Vec::new();
            rewrite(field.message("redacted")?, rules, &mut inner)?;
            put_bytes(out, *number, &inner);
        }
    }
    Ok(())
}

/// The last part of a path; the path itself when that is empty.
fn file_name(path: &str) -> &str {
    path.trim_end_matches(['/', '\\']).rsplit(['/', '\\']).next().unwrap_or_default()
}

/// Reduces every absolute path of a command line to its file name. ncu joins its arguments with single spaces.
fn command_line(line: &str) -> String {
    let words: Vec<String> = line.split(' ').map(word).collect();
    words.join(" ")
}

fn word(word: &str) -> String {
    let (option, value) = match word.split_once('=') {
        Some((option, value)) if !is_absolute(word) => (Some(option), value),
        _ => (None, word),
    };
    let quoted = value.trim_start_matches(['"', '\'']);
    let quotes = value.len() - quoted.len();
    let reduced = if is_absolute(quoted) {
        format!("{}{}", value.get(..quotes).unwrap_or_default(), file_name(quoted))
    } else {
        value.to_owned()
    };
    option.map_or_else(|| reduced.clone(), |option| format!("{option}={reduced}"))
}

/// Whether a word is an absolute path: `/a`, `~/a`, `C:\a`, `\\server`.
fn is_absolute(word: &str) -> bool {
    let drive = word.as_bytes().get(..3).is_some_and(|head| {
        head.first().is_some_and(u8::is_ascii_alphabetic)
            && head.get(1) == Some(&b':')
            && matches!(head.get(2), Some(b'\\' | b'/'))
    });
    word.starts_with(['/', '~']) || word.starts_with("\\\\") || drive
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn command_lines_lose_folders_and_nothing_else() {
        let line = "/opt/nvidia/ncu --set full -o /home/jane/out -k regex:a|b --log-file=/tmp/l.txt ./host 1 'C:\\u\\x.exe' D@A/ ";
        let redacted = "ncu --set full -o out -k regex:a|b --log-file=l.txt ./host 1 'x.exe' D@A/ ";
        assert_eq!(command_line(line), redacted);
    }

    #[test]
    fn file_names_of_both_systems() {
        assert_eq!(file_name("/srv/a/host"), "host");
        assert_eq!(file_name("C:\\Users\\jane\\app.exe"), "app.exe");
        assert_eq!(file_name("host"), "host");
        assert_eq!(file_name("/srv/a/"), "a");
    }
}
