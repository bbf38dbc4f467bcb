//! Reads NVIDIA Nsight Compute reports: `.ncu-rep`, and `.ncu-repz`, the same bytes in a zstd frame. Also reads the
//! CSV output of `ncu`: its launches are those of a report without session, rules, samples and code ([`ReportForm::Csv`]).
//!
//! It needs no ncu, no Python and no protobuf compiler, and does not panic on any input. [`Report::open`] indexes the
//! file once (blocks, string tables, the scalar fields of each result); everything else, mainly metrics, is decoded
//! on demand and borrows from the file.
//!
//! ```
//! use ncu_rep::{MetricValue, Report};
//!
//! # fn main() -> Result<(), ncu_rep::ReportError> {
//! # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/cluster.ncu-repz");
//! let report = Report::open(path)?;
//! for launch in report.launches() {
//!     println!("{} {} {:?}", launch.id(), launch.demangled_name(), launch.grid());
//!     for metric in launch.metrics() {
//!         let metric = metric?;
//!         println!("  {} = {} {}", metric.name, metric.value, metric.unit());
//!     }
//! }
//! let launch = report.launch(0).unwrap();
//! assert_eq!(launch.metric("launch__registers_per_thread")?, Some(MetricValue::U64(16)));
//! # Ok(())
//! # }
//! ```
//!
//! # The format at a glance
//!
//! NVIDIA documents the container as version 7, "subject to change without notice". Integers are little endian, messages
//! are protobuf wire format:
//!
//! | offset | content |
//! |---|---|
//! | 0 | `NVR\0` |
//! | 4 | u32, length of the file header |
//! | 8 | file header: field 1 is the version |
//! | then, to the end | blocks: u32 length of the block header, block header, payload |
//!
//! A block header counts the payload's entries and holds a part of the session (parts are merged: [`Session`]), a
//! part of the string table and the process ([`Process`]). Entries are source entries ([`SourceModule`]: cubin, PTX,
//! imported source files) and results ([`Launch`]): kernels, and with other replay modes ranges, command lists and
//! graphs ([`ResultKind`]), whose messages have the same content under other field numbers.
//!
//! A metric is an index into the concatenated string tables of all blocks, an aggregate value, and instances: values
//! by SASS address, launch, opcode or point of a curve ([`MetricInstance`]). A missing value is
//! [`MetricValue::Missing`], never 0. Reports contain no units: [`unit_of`] gets them from a table of seven chips and
//! a rule for suffixes. All values are in base units: `ns`, `byte`, `byte/s`, `hz`, `%`.
//!
//! # Reports of strangers
//!
//! Every length is checked before it is followed and before memory is allocated ([`Limits`]). An item that does not
//! end exactly at its declared length is an error with the message, the field and the offset ([`ReportError`]).
//! Unknown fields are skipped, and an unknown container version is a warning ([`Report::warnings`]).
//!
//! Reports identify the machine that created them: host names, addresses, paths, the command line. [`redact`] removes these.

#![warn(missing_docs)]

mod archive;
mod block;
pub mod bulk;
mod csv;
mod error;
mod head;
mod index;
mod kind;
mod known_metrics;
mod launch;
mod layout;
mod metric;
mod names;
mod nvtx;
mod process;
mod redact;
mod report;
mod rule;
mod schema;
mod series;
mod session;
mod source;
mod unit;
mod value;
mod wire;

pub use archive::{Limits, compress};
pub use csv::CsvError;
pub use error::{ReportError, WireProblem};
pub use head::ClockStatus;
pub use known_metrics::{is_listed_metric, listed_bases, listed_forms};
pub use launch::Launch;
pub use layout::ResultKind;
pub use metric::{Metric, MetricCategory, MetricInstance, Metrics};
pub use nvtx::{NvtxKind, NvtxRange};
pub use process::Process;
pub use redact::{Redaction, SourcePolicy, TextKind, redact, redact_with, without_folders};
pub use report::{MetricSelection, Report, ReportForm};
pub use rule::{
    EstimatedSpeedup, FocusMetric, FocusSeverity, RuleItem, RuleMessage, RuleMessageKind, RuleResult, RuleTable,
    SpeedupScope, TableColumn,
};
pub use series::MetricSeries;
pub use session::{Device, Session, SystemInfo, ToolVersion};
pub use source::{SourceFile, SourceModule};
pub use unit::unit_of;
pub use value::MetricValue;

/// The example of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
