//! The way of the frames through a report: every metric of a launch by index, undecoded.

use super::error::ReportError;
use super::metric::{self, IdSet, MetricValue, RawMetrics};
use super::report::Report;
use super::wire::Message;

/// Whether a launch had the metric before. Reports repeat some; NVIDIA's reader keeps the last.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Turn {
    First,
    Again,
}

/// A metric's value that is not decoded yet.
pub(crate) struct Body<'r>(Option<Message<'r>>);

impl<'r> Body<'r> {
    /// Decodes it.
    #[inline]
    pub fn value(&self) -> Result<MetricValue<'r>, ReportError> {
        self.0.map_or(Ok(MetricValue::Missing), metric::value)
    }
}

/// Goes through launches, with the memory for one launch kept for the next.
pub(crate) struct Scan<'r> {
    report: &'r Report,
    seen: IdSet,
}

impl<'r> Scan<'r> {
    pub fn new(report: &'r Report) -> Self {
        Self { report, seen: IdSet::new(report.name_count()) }
    }

    /// Calls `metric` with the place of its name and the value of every metric of a launch.
    ///
    /// # Errors
    /// A damaged metric, and what `metric` returns.
    pub fn launch(
        &mut self,
        index: usize,
        mut metric: impl FnMut(u32, Body<'r>, Turn) -> Result<(), ReportError>,
    ) -> Result<(), ReportError> {
        self.seen.clear();
        let Some(head) = self.report.heads(index, index + 1).first() else { return Ok(()) };
        for message in RawMetrics::new(self.report.data(), head) {
            let message = message?;
            let (id, body) = metric::head(message)?;
            let id = self.report.place(id, &message)?;
            let turn = if self.seen.insert(id) { Turn::First } else { Turn::Again };
            metric(id, Body(body), turn)?;
        }
        Ok(())
    }
}
