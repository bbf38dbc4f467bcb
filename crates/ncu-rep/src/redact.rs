//! Removes information about the machine from a report, and nothing else.
//!
//! Host and computer names and addresses become [`PLACEHOLDER`], paths become file names, also inside messages of rules,
//! NVTX names and comments. Working folder and environment are emptied. Unknown fields are copied unchanged. Cubins and imported source text are copied byte for
//! byte: with `-lineinfo` a cubin contains the paths of its sources. [`SourcePolicy::Drop`] drops both.

use crate::archive::{Limits, ReportBytes};
use crate::block::{self, Block, Blocks, EntryKind};
use crate::error::{ReportError, WireProblem};
use crate::layout::{self, Layout};
use crate::schema::{
    block_header, call_stack, executable_settings, focus_metric, ip_address, nvtx_domain, nvtx_domain_info,
    nvtx_push_pop_range, nvtx_start_end_range, nvtx_state, nvtx_thread, process, rule_body, rule_item, rule_message,
    rule_result, rule_table, session, source, source_file, source_files, source_marker, stack_frame, system_info,
    table_column,
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
    /// Absolute paths in its text become file names; words end at spaces.
    CommandLine,
    /// The same in prose, whose paths can have spaces.
    Prose,
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
    (session::COMMENTS, Change::Prose),
];
const PROCESS: Rules = &[(process::HOST, Change::Hide), (process::EXECUTABLE, Change::FileName)];
const HEADER: Rules =
    &[(block_header::SESSION, Change::Inside(SESSION)), (block_header::PROCESS, Change::Inside(PROCESS))];
const MARKER: Rules = &[(source_marker::FILE, Change::FileName)];
const FRAME: Rules = &[(stack_frame::PATH, Change::FileName), (stack_frame::OTHER_PATH, Change::FileName)];
const STACK: Rules = &[(call_stack::FRAME, Change::Inside(FRAME))];
const MESSAGE: Rules = &[(rule_message::TEXT, Change::Prose), (rule_message::TITLE, Change::Prose)];
const FOCUS: Rules = &[(focus_metric::HINT, Change::Prose)];
const COLUMN: Rules = &[(table_column::NAME, Change::Prose), (table_column::TEXT, Change::Prose)];
const TABLE: Rules = &[(rule_table::COLUMN, Change::Inside(COLUMN))];
const ITEM: Rules = &[
    (rule_item::MESSAGE, Change::Inside(MESSAGE)),
    (rule_item::FOCUS_METRIC, Change::Inside(FOCUS)),
    (rule_item::TABLE, Change::Inside(TABLE)),
];
const BODY: Rules = &[(rule_body::ITEM, Change::Inside(ITEM))];
const RULE: Rules = &[
    (rule_result::ID, Change::Prose),
    (rule_result::NAME, Change::Prose),
    (rule_result::SECTION, Change::Prose),
    (rule_result::BODY, Change::Inside(BODY)),
    (rule_result::SOURCE_MARKER, Change::Inside(MARKER)),
];
const PUSH_POP: Rules = &[(nvtx_push_pop_range::NAME, Change::Prose)];
const START_END: Rules = &[(nvtx_start_end_range::NAME, Change::Prose)];
const NVTX: Rules = &[
    (nvtx_state::DOMAIN, Change::Inside(&[(nvtx_domain_info::NAME, Change::Prose)])),
    (
        nvtx_state::THREAD,
        Change::Inside(&[(nvtx_thread::DOMAIN, Change::Inside(&[(nvtx_domain::RANGE, Change::Inside(PUSH_POP))]))]),
    ),
    (nvtx_state::START_END_DOMAIN, Change::Inside(&[(nvtx_domain::RANGE, Change::Inside(START_END))])),
];
const KERNEL: ResultRules = result_rules(&layout::KERNEL);
const RANGE: ResultRules = result_rules(&layout::RANGE);
const COMMAND_LIST: ResultRules = result_rules(&layout::COMMAND_LIST);
const GRAPH: ResultRules = result_rules(&layout::GRAPH);
const SOURCE_FILE: Rules = &[(source_file::PATH, Change::FileName)];
const SOURCE_FILES: Rules = &[(source_files::FILE, Change::Inside(SOURCE_FILE))];
const SOURCE: Rules = &[(source::FILES, Change::Inside(SOURCE_FILES))];

type ResultRules = [(u32, Change); 6];

