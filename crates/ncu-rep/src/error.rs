//! Errors in a report, with the offset and the field.

use std::path::PathBuf;

/// Why a report could not be read. Offsets count bytes of the uncompressed report.
#[derive(Debug, thiserror::Error)]
pub enum ReportError {
    /// The file could not be opened, mapped or read.
    #[error("cannot read report `{}`", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The system's error.
        #[source]
        source: std::io::Error,
    },
    /// Neither `NVR\0` nor a zstd frame at the start.
    #[error("not an Nsight Compute report: {found}")]
    NotAReport {
        /// What the file is instead: a known kind, or its first bytes.
        found: String,
    },
    /// CSV of ncu that cannot be read.
    #[error("{0}")]
    Csv(crate::csv::CsvError),
    /// A container older than the known layout.
    #[error(
        "report container version {version} is too old (version 7 or newer is needed); profile again with a newer ncu"
    )]
    OldVersion {
        /// The version in the file header.
        version: u64,
    },
    /// The file ends inside a block.
    #[error(
        "report is truncated at block {block}: {field} at offset {offset} needs {needed} bytes, but {left} are left"
    )]
    Truncated {
        /// Ordinal of the block, from 0; the file header counts as block 0.
        block: usize,
        /// The item being read.
        field: &'static str,
        /// Its start.
        offset: u64,
        /// Its required size in bytes.
        needed: u64,
        /// Remaining bytes of the file.
        left: u64,
    },
    /// A message violates the wire format or has an invalid value.
    #[error("damaged report: {message} field {field} at offset {offset}: {problem}")]
    Malformed {
        /// The message with the field.
        message: &'static str,
        /// Field number; 0 when it is unreadable.
        field: u32,
        /// Start of the field.
        offset: u64,
        /// The problem.
        problem: WireProblem,
    },
    /// The zstd frame is damaged or truncated.
    #[error("cannot decompress the report")]
    Compressed(#[source] std::io::Error),
    /// The content of a zstd frame exceeds the limit.
    #[error("report decompresses from {compressed} bytes to more than {limit} (limit: {reason})")]
    TooLarge {
        /// Maximum number of bytes.
        limit: u64,
        /// Bytes of the compressed file.
        compressed: u64,
        /// The limit that was exceeded.
        reason: &'static str,
    },
    /// More results and source entries than a report of this size can have.
    #[error("damaged report: more than {limit} launches and source entries in {bytes} bytes")]
    TooManyEntries {
        /// Maximum number of entries.
        limit: u64,
        /// Bytes of the uncompressed report.
        bytes: u64,
    },
}

impl ReportError {
    /// The error that `data` is not a report.
    pub(crate) fn not_a_report(data: &[u8]) -> Self {
        Self::NotAReport { found: crate::kind::described(data) }
    }
}

/// A problem of a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum WireProblem {
    /// A variable-length integer has more than ten bytes or does not end.
    #[error("the integer has no end")]
    Varint,
    /// The field is longer than the message that contains it.
    #[error("length {length} exceeds the remaining {left} bytes")]
    Length {
        /// Length according to the field.
        length: u64,
        /// Bytes left in the message.
        left: u64,
    },
    /// Field number 0, or one out of range.
    #[error("the field number is invalid")]
    FieldNumber,
    /// An invalid or unexpected wire type.
    #[error("unexpected wire type {0}")]
    WireType(u8),
    /// A number out of range for its field.
    #[error("value {0} is out of range")]
    Range(u64),
    /// Text that is not UTF-8.
    #[error("the text is not UTF-8")]
    Utf8,
    /// A metric refers to a name that is in no string table.
    #[error("metric name {0} is not in the string tables")]
    UnknownName(u64),
    /// A metric without a name.
    #[error("the metric has no name")]
    NoName,
    /// A result without content.
    #[error("the result is empty")]
    Empty,
    /// Bytes of a payload that belong to no entry.
    #[error("{0} bytes of the payload belong to no entry")]
    Leftover(u64),
}
