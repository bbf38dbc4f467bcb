//! Reads Nsight Compute reports: `.ncu-rep`, and `.ncu-repz`, the same bytes in a zstd frame.
//!
//! Pure functions of bytes: no ncu, no protobuf compiler, no panic on any input. A [`Report`] indexes the file once
//! (blocks, string tables, the scalar fields of each result) and decodes the rest, metrics first of all, when asked.
//! What the bytes mean is described in `docs/ncu-rep.md`. Frames are built in [`crate::frame::launches`].

mod archive;
mod block;
pub(crate) mod bulk;
pub mod csv;
mod error;
mod head;
mod launch;
mod metric;
mod nvtx;
mod redact;
mod report;
mod rule;
mod session;
mod source;
mod unit;
mod wire;

pub use archive::{Limits, compress};
pub use error::{ReportError, WireProblem};
pub use head::{ClockStatus, Process, ResultKind};
pub use launch::Launch;
pub use metric::{Category, Instance, Metric, MetricValue, Metrics};
pub use nvtx::{NvtxKind, NvtxRange};
pub use redact::{Redaction, Sources, redact, redact_with};
pub use report::{MetricSelection, Report};
pub use rule::{FocusMetric, RuleItem, RuleMessage, RuleMessageKind, RuleResult, RuleTable, SpeedupScope, TableColumn};
pub use session::{Device, Session, System, ToolVersion};
pub use source::{Source, SourceFile};
pub use unit::unit_of;