/// The rules for a kind of result.
const fn result_rules(layout: &Layout) -> ResultRules {
    [
        (layout.rules, Change::Inside(RULE)),
        (layout.nvtx, Change::Inside(NVTX)),
        (layout.context_name, Change::Prose),
        (layout.stream_name, Change::Prose),
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
        Change::CommandLine => {
            put_bytes(out, *number, without_folders(&field.text()?, TextKind::CommandLine).as_bytes())
        }
        Change::Prose => put_bytes(out, *number, without_folders(&field.text()?, TextKind::Prose).as_bytes()),
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

/// Folders that contain the home folders.
const HOMES: [&str; 5] = ["/home/", "/Users/", "/export/home/", "\\Users\\", "/root/"];

/// Characters that end a path without quotes.
const ENDS: [char; 16] = ['"', '\'', '`', ',', ';', ':', '|', '<', '>', '(', ')', '[', ']', '{', '}', '&'];

/// The kind of a text that may contain paths.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TextKind {
    /// Words of a command line or a message of a program.
    CommandLine,
    /// Sentences. A path has at least one folder, and can have spaces.
    Prose,
}

/// Reduces every absolute path of a text to its file name, and a home folder to a placeholder.
#[must_use]
pub fn without_folders(text: &str, kind: TextKind) -> String {
    let mut out = String::with_capacity(text.len());
    let mut at = 0;
    while let Some(rest) = text.get(at..).filter(|rest| !rest.is_empty()) {
        let before = text.get(..at).unwrap_or_default();
        let length = if rest.starts_with("://") && (before.ends_with("http") || before.ends_with("https")) {
            // An address of the web.
            let end = rest.find(|end: char| end.is_whitespace() || matches!(end, '"' | '\'' | '<' | '>'));
            let end = end.unwrap_or(rest.len());
            out.push_str(rest.get(..end).unwrap_or_default());
            end
        } else if let Some(path) = path_at(before, rest, kind) {
            let is_home = HOMES.iter().any(|home| {
                let folder = path.trim_end_matches(['/', '\\']);
                folder
                    .rfind(home)
                    .is_some_and(|start| !folder.get(start + home.len()..).unwrap_or_default().contains(['/', '\\']))
            });
            let is_home = is_home && !path.starts_with("/root/");
            out.push_str(if is_home { PLACEHOLDER } else { file_name(path) });
            path.len()
        } else {
            let next = rest.chars().next().map_or(1, char::len_utf8);
            out.push_str(rest.get(..next).unwrap_or_default());
            next
        };
        at += length;
    }
    out
}

/// The absolute path at the start of `rest`, if one starts there.
fn path_at<'t>(before: &str, rest: &'t str, kind: TextKind) -> Option<&'t str> {
    let root = root_length(rest)?;
    let word = before.rsplit(char::is_whitespace).next().unwrap_or_default();
    let is_free =
        before.chars().next_back().is_none_or(|last| !last.is_alphanumeric() && !"/\\.._-~+%*$".contains(last));
    // `-I/home/jane`: the value of an option; in prose, of one letter.
    let option = word.strip_prefix('-').unwrap_or_default();
    let is_option = !option.is_empty() && (kind == TextKind::CommandLine || option.len() == 1);
    let is_glued = is_option && option.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
    if !(is_free || is_glued) {
        return None;
    }
    let quote = before.chars().next_back().filter(|last| matches!(last, '"' | '\'' | '`'));
    let body = rest.get(root..)?;
    let quoted = quote.and_then(|quote| body.find(quote));
    let mut end = quoted.unwrap_or_else(|| word_end(body));
    if kind == TextKind::Prose && quoted.is_none() {
        // Up to three words belong to the name of a folder if a separator follows.
        for _ in 0..3 {
            let Some(next) = body.get(end..).and_then(|next| next.strip_prefix(' ')) else { break };
            let reach: Vec<&str> = next.splitn(4, ' ').take(3).collect();
            let is_folder = |word: &&str| word.find(['/', '\\']).is_some_and(|at| at > 0 && at < word_end(word));
            if !reach.iter().take_while(|word| word_end(word) == word.len() || is_folder(word)).any(is_folder) {
                break;
            }
            end += 1 + word_end(next);
        }
    }
    let path = rest.get(..root + end)?;
    let has_folder = path.get(root..)?.trim_end_matches(['/', '\\']).contains(['/', '\\']);
    (end > 0 && (kind == TextKind::CommandLine || has_folder || HOMES.iter().any(|home| path.contains(home))))
        .then_some(path)
}

fn word_end(text: &str) -> usize {
    text.find(|end: char| end.is_whitespace() || ENDS.contains(&end)).unwrap_or(text.len())
}

/// The length of the root of an absolute path: `/`, `~/`, `C:\`, `\\`.
fn root_length(text: &str) -> Option<usize> {
    let bytes = text.as_bytes();
    let is_separator = |at: usize| matches!(bytes.get(at), Some(b'/' | b'\\'));
    let root = match bytes.first()? {
        b'/' => 1,
        b'~' => text.find('/')? + 1,
        b'\\' if is_separator(1) => 2,
        first if first.is_ascii_alphabetic() && bytes.get(1) == Some(&b':') && is_separator(2) => 3,
        _ => return None,
    };
    let root = root + text.get(root..)?.bytes().take_while(|byte| matches!(byte, b'/' | b'\\')).count();
    let is_user = bytes.first() != Some(&b'~')
        || text
            .get(..root)?
            .bytes()
            .all(|byte| byte == b'~' || byte == b'/' || byte == b'_' || byte.is_ascii_alphanumeric());
    let is_named = text.get(root..)?.starts_with(|first: char| !first.is_whitespace() && !ENDS.contains(&first));
    (is_user && is_named).then_some(root)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn command_lines_lose_folders_and_nothing_else() {
        let line = "/opt/nvidia/ncu --set full -o /home/jane/out -k regex:a|b --log-file=/tmp/l.txt ./host 1 'C:\\u\\x.exe' D@A/ ";
        let redacted = "ncu --set full -o out -k regex:a|b --log-file=l.txt ./host 1 'x.exe' D@A/ ";
        assert_eq!(without_folders(line, TextKind::CommandLine), redacted);
    }

    #[test]
    fn paths_are_found_wherever_they_stand() {
        let cases = [
            ("-I/home/jane/secret", "-Isecret"),
            ("-I/home/jane", "-Iredacted"),
            ("-isystem/home/jane/inc -L/opt/lib", "-isysteminc -Llib"),
            ("-IC:\\Users\\jane\\inc", "-Iinc"),
            ("--opt=/home/jane/x,/home/jane/y", "--opt=x,y"),
            ("file:///home/jane/a", "file:a"),
            ("/Workspace/Users/jane.doe@corp.com/secret/k.py /data/team@corp/jane/x.py", "k.py x.py"),
            ("-isystem/data/jane/inc -opt/foo/bar /home/jane/x", "-isysteminc -optbar x"),
            ("scp://jane@host/home/jane/x", "scp:x"),
            ("LD=/home/jane/l:/usr/lib @/home/jane/args", "LD=l:lib @args"),
            ("\"/home/jane/my app\" ~/data host:/home/jane/b", "\"my app\" data host:b"),
            (
                "build/home/x ./a/b https://x.org/home/jane/a -k regex:a|b 1/2",
                "build/home/x ./a/b https://x.org/home/jane/a -k regex:a|b 1/2",
            ),
        ];
        for (line, redacted) in cases {
            assert_eq!(without_folders(line, TextKind::CommandLine), redacted, "{line}");
        }
    }

    #[test]
    fn prose_keeps_everything_but_folders() {
        let failed = "Failed: /home/jane/Documents/NVIDIA Nsight Compute/2023.1.1/Sections/Rule.py:45: no x";
        assert_eq!(without_folders(failed, TextKind::Prose), "Failed: Rule.py:45: no x");
        let windows = "in C:\\Users\\Jane Doe\\Documents\\r.py, line 3";
        assert_eq!(without_folders(windows, TextKind::Prose), "in r.py, line 3");
        assert_eq!(without_folders("File \"/home/jane d/a b.py\", line 3", TextKind::Prose), "File \"a b.py\", line 3");
        for same in [
            "L1/TEX and 3.2 byte/s, 5 /cycle, 1 / 2",
            "see @url:docs:https://docs.nvidia.com/nsight-compute/a/b.html@ and/or @section:Occupancy:Occupancy@",
            "variant@shape",
        ] {
            assert_eq!(without_folders(same, TextKind::Prose), same);
        }
    }

    #[test]
    fn file_names_of_both_systems() {
        assert_eq!(file_name("/srv/a/host"), "host");
        assert_eq!(file_name("C:\\Users\\jane\\app.exe"), "app.exe");
        assert_eq!(file_name("host"), "host");
        assert_eq!(file_name("/srv/a/"), "a");
    }
}
